# SPDX-License-Identifier: Apache-2.0
"""New requests by their forms, without scripts."""

import asyncio
from uuid import uuid4

import httpx2
import pytest

from chamberlain.console.fields import MOST_PEOPLE
from chamberlain.embedded.postgres.roles import SET_UP, address
from chamberlain.people.rules import MOST_SEARCHES
from tests.console.approval_requests import CONFIG
from tests.console.browser import OWN, Browser, Form, Page
from tests.console.conftest import ConsoleFixture
from tests.console.statements import StatementLog
from tests.postgres import connected
from tests.services import (
    ADA,
    ADA_MAIL,
    APPROVED_TEMPLATE,
    BEN,
    CLEO,
    CLEO_MAIL,
    GROUP_TEMPLATE,
    TEAM_TEMPLATE,
    ZOE_MAIL,
    look_up,
)

pytestmark = pytest.mark.heavy
SHARED, EQUIPMENT, ROOM = (f"7e000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
MOST_STATEMENTS = 10
TENANT = "e57a7e00-0000-4000-8000-000000000001"
INSERT = """INSERT INTO directory.users (tenant_id, id, display_name, user_principal_name, mail, user_type,
    account_enabled, properties) VALUES ($1, $2, $3, $4, $4, 'Member', true, '{}')"""


def path_of(template: str) -> str:
    return f"/console/new/{'mail' if template in (SHARED, EQUIPMENT, ROOM) else 'collab'}/{template}"


def form_of(page: Page) -> Form:
    return next(each for each in page.forms if "/console/new/" in each.action)


def open_form(console: ConsoleFixture, browser: Browser, template: str, query: str = "") -> Form:
    page = browser.get(f"{console.service.url}{path_of(template)}{query}")
    assert (page.status, page.name) == (200, "new_request")
    return form_of(page)


def unique(name: str) -> str:
    return f"{name} {uuid4().hex[:8]}"


def values(form: Form, name: str) -> list[str]:
    return [value for each, value in form.fields if each == name]


def sent_body(console: ConsoleFixture, page: Page, who: str = ADA_MAIL) -> dict[str, object]:
    """The values of the request that a sent form led to."""
    assert page.status == 303, page.html
    request = console.service.request(page.location.rpartition("/")[2], who)
    assert request["kind"]
    return request


@pytest.mark.parametrize(
    ("template", "kind", "typed"),
    [
        (ROOM, "room", {"/capacity": "12", "/roomMailboxMetadata/hasWhiteboard": "true", "/tags/-": "quiet, north"}),
        (EQUIPMENT, "equipment", {"/metadata/equipmentType": "Projector", "/capacity": "2"}),
        (SHARED, "shared", {f"/permissions/{BEN}": "SendAs", "/autoMapping": "true"}),
        (GROUP_TEMPLATE, "group", {"/metadata/el-text-2": "customer", "/memberShipType": "1"}),
        (TEAM_TEMPLATE, "team", {"/members/-": CLEO, "/description": "One\nTwo"}),
    ],
)
def test_it_works(console: ConsoleFixture, template: str, kind: str, typed: dict[str, str]) -> None:
    browser = console.signed_in(ADA_MAIL)
    name = unique(kind)

    page = browser.submit(open_form(console, browser, template), {"/displayName": name, **typed, "do": "send"})

    request = sent_body(console, page)
    assert (request["kind"], request["displayName"]) == (kind, name)


def test_a_request_has_the_trace_of_its_form(console: ConsoleFixture) -> None:
    browser = console.signed_in(ADA_MAIL)
    form, trace = open_form(console, browser, ROOM), uuid4().hex
    pairs = [*form.fields, ("/displayName", unique("Chur")), ("do", "send")]

    page = browser.post(form.action, pairs, {**OWN, "traceparent": f"00-{trace}-{trace[:16]}-01"})

    assert page.status == 303
    database = address(console.service.data_dir / "postgres" / "data", SET_UP, "chamberlain")
    request_id = page.location.rpartition("/")[2]
    statement = "SELECT trace_id FROM chamberlain.request WHERE request_id = $1"
    assert look_up(database, statement, request_id) == trace


def test_a_check_shows_the_preview_and_keeps_the_values(console: ConsoleFixture) -> None:
    browser = console.signed_in(ADA_MAIL)
    name = unique("Falcon")
    form = open_form(console, browser, APPROVED_TEMPLATE)

    page = browser.submit(form, {"/displayName": name, "/owners/-": BEN, "do": "check"})

    assert page.status == 200
    assert f"CONF-{name}" in page.html
    assert "Dara Lindqvist" in page.html
    assert "Ben Okafor" in page.html
    assert values(form_of(page), "/displayName") == [name]
    assert values(form_of(page), "/owners/-") == [BEN]
    assert values(form_of(page), "key") == values(form, "key")


def test_faults_are_beside_their_fields_and_nothing_is_lost(console: ConsoleFixture) -> None:
    browser = console.signed_in(ADA_MAIL)
    typed = {"/name": "a@b", "/capacity": "many", "/primaryOwner": BEN, "/city": "Zürich", "do": "send"}

    page = browser.submit(open_form(console, browser, ROOM), typed)

    assert page.status == 400
    assert [each for each in page.links if each.startswith("#field")] == [
        "#field_2fdisplayName",
        "#field_2fname",
        "#field_2fcapacity",
    ]
    form = form_of(page)
    kept = {name: values(form, name) for name in ("/name", "/capacity", "/primaryOwner", "/city")}
    assert kept == {"/name": ["a@b"], "/capacity": ["many"], "/primaryOwner": [BEN], "/city": ["Zürich"]}
    assert "Ben Okafor" in page.html


def test_a_taken_name_is_beside_its_field(console: ConsoleFixture) -> None:
    browser = console.signed_in(ADA_MAIL)
    typed = {"/displayName": unique("Bern"), "do": "send"}
    assert browser.submit(open_form(console, browser, ROOM), typed).status == 303

    page = browser.submit(open_form(console, browser, ROOM), typed)

    assert page.status == 409
    assert [each for each in page.links if each.startswith("#field")] == ["#field_2fname"]


def test_a_form_that_is_sent_three_times_makes_one_request(console: ConsoleFixture) -> None:
    browser = console.signed_in(ADA_MAIL)
    form = open_form(console, browser, ROOM)
    typed = {"/displayName": unique("Basel"), "do": "send"}

    sent = [browser.submit(form, typed) for _ in range(3)]

    assert [each.status for each in sent] == [303, 303, 303]
    assert len({each.location for each in sent}) == 1
    other = browser.submit(form, {"/displayName": unique("Basel"), "do": "send"})
    assert other.status == 422
    # The form has a new key, so that it can be sent.
    assert values(form_of(other), "key") != values(form, "key")
    assert browser.submit(form_of(other), {"do": "send"}).status == 303


def test_people_are_added_and_removed_without_scripts(console: ConsoleFixture) -> None:
    browser = console.signed_in(ADA_MAIL)
    form = open_form(console, browser, TEAM_TEMPLATE)

    form = form_of(browser.submit(form, {"find:/owners": "okafor", "find:/members": "cleo", "do": "add"}))
    assert (values(form, "/owners/-"), values(form, "/members/-")) == ([BEN], [CLEO])
    assert values(form, "find:/owners") == [""]
    form = form_of(browser.submit(form, {"remove": f"/members/- {CLEO}"}))

    assert (values(form, "/owners/-"), values(form, "/members/-")) == ([BEN], [])
    assert ("remove", f"/owners/- {BEN}") in form.buttons


def test_a_permission_is_added_changed_and_removed_without_scripts(console: ConsoleFixture) -> None:
    browser = console.signed_in(ADA_MAIL)
    form = open_form(console, browser, SHARED)

    form = form_of(browser.submit(form, {"find:/permissions": "ben", "do": "add"}))
    assert values(form, f"/permissions/{BEN}") == ["FullAccess"]
    form = form_of(browser.submit(form, {f"/permissions/{BEN}": "SendAs", "do": "check"}))
    assert values(form, f"/permissions/{BEN}") == ["SendAs"]
    form = form_of(browser.submit(form, {"remove": f"/permissions {BEN}"}))

    assert values(form, f"/permissions/{BEN}") == []


@pytest.mark.parametrize("template", [SHARED, GROUP_TEMPLATE])
def test_a_form_keeps_very_many_people_and_shows_some(console: ConsoleFixture, template: str) -> None:
    """A page with thousands of controls would stop the process for seconds."""
    browser, people = console.signed_in(ADA_MAIL), [str(uuid4()) for _ in range(1000)]
    form = open_form(console, browser, template)
    pairs = [(f"/permissions/{each}", "SendAs") if template == SHARED else ("/owners/-", each) for each in people]

    form = form_of(browser.post(form.action, [*form.fields, *pairs]))

    assert [pair for pair in form.fields if pair in set(pairs)] == pairs
    assert len([name for name, _ in form.buttons if name == "remove"]) == MOST_PEOPLE


@pytest.fixture(scope="module")
def twins(console: ConsoleFixture) -> list[str]:
    """Two people with one name, by id."""
    ids = [str(uuid4()), str(uuid4())]

    async def add() -> None:
        async with connected(
            address(console.service.data_dir / "postgres" / "data", SET_UP, "chamberlain")
        ) as connection:
            for number, each in enumerate(ids):
                mail = f"twin{number}@estate.example"
                await connection.execute(INSERT, TENANT, each, "Wren Twin", mail)

    asyncio.run(add())
    return ids


def test_a_name_of_several_people_offers_them(console: ConsoleFixture, twins: list[str]) -> None:
    browser = console.signed_in(ADA_MAIL)
    form = open_form(console, browser, TEAM_TEMPLATE)

    page = browser.submit(form, {"/displayName": unique("Kestrel"), "find:/owners": "wren", "do": "send"})

    # Nothing is sent before the user has chosen.
    assert page.status == 200
    assert values(form_of(page), "find:/owners") == [""]
    assert all(f'type="checkbox" name="/owners/-" value="{each}"' in page.html for each in twins)
    page = browser.submit(form_of(page), {"/owners/-": twins[1], "do": "check"})
    assert values(form_of(page), "/owners/-") == [twins[1]]
    page = browser.submit(open_form(console, browser, TEAM_TEMPLATE), {"find:/owners": "twin0@estate.example"})
    assert values(form_of(page), "/owners/-") == [twins[0]]


def test_a_list_of_addresses_adds_its_people(console: ConsoleFixture) -> None:
    browser = console.signed_in(ADA_MAIL)
    form = open_form(console, browser, TEAM_TEMPLATE)

    pasted = f"Ben Okafor <ben@estate.example>; xyzzy@estate.example, {CLEO_MAIL}"
    page = browser.submit(form, {"/displayName": unique("Kestrel"), "find:/members": pasted, "do": "send"})

    assert page.status == 200
    assert values(form_of(page), "/members/-") == [BEN, CLEO]
    assert values(form_of(page), "find:/members") == ["xyzzy@estate.example"]
    assert "#field_2fmembers" in page.links


@pytest.mark.parametrize("typed", ["xyzzy", "x"])
def test_a_name_of_no_one_stays_and_sends_nothing(console: ConsoleFixture, typed: str) -> None:
    browser = console.signed_in(ADA_MAIL)
    form = open_form(console, browser, TEAM_TEMPLATE)

    page = browser.submit(form, {"/displayName": unique("Kestrel"), "find:/members": typed, "do": "send"})

    assert page.status == 200
    assert values(form_of(page), "find:/members") == [typed]
    assert "#field_2fmembers" in page.links


def test_another_request_like_an_earlier_one(console: ConsoleFixture) -> None:
    browser = console.signed_in(ADA_MAIL)
    typed = {"/displayName": unique("Genf"), "/capacity": "8", "/tags/-": "a, b", "/secondaryOwner": BEN}
    sent = browser.submit(open_form(console, browser, ROOM), {**typed, "do": "send"})
    request_id = sent.location.rpartition("/")[2]

    form = open_form(console, browser, ROOM, f"?again={request_id}")

    assert {name: values(form, name) for name in typed} == {name: [value] for name, value in typed.items()}
    assert values(form, "/name") == [""]
    for mail in (ZOE_MAIL, "cleo@estate.example"):
        page = console.signed_in(mail).get(f"{console.service.url}{path_of(ROOM)}?again={request_id}")
        assert page.status == 404


@pytest.mark.parametrize("path", ["mail/no-id", f"collab/{ROOM}", f"other/{ROOM}", f"mail/{ADA}"])
def test_another_template_is_unknown(console: ConsoleFixture, path: str) -> None:
    assert console.signed_in().get(f"{console.url}new/{path}").status == 404


def test_markup_is_text(console: ConsoleFixture) -> None:
    browser = console.signed_in(ADA_MAIL)
    markup = "<script>alert(1)</script>\"'>"
    form = open_form(console, browser, GROUP_TEMPLATE)
    typed = {name: markup for name, _ in form.fields if name.startswith(("/", "find:")) and name != "/memberShipType"}

    page = browser.submit(form, {**typed, "/owners/-": markup, "/memberShipType": markup, "do": "check"})

    assert "<script>alert" not in page.html
    assert values(form_of(page), "/displayName") == [markup]
    assert values(form_of(page), "/description") == [markup]


@pytest.mark.parametrize("template", [ROOM, SHARED, TEAM_TEMPLATE])
def test_a_form_costs_few_statements(console: ConsoleFixture, statement_log: StatementLog, template: str) -> None:
    browser = console.signed_in(ADA_MAIL)

    found = statement_log.of(lambda: browser.get(f"{console.service.url}{path_of(template)}"))

    assert 0 < len(found) <= MOST_STATEMENTS, found


def test_a_preview_shows_the_short_name_that_a_long_name_gives(console: ConsoleFixture) -> None:
    name = unique("Assembly hall of the eastern building at the river bank, second floor, north wing")

    page = console.signed_in(ADA_MAIL)
    shown = page.submit(open_form(console, page, ROOM), {"/displayName": name, "do": "check"})
    short = page.submit(open_form(console, page, ROOM), {"/displayName": "Hall", "do": "check"})

    assert f'<dd class="preview-short">{name[:64].strip()}</dd>' in shown.html
    assert "preview-short" not in short.html


def test_the_name_of_a_rule_for_addresses_has_its_faults(console: ConsoleFixture) -> None:
    template_id = mailbox_template(console, naming={"address": "room-{input}"})
    browser = console.signed_in(ADA_MAIL)
    url = f"{console.url}new/mail/{template_id}"
    pages = [
        browser.submit(form_of(browser.get(url)), {"/displayName": each, "do": "check"})
        for each in ("Hall", "x" * 64, "@")
    ]

    assert '<dd class="preview-short">Hall</dd>' in pages[0].html
    assert [[each for each in page.links if each.startswith("#field")] for page in pages] == [
        [],
        ["#field_2fdisplayName"],
        ["#field_2fdisplayName"],
    ]


def mailbox_template(console: ConsoleFixture, **more: object) -> str:
    answer = httpx2.post(
        f"{console.service.url}/admin/mail/v1/templates/",
        json={"kind": "room", "name": unique("Ruled room"), **more},
        headers=console.service.headers(ADA_MAIL, CONFIG),
        trust_env=False,
        timeout=30,
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


@pytest.mark.parametrize("template", [ROOM, SHARED, APPROVED_TEMPLATE])
def test_a_preview_costs_few_statements(console: ConsoleFixture, statement_log: StatementLog, template: str) -> None:
    browser = console.signed_in(ADA_MAIL)
    form, name = open_form(console, browser, template), unique("Counted")
    pairs = [*((each, value) for each, value in form.fields if each != "/displayName"), ("/displayName", name)]

    found = statement_log.of(lambda: browser.post(form.action, pairs, {**OWN, "X-Part": "preview"}))

    # Only a directory of tests has faults.
    counted = [each for each in found if "take_faults" not in each]
    assert 0 < len(counted) <= MOST_STATEMENTS, "\n".join(counted)


def test_people_are_found_for_the_picker(console: ConsoleFixture) -> None:
    answer = console.signed_in().get(f"{console.url}people?q=ben").answer

    assert answer.json() == {
        "people": [
            {"id": BEN, "name": "Ben Okafor", "mail": "ben@estate.example", "detail": "Sales · ben@estate.example"}
        ],
        "message": "",
    }
    assert answer.headers["cache-control"] == "no-store"


def test_too_many_searches_say_when_to_search_again(console: ConsoleFixture) -> None:
    # The limit counts by user, so no other test of the console searches as Eli.
    browser = console.signed_in("eli@estate.example")

    answers = [browser.get(f"{console.url}people?q=ad").answer for _ in range(MOST_SEARCHES + 1)]

    assert [each.status_code for each in answers] == [200] * MOST_SEARCHES + [429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
