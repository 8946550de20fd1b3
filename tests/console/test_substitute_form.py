# SPDX-License-Identifier: Apache-2.0
"""The form of the account page that names a substitute."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.console.approval_requests import DARA_MAIL, add_people
from tests.console.conftest import ConsoleFixture
from tests.console.statements import StatementLog

pytestmark = pytest.mark.heavy
TODAY = datetime.now(UTC).date()


@pytest.mark.parametrize(
    ("typed", "day", "wrong"),
    [
        pytest.param("", TODAY, "person", id="no name"),
        pytest.param("b", TODAY, "person", id="one letter"),
        pytest.param("Nobody Anywhere", TODAY, "person", id="unknown"),
        pytest.param("Dara Lindqvist", TODAY, "person", id="oneself"),
        pytest.param("Ben", TODAY, "person", id="not the whole name"),
        pytest.param("Ben Okafor", "", "until", id="no day"),
        pytest.param("Ben Okafor", "tomorrow", "until", id="no date"),
        pytest.param("Ben Okafor", TODAY - timedelta(days=2), "until", id="in the past"),
        pytest.param("Ben Okafor", TODAY + timedelta(days=62), "until", id="too late"),
    ],
)
def test_a_fault_is_beside_its_field(console: ConsoleFixture, typed: str, day: object, wrong: str) -> None:
    browser = console.signed_in(DARA_MAIL)
    form = browser.get(f"{console.url}account/").form("/console/account/substitute")

    page = browser.submit(form, {"find:/userId": typed, "/until": str(day)})

    assert (page.status, page.name) == (422, "account")
    assert ('aria-describedby="field_2fuserId-fault"' in page.html) is (wrong == "person")
    assert ('aria-describedby="until-fault"' in page.html) is (wrong == "until")
    sent = dict(page.form("/console/account/substitute").fields)
    assert sent["/until"] == str(day)


def test_several_people_with_a_name_are_a_choice(console: ConsoleFixture) -> None:
    add_people(console, "Robin Substitute One", "Robin Substitute Two")
    browser = console.signed_in(DARA_MAIL)
    form = browser.get(f"{console.url}account/").form("/console/account/substitute")

    page = browser.submit(form, {"find:/userId": "robin substitute"})

    assert page.status == 422
    offered = re.findall(r'type="radio" name="/userId" value="([0-9a-f-]+)"', page.html)
    assert len(offered) == 2
    answer = browser.submit(page.form("/console/account/substitute"), {"/userId": offered[1], "find:/userId": ""})
    assert answer.status == 303
    page = browser.follow(answer)
    assert "Robin Substitute Two" in page.html
    browser.submit(page.form("/console/account/substitute/withdraw"))


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Los_Angeles", "../../etc/passwd", "America", "x" * 99])
def test_the_last_day_ends_in_the_zone_of_the_browser(console: ConsoleFixture, zone: str) -> None:
    browser = console.signed_in(DARA_MAIL)
    form = browser.get(f"{console.url}account/").form("/console/account/substitute")

    answer = browser.submit(
        form, {"find:/userId": "Ben Okafor", "/until": str(TODAY + timedelta(days=7)), "zone": zone}
    )

    assert answer.status == 303
    page = browser.follow(answer)
    browser.submit(page.form("/console/account/substitute/withdraw"))


def test_the_account_page_with_a_substitute_has_few_statements(
    console: ConsoleFixture, statement_log: StatementLog
) -> None:
    browser = console.signed_in(DARA_MAIL)
    account = f"{console.url}account/"
    form = browser.get(account).form("/console/account/substitute")
    assert browser.submit(form, {"find:/userId": "Ben Okafor"}).status == 303

    found = statement_log.of(lambda: browser.get(account))

    assert 0 < len(found) <= 10, found
    browser.submit(browser.get(account).form("/console/account/substitute/withdraw"))
