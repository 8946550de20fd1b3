# SPDX-License-Identifier: Apache-2.0
"""A requester, an approver and an administrator use the console in Chromium, with and without scripts.

Each state of a page is inspected on the way: light, dark, in forced colours, on a phone, and with 200 % zoom.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from chamberlain.app.demo.people import people
from tests.chromium import run_chromium
from tests.console.conftest import ConsoleFixture
from tests.console.inspection import Inspection
from tests.services import ADA_MAIL, APPROVED_TEMPLATE, CLEO_MAIL, GRAPH, GROUP_TEMPLATE, restarted_service

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.needs("chromium"),
    pytest.mark.needs("npm"),
    pytest.mark.timeout(300),
]
BEN_MAIL, DARA_MAIL = "ben@estate.example", "dara@estate.example"
# Without a space at which a line could break.
LONG_NAME = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbau"
LONG_TEXT = "Plans for the harbour, the ships and their crews. " * 20
SHOWN_WITHIN = 30_000
SECONDS_OF_A_ROOM = 60
WRITE = f"{GRAPH}/.default"


@pytest.fixture(scope="module")
def chromium(console: ConsoleFixture, filled: ConsoleFixture) -> Iterator[Browser]:
    expect.set_options(timeout=SHOWN_WITHIN)
    with run_chromium(*(each.service.data_dir / "ca.pem" for each in (console, filled))) as browser:
        yield browser


@pytest.fixture(scope="module")
def filled() -> Iterator[ConsoleFixture]:
    """A service with the 200 people of the demo."""
    with restarted_service() as service:
        service.run("demo")
        passwords = json.loads((service.data_dir / "example-users.json").read_text())
        with httpx2.Client(trust_env=False) as http:
            yield ConsoleFixture(service, passwords, http)


@dataclass
class User:
    """A user in a window of their own. `clicks` counts them, also in the pages of the sign-in."""

    console: ConsoleFixture
    page: Page
    address: str
    scripts: bool
    clicks: int = 0
    inspection: Inspection = field(init=False)

    def __post_init__(self) -> None:
        self.inspection = Inspection(self.page, scripts=self.scripts)

    def click(self, target: Locator) -> None:
        self.clicks += 1
        target.click()

    def open(self, path: str) -> None:
        self.page.goto(f"{self.console.url}{path}")

    def see(self, name: str, state: str = "") -> None:
        """Wait for a page, and inspect it."""
        self.wait_for(name)
        self.inspection.look(f"{name} {state}".strip())

    def wait_for(self, name: str) -> None:
        expect(self.page.locator(f"main[data-page={name}]")).to_be_visible()

    def sign_in(self) -> None:
        """Sign in from the page that asks for the work address."""
        self.wait_for("sign_in")
        self.page.locator("#address").fill(self.address)
        self.click(self.page.get_by_role("button", name="Continue"))
        self.page.get_by_label("Password").fill(self.console.passwords[self.address])
        self.click(self.page.get_by_role("button", name="Sign in", exact=True))

    def choose(self, template: str) -> None:
        """Choose a template of the catalog."""
        self.click(self.page.locator("main a.card", has_text=template).first)
        self.wait_for("new_request")

    def fill(self, **values: str) -> None:
        for name, value in values.items():
            self.page.locator(f'[name="/{name}"]').fill(value)

    def add_person(self, pointer: str, name: str) -> None:
        """Add a person by the picker, or by its form without scripts."""
        part = self.page.locator(f'[data-pointer="{pointer}"]')
        part.locator(f'[name="find:{pointer}"]').press_sequentially(name)
        if self.scripts:
            expect(part.get_by_role("option").first).to_be_visible()
            self.inspection.look(f"picker of {pointer}")
            part.get_by_role("option").first.click()
        else:
            part.locator("button[value=add]").click()
        expect(part.locator(".chip")).to_have_count(1)

    def send(self) -> None:
        self.click(self.page.locator("button[name=do][value=send]").last)

    def wait_for_state(self, look: str) -> None:
        """Wait until the request has a state, which the page shows by itself or after it is loaded again."""
        shown = self.page.locator(f"main[data-page=request] .state.{look}").first
        end = time.monotonic() + SHOWN_WITHIN / 1000
        while not self.scripts and not shown.is_visible():
            assert time.monotonic() < end, self.page.url
            self.page.reload()
        expect(shown).to_be_visible()


@contextmanager
def window(console: ConsoleFixture, chromium: Browser, address: str, *, scripts: bool) -> Iterator[User]:
    """Open a window without a session. It must have no findings in the end."""
    context = chromium.new_context(
        java_script_enabled=scripts, viewport={"width": 1280, "height": 800}, locale="en-GB", reduced_motion="reduce"
    )
    context.set_default_timeout(SHOWN_WITHIN)
    user = User(console, context.new_page(), address, scripts)
    yield user
    assert user.inspection.found == []
    context.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_it_works(console: ConsoleFixture, chromium: Browser, *, scripts: bool) -> None:
    name = "Walk" if scripts else "Plain walk"
    with window(console, chromium, CLEO_MAIL, scripts=scripts) as cleo:
        ask_for_a_room(cleo, name)
        ask_for_mailboxes_and_a_group(cleo, name)
        look_at_lists_and_errors(cleo)
    with (
        window(console, chromium, BEN_MAIL, scripts=scripts) as ben,
        window(console, chromium, DARA_MAIL, scripts=scripts) as dara,
    ):
        ask_for_teams(ben, name)
        decide(dara, ben, name)
    with window(console, chromium, ADA_MAIL, scripts=scripts) as ada:
        cancel_and_retry(ada, name)
        look_at_the_account(ada)


def test_long_names_and_two_hundred_people_fit(filled: ConsoleFixture, chromium: Browser) -> None:
    everyone = [str(each.id) for each in people()]
    body = {"displayName": LONG_NAME, "description": LONG_TEXT, "members": everyone}
    for template in (GROUP_TEMPLATE, APPROVED_TEMPLATE):
        assert filled.service.post_group({**body, "templateId": template}, BEN_MAIL).status_code == 202

    with window(filled, chromium, BEN_MAIL, scripts=True) as ben:
        ben.open("")
        ben.sign_in()
        ben.see("catalog", "of many requests")
        ben.open("requests/")
        ben.see("requests", "with long names")
        ben.page.locator("main li a", has_text=LONG_NAME).last.click()
        ben.wait_for_state("good")
        ben.see("request", "with 200 people")
        ben.page.locator("main a[href*='/console/new/']").click()
        ben.wait_for("new_request")
        expect(ben.page.locator(".chip")).to_have_count(len(everyone))
        ben.see("new_request", "with 200 people")
    with window(filled, chromium, DARA_MAIL, scripts=True) as dara:
        dara.open("approvals/")
        dara.sign_in()
        dara.see("approvals", "with 200 people")
        dara.page.locator("article a", has_text=LONG_NAME).click()
        dara.see("review", "with 200 people")
    with window(filled, chromium, ADA_MAIL, scripts=True) as ada:
        ada.open("requests/?of=all")
        ada.sign_in()
        ada.see("requests", "of 200 people")


def ask_for_a_room(user: User, name: str) -> None:
    """From the front page of the service to a finished room: at most five clicks, and a minute."""
    begin = time.monotonic()
    user.page.goto(f"{user.console.service.url}/")
    user.click(user.page.locator("a.card[href='/console/']"))
    user.sign_in()
    user.wait_for("catalog")
    user.choose("Room")
    user.fill(displayName=f"{name} room")
    user.send()
    user.wait_for_state("good")

    assert user.clicks <= 5
    assert time.monotonic() - begin < SECONDS_OF_A_ROOM
    expect(user.page.locator("main")).to_contain_text("@rooms.estate.example")
    user.see("request", "room")


def ask_for_mailboxes_and_a_group(user: User, name: str) -> None:
    user.open("")
    user.see("catalog")
    user.choose("Room")
    user.see("new_request", "room")
    user.fill(capacity="many")
    user.send()
    expect(user.page.locator("[aria-invalid=true]").first).to_be_visible()
    user.see("new_request", "with faults")
    user.open("")
    user.choose("Equipment")
    user.see("new_request", "equipment")
    user.fill(displayName=f"{name} projector")
    user.send()
    user.wait_for_state("good")
    user.open("")
    user.choose("Shared mailbox")
    user.see("new_request", "shared mailbox")
    user.fill(displayName=f"{name} mailbox")
    user.add_person("/permissions", "Dara")
    user.send()
    user.wait_for_state("good")
    user.see("request", "shared mailbox")
    user.open("")
    user.choose("Project group")
    user.fill(displayName=f"{name} group")
    user.add_person("/members", "Eli")
    user.see("new_request", "group")
    user.send()
    user.wait_for_state("good")
    user.see("request", "group")


def look_at_lists_and_errors(user: User) -> None:
    user.open("requests/")
    user.see("requests")
    user.open("requests/?q=no-such-name")
    user.see("requests", "without a match")
    user.open("approvals/")
    user.see("approvals", "empty")
    user.open("no/such/page")
    user.see("error", "404")
    user.open("signed-in?code=1&state=2")
    user.see("error", "of the sign-in")


def ask_for_teams(user: User, name: str) -> None:
    user.open("")
    user.inspection.look("sign_in")
    user.page.locator("#address").fill("ben@no-such-house.example")
    user.page.get_by_role("button", name="Continue").click()
    expect(user.page.locator("[aria-invalid=true]")).to_be_visible()
    user.see("sign_in", "with a fault")
    user.sign_in()
    user.wait_for("catalog")
    user.choose("Project team")
    user.see("new_request", "team")
    user.fill(displayName=f"{name} team")
    user.send()
    user.wait_for_state("good")
    for purpose in ("kept", "refused", "taken", "dropped"):
        user.open("")
        user.choose("Confidential team")
        user.fill(displayName=f"{name} {purpose}", description=f"It is to be {purpose}.")
        user.send()
        user.wait_for_state("wait")
    user.see("request", "waiting for approval")
    user.open("requests/?q=CONF")
    user.page.get_by_role("link", name=f"CONF-{name} kept").click()
    user.wait_for_state("wait")


def decide(approver: User, requester: User, name: str) -> None:
    """From the badge to a decision: at most three clicks. The requester sees it."""
    approver.open("account/")
    approver.sign_in()
    approver.wait_for("account")
    badge = approver.page.locator("nav .badge")
    expect(badge).to_be_visible()
    approver.clicks = 0
    approver.click(badge)
    approver.see("approvals")
    article = approver.page.locator("main article", has_text=f"CONF-{name} kept")
    approver.click(article.locator("form button").first)
    expect(approver.page.get_by_role("status").first).to_be_visible()
    assert approver.clicks <= 3
    requester.wait_for_state("good")
    requester.see("request", "approved")

    approver.see("approvals", "after a decision")
    approver.page.get_by_role("link", name=f"CONF-{name} refused").click()
    approver.see("review")
    approver.page.locator("button.danger").click()
    expect(approver.page.locator("[aria-invalid=true]")).to_be_visible()
    approver.see("review", "without a reason")
    approver.page.locator("textarea[name=comment]").fill("The project ends this year.")
    approver.page.locator("button.danger").click()
    approver.wait_for("approvals")
    take_address(approver.console, f"{name} taken")
    approver.page.get_by_role("link", name=f"CONF-{name} taken").click()
    approver.wait_for("review")
    approver.page.locator("main form button:not(.danger)").last.click()
    approver.wait_for("approvals")
    requester.open("requests/")
    requester.page.get_by_role("link", name=f"CONF-{name} taken").click()
    requester.wait_for_state("bad")
    requester.open("requests/?state=rejected")
    requester.see("requests", "rejected")
    requester.page.get_by_role("link", name=f"CONF-{name} refused").click()
    requester.wait_for_state("bad")
    requester.see("request", "rejected")
    expect(requester.page.locator("main")).to_contain_text("The project ends this year.")


def cancel_and_retry(user: User, name: str) -> None:
    user.open("requests/?of=all")
    user.sign_in()
    user.see("requests", "of all users")
    user.page.get_by_role("link", name=f"CONF-{name} dropped").click()
    user.wait_for_state("wait")
    user.page.locator("#confirm-cancel summary").click()
    user.page.locator("#cancel").click()
    expect(user.page.locator("main[data-page=request] .state").first).not_to_have_class("state wait")
    user.see("request", "cancelled")
    user.open("requests/?of=all&state=failed")
    user.page.get_by_role("link", name=f"CONF-{name} taken").click()
    user.wait_for_state("bad")
    user.see("request", "failed")
    free_address(user.console, f"{name} taken")
    user.page.locator("#retry").click()
    user.wait_for_state("good")


def look_at_the_account(user: User) -> None:
    user.open("account/")
    user.see("account")
    user.page.locator("details.menu summary").click()
    user.inspection.look("menu")
    user.page.get_by_role("button", name="Sign out", exact=True).click()
    user.see("sign_in", "after signing out")


def address_of(name: str) -> str:
    return f"conf-{name.lower().replace(' ', '-')}"


def take_address(console: ConsoleFixture, name: str) -> None:
    """Create a group in the directory, as a program does that knows nothing of the requests."""
    nickname = address_of(name)
    body = {"displayName": name, "mailNickname": nickname, "mailEnabled": True, "securityEnabled": False}
    answer = console.http.post(
        f"{console.service.url}/graph/v1.0/groups",
        json={**body, "groupTypes": ["Unified"]},
        headers=console.service.headers("automation", WRITE),
    )
    assert answer.status_code == 201, answer.text


def free_address(console: ConsoleFixture, name: str) -> None:
    """Remove that group again."""
    url, headers = f"{console.service.url}/graph/v1.0/groups", console.service.headers("automation", WRITE)
    found = console.http.get(url, params={"$filter": f"mailNickname eq '{address_of(name)}'"}, headers=headers)
    (group,) = found.json()["value"]
    assert console.http.delete(f"{url}/{group['id']}", headers=headers).status_code == 204
