# SPDX-License-Identifier: Apache-2.0
"""Approvers decide in the inbox and on the review page."""

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.console.approval_requests import (
    BEN_MAIL,
    DARA,
    DARA_MAIL,
    WITHIN,
    ask,
    cancel,
    clear,
    decisions,
    inbox,
    listed,
    read,
    review,
    template,
)
from tests.console.browser import Browser, Form, Page
from tests.console.conftest import ConsoleFixture
from tests.console.statements import StatementLog
from tests.services import ADA_MAIL, BEN, CLEO_MAIL, ZOE_MAIL, wait_until

pytestmark = pytest.mark.heavy


def rejecting(form: Form) -> Form:
    """The form as the second button sends it."""
    return Form(form.action.removesuffix("approve") + "reject", form.fields)


def badge(page: Page) -> int:
    found = re.search(r'class="badge"><span aria-hidden="true">(\d+)', page.html)
    return 0 if found is None else int(found[1])


def test_it_works(console: ConsoleFixture) -> None:
    browser = clear(console)
    late, soon = [ask(console, template(console, [DARA], days=days)) for days in (14, 2)]
    never = ask(console, template(console, [DARA], days=None))
    page = browser.get(inbox(console))
    assert listed(page) == [soon, late, never]
    assert badge(browser.get(console.url)) == 3

    answer = browser.submit(decisions(page)[0])

    assert answer.location == f"{inbox(console)}?decided={soon}"
    after = browser.follow(answer)
    assert (listed(after), badge(after)) == ([late, never], 2)
    assert 'role="status"' in after.html
    wait_until(lambda: read(console, soon)["state"] == "succeeded", WITHIN)
    assert 'role="status"' not in browser.get(f"{inbox(console)}?decided={late}").html


def test_a_rejection_needs_a_reason(console: ConsoleFixture) -> None:
    browser, request_id = console.signed_in(DARA_MAIL), ask(console, template(console, [DARA]))
    (form,) = decisions(browser.get(review(console, request_id)))

    page = browser.submit(rejecting(form), {"comment": " "})

    assert (page.status, page.name) == (422, "review")
    assert 'aria-invalid="true"' in page.html
    assert read(console, request_id)["state"] == "pendingApproval"
    (form,) = decisions(page)
    answer = browser.submit(rejecting(form), {"comment": "There is <b>one</b> already.\r\nUse it."})
    assert answer.location == f"{inbox(console)}?decided={request_id}"
    rejected = read(console, request_id)
    assert rejected["state"] == "rejected"
    assert decided(rejected) == [(DARA, "rejected", "There is <b>one</b> already.\nUse it.", None)]
    shown = browser.get(review(console, request_id))
    assert "There is &lt;b&gt;one&lt;/b&gt; already." in shown.html


def decided(request: Mapping[str, object]) -> list[tuple[object, object, object, object]]:
    """The decisions of the first level: user, outcome, comment, and for whom."""
    levels = request["approvals"]
    assert isinstance(levels, list)
    return [
        (each["by"]["id"], each["outcome"], each["comment"], each.get("onBehalfOf", {}).get("id"))
        for each in levels[0]["decisions"]
    ]


def test_input_survives_a_fault(console: ConsoleFixture) -> None:
    browser, request_id = console.signed_in(DARA_MAIL), ask(console, template(console, [DARA]))
    (form,) = decisions(browser.get(review(console, request_id)))

    page = browser.submit(form, {"comment": "too long " * 200})

    assert page.status == 422
    assert "too long " * 100 in page.html
    assert read(console, request_id)["state"] == "pendingApproval"


def test_nothing_changes_by_get(console: ConsoleFixture) -> None:
    browser, request_id = console.signed_in(DARA_MAIL), ask(console, template(console, [DARA]))

    pages = [browser.get(f"{review(console, request_id)}{path}") for path in ("", "?decided=1", "/approve", "/reject")]

    assert [each.status for each in pages[:2]] == [200, 200]
    assert [each.status for each in pages[2:]] == [303, 303]
    assert read(console, request_id)["state"] == "pendingApproval"


def test_of_two_approvers_at_once_the_second_sees_the_state(console: ConsoleFixture) -> None:
    browsers = [console.signed_in(each) for each in (DARA_MAIL, BEN_MAIL)]
    request_id = ask(console, template(console, [DARA, BEN]), description="Only for approvers")
    forms = [decisions(each.get(review(console, request_id)))[0] for each in browsers]

    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(Browser.submit, browsers, forms))

    assert sorted(each.status for each in answers) == [303, 409]
    late = [each.status for each in answers].index(409)
    assert (answers[late].name, decisions(answers[late])) == ("review", [])
    assert len(decided(read(console, request_id))) == 1
    after = browsers[late].get(review(console, request_id))
    assert (after.status, decisions(after)) == (200, [])
    assert "Only for approvers" not in after.html
    assert f"/console/requests/{request_id}" not in after.links


def test_a_form_that_is_sent_twice_decides_once(console: ConsoleFixture) -> None:
    browser, request_id = console.signed_in(DARA_MAIL), ask(console, template(console, [DARA], [DARA]))
    (form,) = decisions(browser.get(review(console, request_id)))
    first = browser.submit(form)
    wait_until(lambda: decisions(browser.get(review(console, request_id))), WITHIN)

    again = browser.submit(form)

    assert first.location == again.location == f"{inbox(console)}?decided={request_id}"
    assert read(console, request_id)["state"] == "pendingApproval"
    assert len(decided(read(console, request_id))) == 1


def test_a_decision_against_the_earlier_one_shows_the_state(console: ConsoleFixture) -> None:
    browser, request_id = console.signed_in(DARA_MAIL), ask(console, template(console, [DARA]))
    (form,) = decisions(browser.get(review(console, request_id)))
    browser.submit(form)

    page = browser.submit(rejecting(form), {"comment": "No."})

    assert (page.status, page.name, decisions(page)) == (409, "review", [])
    assert [each[1] for each in decided(read(console, request_id))] == ["approved"]


def test_a_cancelled_request_has_nothing_to_decide(console: ConsoleFixture) -> None:
    browser, request_id = console.signed_in(DARA_MAIL), ask(console, template(console, [DARA]))
    (form,) = decisions(browser.get(review(console, request_id)))
    cancel(console, request_id)

    answers = [browser.get(review(console, request_id)), browser.submit(form)]

    assert [(each.status, each.name, decisions(each)) for each in answers] == [(200, "review", []), (409, "review", [])]


def test_other_users_see_no_request(console: ConsoleFixture) -> None:
    request_id = ask(console, template(console, [DARA]))
    form = Form(f"{review(console, request_id)}/approve")

    for who in (CLEO_MAIL, ZOE_MAIL):
        browser = console.signed_in(who)
        form.fields = browser.get(console.url).forms[0].fields[:1]
        answers = [browser.get(review(console, request_id)), browser.submit(form), browser.submit(rejecting(form))]
        # A rejection without a reason is refused as a review of the page is.
        assert [each.status for each in answers] == [404, 404, 404], who
        assert badge(browser.get(console.url)) == 0
    assert console.signed_in(DARA_MAIL).get(review(console, "nothing")).status == 404
    assert read(console, request_id)["state"] == "pendingApproval"


def test_a_requester_cannot_decide(console: ConsoleFixture) -> None:
    """Ada is an administrator as well, and sees all requests."""
    browser, request_id = console.signed_in(ADA_MAIL), ask(console, template(console, [DARA]))
    page = browser.get(review(console, request_id))
    assert (page.status, decisions(page)) == (200, [])

    answer = browser.submit(Form(f"{review(console, request_id)}/approve", page.forms[0].fields[:1]))

    assert (answer.status, answer.name) == (403, "review")
    assert read(console, request_id)["state"] == "pendingApproval"


def test_a_long_inbox_has_pages_and_few_statements(console: ConsoleFixture, statement_log: StatementLog) -> None:
    browser = clear(console)
    asked = template(console, [DARA])
    wanted = sorted(ask(console, asked, owners=[BEN]) for _ in range(12))

    first = browser.get(inbox(console))
    (following,) = [each for each in first.links if "cursor=" in each]
    second = browser.get(f"{console.service.url}{following}")

    assert (len(listed(first)), len(listed(second))) == (10, 2)
    assert sorted([*listed(first), *listed(second)]) == wanted
    assert badge(first) == 12
    assert console.signed_in(BEN_MAIL).get(f"{console.service.url}{following}").status == 400
    assert 0 < len(statement_log.of(lambda: browser.get(inbox(console)))) <= 10
    assert 0 < len(statement_log.of(lambda: browser.get(review(console, wanted[0])))) <= 10
    clear(console)


def test_a_substitute_decides_for_an_approver(console: ConsoleFixture) -> None:
    dara, ben = console.signed_in(DARA_MAIL), console.signed_in(BEN_MAIL)
    request_id = ask(console, template(console, [DARA]))
    account = f"{console.url}account/"
    form = dara.get(account).form("/console/account/substitute")
    answer = dara.submit(form, {"find:/userId": "ben okafor"})
    assert answer.status == 303
    wait_until(lambda: request_id in listed(ben.get(inbox(console))), WITHIN)
    page = ben.get(review(console, request_id))
    assert "Dara Lindqvist" in page.html

    ben.submit(decisions(page)[0])

    assert decided(read(console, request_id)) == [(BEN, "approved", None, DARA)]
    shown = ben.get(review(console, request_id))
    assert "Ben Okafor for Dara Lindqvist" in shown.html
    assert "Dara Lindqvist" in ben.get(account).html
    page = dara.get(account)
    assert "Ben Okafor" in page.html
    dara.submit(page.form("/console/account/substitute/withdraw"))
    assert "/console/account/substitute/withdraw" not in dara.get(account).html
