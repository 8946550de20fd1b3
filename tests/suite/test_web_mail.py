# SPDX-License-Identifier: Apache-2.0
"""Web mail of SOGo, which sends with the rights of its user."""

from uuid import uuid4

import httpx2
import pytest

from deploy.suite.folder import Suite
from deploy.suite.people import password_of
from tests.services import CLEO
from tests.suite.mail_client import MailClient
from tests.suite.suite_requests import SHARED, SuiteRequests


def send(suite: Suite, name: str, sender: str, recipient: str, subject: str) -> int:
    """Send a message as the pages of SOGo do, and return the status."""
    with httpx2.Client(base_url=suite.url("WEB"), timeout=60) as browser:
        signed_in = browser.post("/SOGo/connect", json={"userName": name, "password": password_of(name)})
        assert signed_in.status_code == 200
        headers = {"X-XSRF-TOKEN": browser.cookies["XSRF-TOKEN"]}
        draft = browser.get(f"/SOGo/so/{name}/Mail/0/compose", headers=headers).json()["draftId"]
        message = {"from": sender, "to": [recipient], "subject": subject, "text": "Hello.", "isHTML": 0}
        path = f"/SOGo/so/{name}/Mail/0/folderDrafts/{draft}/send"
        return browser.post(path, headers=headers, json=message).status_code


def test_it_works_for_a_mailbox_with_send_as(suite: Suite, requests: SuiteRequests, mail: MailClient) -> None:
    mailbox = requests.mailbox(SHARED, "Desk", permissions={CLEO: "SendAs"})
    subject = f"Offer {uuid4().hex[:8]}"

    status = send(suite, "cleo", mailbox["primarySmtpAddress"], "dara@estate.example", subject)

    assert status == 200
    assert mail.wait_for("dara", subject)["From"] == mailbox["primarySmtpAddress"]


@pytest.mark.parametrize(("sender", "is_sent"), [("cleo@estate.example", True), ("ben@estate.example", False)])
def test_a_user_sends_from_own_addresses_only(suite: Suite, *, sender: str, is_sent: bool) -> None:
    status = send(suite, "cleo", sender, "dara@estate.example", "Hello")

    assert (status == 200) is is_sent
