# SPDX-License-Identifier: Apache-2.0
"""Forms that are sent after the end of the session lose no input, and do nothing before they are sent again."""

from urllib.parse import urlsplit

import pytest

from tests.console.approval_requests import DARA_MAIL, ask, decisions, read, review
from tests.console.browser import OWN, Browser, Form, Page
from tests.console.conftest import ConsoleFixture
from tests.console.test_new_request import ROOM, form_of, open_form, path_of, unique, values
from tests.services import ADA_MAIL, APPROVED_TEMPLATE, BEN

pytestmark = pytest.mark.heavy
MARKUP = "'\"><script>alert(1)</script>"
ACCOUNT = "/console/account/substitute"


def end_session(browser: Browser) -> None:
    for key in [key for key in browser.cookies if "console-session" in key[1]]:
        del browser.cookies[key]


def sent_signed_out(browser: Browser, form: Form, typed: dict[str, str]) -> Page:
    end_session(browser)
    page = browser.submit(form, typed)
    assert (page.status, page.name) == (401, "signed_out")
    return page


def test_it_works(console: ConsoleFixture) -> None:
    browser = console.signed_in(ADA_MAIL)
    name = unique("Ended")
    typed = {"/displayName": name, "/notes": f"One\nTwo {MARKUP}", "/primaryOwner": BEN, "do": "send"}
    form = open_form(console, browser, ROOM)

    page = sent_signed_out(browser, form, typed)

    assert "<script>alert" not in page.html
    (kept,) = page.forms
    assert urlsplit(kept.action).path == path_of(ROOM)
    assert {name: values(kept, name) for name in typed} == {name: [value] for name, value in typed.items()}
    assert values(kept, "key") == values(form, "key")
    assert values(kept, "form_token") == []
    assert [urlsplit(each).path for each in page.links] == ["/console/sign-in"]
    # Without a sign-in in between, nothing is lost either.
    again = browser.submit(kept)
    assert (again.status, again.forms[0].fields) == (401, kept.fields)

    browser = console.signed_in(ADA_MAIL)
    filled = browser.submit(kept)
    assert (filled.status, filled.name) == (403, "new_request")
    assert [values(form_of(filled), each) for each in ("/displayName", "/primaryOwner")] == [[name], [BEN]]
    assert MARKUP in values(form_of(filled), "/notes")[0]
    assert name not in browser.get(f"{console.url}requests/").html
    assert browser.submit(form_of(filled), {"do": "send"}).status == 303


def test_a_form_of_an_earlier_session_is_filled_in(console: ConsoleFixture) -> None:
    form = open_form(console, console.signed_in(ADA_MAIL), ROOM)
    browser, name = console.signed_in(ADA_MAIL), unique("Earlier")

    page = browser.submit(form, {"/displayName": name, "find:/primaryOwner": "okafor", "do": "send"})

    assert (page.status, page.name) == (403, "new_request")
    assert values(form_of(page), "/primaryOwner") == [BEN]
    assert name not in browser.get(f"{console.url}requests/").html


@pytest.mark.parametrize("action", ["approve", "reject"])
def test_a_comment_is_kept_and_decides_nothing(console: ConsoleFixture, action: str) -> None:
    request_id = ask(console, APPROVED_TEMPLATE)
    browser = console.signed_in(DARA_MAIL)
    (form,) = decisions(browser.get(review(console, request_id)))
    form.action = form.action.removesuffix("approve") + action

    kept = sent_signed_out(browser, form, {"comment": MARKUP}).forms[0]
    filled = console.signed_in(DARA_MAIL).submit(kept)

    assert (filled.status, filled.name) == (403, "review")
    assert MARKUP in [value for each in filled.forms for name, value in each.fields if name == "comment"]
    assert read(console, request_id)["state"] == "pendingApproval"


def test_a_substitute_is_kept_and_not_named(console: ConsoleFixture) -> None:
    browser = console.signed_in(DARA_MAIL)
    form = browser.get(f"{console.url}account/").form(ACCOUNT)

    kept = sent_signed_out(browser, form, {"find:/userId": "Ben Okafor", "/until": "2031-01-02"}).forms[0]
    browser = console.signed_in(DARA_MAIL)
    filled = browser.submit(kept)

    assert (filled.status, filled.name) == (403, "account")
    fields = dict(filled.form(ACCOUNT).fields)
    assert (fields["/userId"], fields["/until"]) == (BEN, "2031-01-02")
    assert "/console/account/substitute/withdraw" not in browser.get(f"{console.url}account/").html


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="cross-site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, id="same-site"),
        pytest.param({"Origin": "null"}, id="unknown"),
    ],
)
def test_fields_of_another_site_are_not_kept(console: ConsoleFixture, headers: dict[str, str]) -> None:
    sent = [("/displayName", "Foreign")]
    browser = console.signed_in(ADA_MAIL)

    with_session = browser.post(f"{console.service.url}{path_of(ROOM)}", sent, headers)
    without = console.browser().post(f"{console.service.url}{path_of(ROOM)}", sent, headers)

    assert (with_session.status, with_session.name) == (403, "error")
    assert (without.status, urlsplit(without.location).path) == (303, "/console/sign-in")


def test_a_live_preview_offers_the_sign_in_and_goes_on_after_it(console: ConsoleFixture) -> None:
    headers = {**OWN, "X-Part": "preview"}
    browser = console.signed_in(ADA_MAIL)
    form, name = open_form(console, browser, ROOM), unique("Live")
    pairs = [*((each, value) for each, value in form.fields if each != "/displayName"), ("/displayName", name)]
    end_session(browser)

    page = browser.post(form.action, pairs, headers)

    assert page.status == 401
    assert page.links == ["/console/sign-in"]
    assert not page.name
    page = console.signed_in(ADA_MAIL).post(form.action, pairs, headers)
    assert page.status == 200
    assert name in page.html


@pytest.mark.parametrize("path", ["sign-out", "account/preferences", "account/sessions/end"])
def test_a_form_without_input_leads_to_the_sign_in(console: ConsoleFixture, path: str) -> None:
    page = console.browser().post(f"{console.url}{path}", [("theme", "dark")])

    assert (page.status, urlsplit(page.location).path) == (303, "/console/sign-in")
