# SPDX-License-Identifier: Apache-2.0
"""The list of requests and the page of one request, over HTTP and without scripts."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

import httpx2
import pytest

from chamberlain.core.ids import WRITTEN_ID
from chamberlain.http.responses import MOST_OPEN
from tests.console.browser import Browser, Page
from tests.console.conftest import ConsoleFixture
from tests.console.requests_by_api import (
    BEN_MAIL,
    DARA_MAIL,
    act,
    directory_fault,
    request_group,
    request_mailbox,
    wait_for,
)
from tests.postgres import connected
from tests.services import ADA, ADA_MAIL, APPROVED_TEMPLATE, BEN, CLEO, ZOE_MAIL

pytestmark = pytest.mark.heavy
LIST = "/console/requests/"
UNKNOWN = "00000000-0000-4000-8000-00000000dead"
ADD_USER = """
INSERT INTO directory.users (
    tenant_id, id, user_type, account_enabled, properties, display_name, user_principal_name, mail
)
SELECT tenant_id, $1, 'Member', true, '{}', 'Late Comer', 'late@estate.example', 'late@estate.example'
FROM directory.users WHERE id = $2
"""


def request_page(console: ConsoleFixture, browser: Browser, request_id: str) -> Page:
    return browser.get(f"{console.url}requests/{request_id}")


def ids_of(page: Page) -> list[str]:
    """The ids of the requests of a list, in its order."""
    return [
        link.removeprefix(LIST)
        for link in page.links
        if link.startswith(LIST) and WRITTEN_ID.fullmatch(link[len(LIST) :])
    ]


def cookies(browser: Browser) -> dict[str, str]:
    return {
        "Cookie": "; ".join(f"{name}={value}" for (host, name), value in browser.cookies.items() if host == "127.0.0.1")
    }


def change(console: ConsoleFixture, statement: str, *values: object) -> None:
    """Change rows of the database, as the directory or time does."""

    async def execute() -> None:
        async with connected(console.service.embedded_addresses.worker) as connection:
            await connection.execute(statement, *values)

    asyncio.run(execute())


def test_it_works(console: ConsoleFixture) -> None:
    browser = console.signed_in()
    request_id = request_group(console, "Falcon", members=[ADA, BEN], metadata={"el-text-2": "customer"})
    wait_for(console, request_id, "succeeded")

    page = request_page(console, browser, request_id)

    assert (page.status, page.name) == (200, "request")
    assert 'data-copy="falcon@estate.example"' in page.html
    assert "Ben Okafor" in page.html
    assert "data-live" not in page.html
    assert [form.action for form in page.forms if "/requests/" in form.action] == []
    assert f"/console/new/collab/7e000000-0000-4000-8000-000000000011?again={request_id}" in page.links


def test_the_list_has_the_own_requests_newest_first(console: ConsoleFixture) -> None:
    first = request_group(console, "Heron one")
    foreign = request_group(console, "Heron foreign", ADA_MAIL)
    second = request_mailbox(console, "Heron two")

    page = console.signed_in().get(f"{console.url}requests/?q=heron")

    assert (page.status, page.name) == (200, "requests")
    assert ids_of(page) == [second, first]
    ada = console.signed_in(ADA_MAIL)
    assert ids_of(ada.get(f"{console.url}requests/?q=HERON&of=all")) == [second, foreign, first]
    assert ids_of(ada.get(f"{console.url}requests/?q=heron")) == [foreign]
    # The parameter is for administrators only.
    assert ids_of(console.signed_in().get(f"{console.url}requests/?q=heron&of=all")) == [second, first]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["room", "group"]),
        ("&kind=room", ["room"]),
        ("&state=succeeded", ["room", "group"]),
        ("&state=failed", []),
        ("&kind=team", []),
        ("&state=succeeded&kind=group", ["group"]),
        # Values that are no choice filter nothing.
        ("&state=x&kind=%22%3E%3Cscript%3E", ["room", "group"]),
    ],
)
def test_filters_are_combined(
    console: ConsoleFixture, filtered: dict[str, str], query: str, expected: list[str]
) -> None:
    page = console.signed_in().get(f"{console.url}requests/?q=ibis{query}")

    assert ids_of(page) == [filtered[kind] for kind in expected]
    assert "<script>" not in page.html


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (0, 0, ["room", "group"]),
        (-1, None, ["room", "group"]),
        (None, 1, ["room", "group"]),
        (None, -1, []),
        (1, None, []),
        (-9, -1, []),
    ],
)
def test_days_filter_the_list(
    console: ConsoleFixture, filtered: dict[str, str], first: int | None, last: int | None, expected: list[str]
) -> None:
    today = datetime.now(UTC).date()
    days = {
        name: (today + timedelta(days=each)).isoformat()
        for name, each in (("from", first), ("to", last))
        if each is not None
    }

    page = console.signed_in().get(f"{console.url}requests/?{urlencode({'q': 'ibis', **days})}")

    assert page.status == 200
    assert ids_of(page) == [filtered[kind] for kind in expected]


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("from=tomorrow", "from"),
        ("to=2026-02-30", "to"),
        ("from=2026-03-02&to=2026-03-01", "to"),
        ("from=%22%3E%3Cscript%3E", "from"),
    ],
)
def test_a_wrong_day_is_beside_its_field(console: ConsoleFixture, query: str, wrong: str) -> None:
    page = console.signed_in().get(f"{console.url}requests/?{query}")

    assert (page.status, page.name) == (400, "requests")
    assert re.findall(r'aria-describedby="(from|to)-fault"', page.html) == [wrong]
    assert '<details class="fold filters-more" open>' in page.html
    assert "<script>" not in page.html


@pytest.fixture(scope="module")
def filtered(console: ConsoleFixture) -> dict[str, str]:
    found = {"group": request_group(console, "Ibis group"), "room": request_mailbox(console, "Ibis room", capacity=4)}
    for request_id in found.values():
        wait_for(console, request_id, "succeeded")
    return found


@pytest.mark.parametrize("text", ["%00", "%0a%09", "x" * 300, "%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "%ff", "%25_"])
def test_any_text_can_be_searched(console: ConsoleFixture, text: str) -> None:
    page = console.signed_in().get(f"{console.url}requests/?q={text}")

    assert (page.status, page.name) == (200, "requests")
    assert "<script>alert" not in page.html


def test_empty_lists_lead_on(console: ConsoleFixture) -> None:
    zoe = console.signed_in(ZOE_MAIL)

    nothing, no_match = zoe.get(f"{console.url}requests/"), zoe.get(f"{console.url}requests/?state=failed")

    assert 'class="filters"' not in nothing.html
    assert "/console/" in nothing.links
    assert 'class="filters"' in no_match.html
    assert "/console/requests/" in no_match.links


def test_pages_follow_each_other_by_sealed_cursors(console: ConsoleFixture) -> None:
    made = [request_group(console, f"Jay {number}") for number in range(27)]
    browser = console.signed_in()

    first = browser.get(f"{console.url}requests/?q=jay")
    following = next(link for link in first.links if "cursor=" in link).replace("&amp;", "&")
    second = browser.get(f"{console.service.url}{following}")

    assert ids_of(first) + ids_of(second) == made[::-1]
    assert len(ids_of(first)) == 25
    assert not [link for link in second.links if "cursor=" in link]
    assert "/console/requests/?q=jay" in second.links
    # A cursor belongs to this user and these filters.
    ada = console.signed_in(ADA_MAIL)
    tampered = [
        following.replace("q=jay", "q=ja"),
        following[:-4] + "AAAA",
        "/console/requests/?cursor=%00",
        "/console/requests/?cursor=",
    ]
    refused = [browser.get(f"{console.service.url}{each}") for each in tampered]
    refused.append(ada.get(f"{console.service.url}{following}"))
    assert [(each.status, each.name) for each in refused] == [(400, "error")] * 5


@pytest.mark.parametrize("path", ["", "/events"])
@pytest.mark.parametrize("who", [BEN_MAIL, ZOE_MAIL])
def test_a_foreign_request_does_not_exist(console: ConsoleFixture, own: str, who: str, path: str) -> None:
    browser = console.signed_in(who)

    page = browser.get(f"{console.url}requests/{own}{path}")

    assert (page.status, page.name) == (404, "error")


@pytest.mark.parametrize("request_id", [UNKNOWN, "x", "%00", UNKNOWN.replace("-", ""), f"{UNKNOWN}%0a"])
def test_an_unknown_request_does_not_exist(console: ConsoleFixture, own: str, request_id: str) -> None:
    browser = console.signed_in()
    token = request_page(console, browser, own).forms[0].fields[:1]

    pages = [
        browser.get(f"{console.url}requests/{request_id}"),
        browser.get(f"{console.url}requests/{request_id}/events"),
        browser.post(f"{console.url}requests/{request_id}/cancel", token),
        browser.post(f"{console.url}requests/{request_id}/retry", token),
    ]

    assert [page.status for page in pages] == [404] * 4


@pytest.fixture(scope="module")
def own(console: ConsoleFixture) -> str:
    """A request of Cleo that has succeeded."""
    request_id = request_group(console, "Kite")
    wait_for(console, request_id, "succeeded")
    return request_id


def test_a_foreign_request_is_not_cancelled(console: ConsoleFixture) -> None:
    request_id = request_group(console, "Lark", BEN_MAIL, APPROVED_TEMPLATE)
    cleo, dara = console.signed_in(), console.signed_in(DARA_MAIL)

    page = cleo.post(f"{console.url}requests/{request_id}/cancel", cleo.get(console.url).forms[0].fields)
    by_approver = dara.post(f"{console.url}requests/{request_id}/cancel", dara.get(console.url).forms[0].fields)

    assert (page.status, page.name) == (404, "error")
    assert (by_approver.status, by_approver.name) == (403, "error")
    assert console.service.request(request_id, BEN_MAIL)["state"] == "pendingApproval"
    assert f"/console/approvals/{request_id}" in request_page(console, dara, request_id).links
    assert "confirm-cancel" not in request_page(console, dara, request_id).html


def test_a_wait_has_its_reason_and_its_attempts(console: ConsoleFixture) -> None:
    browser = console.signed_in()
    with directory_fault(console, "mailboxes.write", "throttled"):
        request_id = request_mailbox(console, "Merlin", capacity=3)
        wait_for(console, request_id, "waiting")

        page = request_page(console, browser, request_id)
        german = browser.get(f"{console.url}requests/{request_id}", {"Accept-Language": "de"})
        listed = browser.get(f"{console.url}requests/?q=merlin&state=waiting")

    assert "The directory is busy at the moment." in page.html
    assert "Next attempt" in page.html
    assert "The directory is busy" not in german.html
    assert f'data-live="/console/requests/{request_id}/events"' in page.html
    assert "<noscript>" in page.html
    assert "The directory is busy at the moment." in listed.html
    wait_for(console, request_id, "succeeded")


def test_cancelling_twice_is_explained(console: ConsoleFixture) -> None:
    browser = console.signed_in(BEN_MAIL)
    request_id = request_group(console, "Nightjar", BEN_MAIL, APPROVED_TEMPLATE)
    form = request_page(console, browser, request_id).form(f"/console/requests/{request_id}/cancel")

    done, again = browser.submit(form), browser.submit(form)

    assert (done.status, urlsplit(done.location).path) == (303, f"/console/requests/{request_id}")
    page = browser.follow(done)
    assert (page.status, page.name) == (200, "request")
    assert "Cancelled" in page.html
    assert "data-live" not in page.html
    assert (again.status, again.name) == (409, "request")
    assert 'role="alert"' in again.html


def test_a_retry_continues_after_a_failure(console: ConsoleFixture) -> None:
    """The check of people was put off, and finds an unknown owner."""
    late, browser = str(uuid4()), console.signed_in()
    with directory_fault(console, "people.read"):
        request_id = request_group(console, "Osprey", owners=[late])
    wait_for(console, request_id, "failed")
    page = request_page(console, browser, request_id)
    form = page.form(f"/console/requests/{request_id}/retry")
    assert "note bad" in page.html
    change(console, ADD_USER, late, CLEO)

    done = browser.submit(form)

    assert (done.status, urlsplit(done.location).path) == (303, f"/console/requests/{request_id}")
    wait_for(console, request_id, "succeeded")
    assert "Late Comer" in browser.follow(done).html
    late_retry = browser.submit(form)
    assert (late_retry.status, late_retry.name) == (409, "request")
    assert 'role="alert"' in late_retry.html


def test_an_administrator_ends_the_request_of_another_user(console: ConsoleFixture) -> None:
    browser = console.signed_in(ADA_MAIL)
    request_id = request_group(console, "Pipit", BEN_MAIL, APPROVED_TEMPLATE)
    page = request_page(console, browser, request_id)

    browser.submit(page.form(f"/console/requests/{request_id}/cancel"))

    assert "requested by Ben Okafor" in page.html
    assert console.service.request(request_id, BEN_MAIL)["state"] == "cancelled"


def test_decisions_have_their_comments(console: ConsoleFixture) -> None:
    browser = console.signed_in(BEN_MAIL)
    request_id = request_group(console, "Quail", BEN_MAIL, APPROVED_TEMPLATE)
    waiting = request_page(console, browser, request_id)

    act(console, request_id, "reject", DARA_MAIL, {"comment": "<b>There is one</b>\nalready."})

    assert "Waiting for approval by Dara Lindqvist" in waiting.html
    page = request_page(console, browser, request_id)
    assert "Rejected by Dara Lindqvist" in page.html
    assert "&lt;b&gt;There is one&lt;/b&gt;\nalready." in page.html


def events_of(console: ConsoleFixture, browser: Browser, request_id: str, last: str = "") -> httpx2.Response:
    headers = {**cookies(browser), **({"Last-Event-ID": last} if last else {})}
    return console.http.get(f"{console.url}requests/{request_id}/events", headers=headers)


def test_a_stream_ends_with_its_request(console: ConsoleFixture, own: str) -> None:
    browser = console.signed_in()

    answer = events_of(console, browser, own)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    text = answer.text
    assert text.count("\nevent: parts\n") == 1
    assert [part in text for part in ("request-progress", "request-timeline", "request-actions", "data-end")] == [
        True
    ] * 4
    last = text.partition("id: ")[2].partition("\n")[0]
    assert events_of(console, browser, own, last).status_code == 204
    # Any other number starts again.
    assert events_of(console, browser, own, "x").status_code == 200
    assert console.http.head(f"{console.url}requests/{own}/events", headers=cookies(browser)).status_code == 200


def test_a_decision_reaches_a_stream(console: ConsoleFixture) -> None:
    browser = console.signed_in(BEN_MAIL)
    request_id = request_group(console, "Raven", BEN_MAIL, APPROVED_TEMPLATE)
    url = f"{console.url}requests/{request_id}/events"

    with console.http.stream("GET", url, headers=cookies(browser)) as answer:
        lines = answer.iter_lines()
        seen = next(line for line in lines if "Waiting for approval by Dara" in line)
        act(console, request_id, "approve", DARA_MAIL, {"comment": "Fine."})
        decided = next(line for line in lines if "Approved by Dara" in line)
        ended = next(line for line in lines if "data-end" in line)

    assert all((seen, decided, ended))


def test_a_stream_ends_with_the_session(console: ConsoleFixture) -> None:
    browser = console.signed_in(BEN_MAIL)
    request_id = request_group(console, "Stork", BEN_MAIL, APPROVED_TEMPLATE)
    page = request_page(console, browser, request_id)
    headers = cookies(browser)

    with console.http.stream("GET", f"{console.url}requests/{request_id}/events", headers=headers) as answer:
        lines = answer.iter_lines()
        assert any("Waiting for approval by Dara" in line for line in lines)
        browser.submit(page.form("/console/sign-out"))
        act(console, request_id, "approve", DARA_MAIL)
        rest = list(lines)

    assert not [line for line in rest if "Approved" in line]


def test_open_streams_are_limited_as_those_of_the_api(console: ConsoleFixture) -> None:
    browser = console.signed_in(BEN_MAIL)
    request_id = request_group(console, "Teal", BEN_MAIL, APPROVED_TEMPLATE)
    url, headers = f"{console.url}requests/{request_id}/events", cookies(browser)

    async def open_many() -> tuple[list[int], httpx2.Response]:
        async with httpx2.AsyncClient(trust_env=False, timeout=30) as http:
            answers = [
                await http.send(http.build_request("GET", url, headers=headers), stream=True) for _ in range(MOST_OPEN)
            ]
            one_more = await http.get(url, headers=headers)
            for each in answers:
                await each.aclose()
            return [each.status_code for each in answers], one_more

    statuses, one_more = asyncio.run(open_many())

    assert statuses == [200] * MOST_OPEN
    assert (one_more.status_code, one_more.headers["retry-after"]) == (429, "1")


def test_markup_in_values_is_shown_as_text(console: ConsoleFixture) -> None:
    attack = '"><script>alert(1)</script>'
    request_id = request_group(console, attack, description=attack, metadata={"el-text-1": attack, attack: attack})
    wait_for(console, request_id, "succeeded")
    browser = console.signed_in()

    texts = [
        request_page(console, browser, request_id).html,
        browser.get(f"{console.url}requests/").html,
        events_of(console, browser, request_id).text,
    ]

    assert not [text for text in texts if "<script>alert" in text]
    assert all("&lt;script&gt;alert" in text for text in texts)
