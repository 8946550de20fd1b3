# SPDX-License-Identifier: Apache-2.0
"""Several workers answer for rooms, and some are killed. No invitation is answered twice."""

import random
import threading
from collections import Counter
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from deploy.suite.connection import connect, environment_of
from tests.services import ADA_MAIL, outside_database, wait_until
from tests.suite.calendar_client import invitation
from tests.suite.mail_client import MailClient
from tests.suite.suite_folders import started_suite
from tests.suite.suite_requests import ADMINISTER, ROOM, SuiteRequests

INVITATIONS = 12
KILLS = 6
START = datetime(2031, 3, 3, 9, tzinfo=UTC)
# The worker looks for mail every 15 s, and settles an answer that was cut short after two minutes.
ANSWERED_WITHIN = 240.0


@pytest.mark.timeout(600)
def test_no_invitation_is_answered_twice() -> None:
    # A suite of its own: the service of other tests would answer as well, from its own database.
    dice = random.Random(1)  # noqa: S311 - not for secrets.
    with started_suite() as suite, outside_database() as outside:
        outside.environment = {**outside.environment, **environment_of(suite)}
        service = outside.ready_service("--no-worker")
        workers = [outside.start_worker() for _ in range(2)]
        assert connect(suite, service.url, service.token(ADA_MAIL, ADMINISTER))["state"] == "ready"
        address = SuiteRequests(service, suite).mailbox(ROOM, "Room", capacity=4)["primarySmtpAddress"]
        mail, uids = MailClient(suite), [str(uuid4()) for _ in range(INVITATIONS)]

        # All want the same hour.
        for uid in uids:
            text = invitation("vera", address, START, uid).replace("vera@estate", "vera@outside")
            text = text.replace("SUMMARY:Meeting", f"SUMMARY:Meeting {uid}")
            mail.invite(
                "vera@outside.example", address, text.replace("VERSION:2.0\r\n", "VERSION:2.0\r\nMETHOD:REQUEST\r\n")
            )
        for number in range(KILLS):
            threading.Event().wait(dice.uniform(2, 6))
            workers[number % 2].kill()
            workers[number % 2] = outside.start_worker()

        def subjects() -> list[str]:
            found = [str(message["Subject"]).replace("\n", "").replace("\r", "") for message in mail.messages("vera")]
            return [each for each in found if "Meeting" in each]

        wait_until(lambda: len(subjects()) >= INVITATIONS, ANSWERED_WITHIN)
        wait_until(lambda: outside.value("SELECT count(*) FROM chamberlain.booking_mail") == 0, ANSWERED_WITHIN)
        answers = Counter(subjects())

    assert sorted(answers.values()) == [1] * INVITATIONS
    assert Counter(each.partition(":")[0] for each in answers) == {"Accepted": 1, "Declined": INVITATIONS - 1}
