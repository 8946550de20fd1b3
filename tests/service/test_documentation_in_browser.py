# SPDX-License-Identifier: Apache-2.0
"""The API pages in Chromium: search, samples, and the form that sends a call."""

from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.chromium import run_chromium
from tests.services import ADA_MAIL, API, TLS, Service, running_service

pytestmark = [pytest.mark.heavy, pytest.mark.needs("chromium")]

# Timeout on a busy machine, in milliseconds.
PATIENCE = 30_000


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running_service() as running:
        yield running


@pytest.fixture(scope="module")
def browser(service: Service) -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with run_chromium(service.data_dir / "ca.pem") as opened:
        yield opened


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Open a window of a new user; fail on errors and on violations of the policy."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    faults: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    try:
        yield page
        # Chromium reports each answer that is an error.
        assert [fault for fault in faults if "the server responded with a status of" not in fault] == []
    finally:
        context.close()


def test_a_call_is_sent(service: Service, page: Page) -> None:
    page.goto(f"{service.url}/docs/groups#createGroup")
    panel = page.locator("#createGroup .try")
    panel.get_by_text("Try it").click()
    panel.get_by_label("Token").fill(service.token(ADA_MAIL, f"{API}/.default"))
    panel.get_by_label("dryRun").fill("true")

    panel.get_by_role("button", name="Send").click()

    expect(panel.get_by_role("status")).to_contain_text("200")
    expect(panel.get_by_role("region")).to_contain_text('"mailNickname": "orchard"')
    # The tab keeps the token for the other pages, and no cookie.
    page.goto(f"{service.url}/docs/mailboxes")
    token = page.locator("#listMailboxes").get_by_label("Token")
    expect(token).to_have_value(service.token(ADA_MAIL, f"{API}/.default"))
    assert page.context.cookies() == []


def test_a_refusal_is_shown(service: Service, page: Page) -> None:
    page.goto(f"{service.url}/docs/requests#readRequest")
    panel = page.locator("#readRequest .try")
    panel.get_by_text("Try it").click()
    panel.get_by_label("requestId").fill("0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10")

    panel.get_by_role("button", name="Send").click()

    expect(panel.get_by_role("status")).to_contain_text("401")
    expect(panel.get_by_role("region")).to_contain_text('"code": "tokenMissing"')


def test_a_deletion_has_an_answer_without_a_body(service: Service, page: Page) -> None:
    config = f"{API}/admin/Config.ReadWrite.All"
    made = httpx2.post(
        f"{service.url}/admin/collab/v1/policies/",
        json={"name": "Short stay"},
        headers=service.headers(ADA_MAIL, config),
        verify=TLS,
    ).json()
    page.goto(f"{service.url}/docs/guest-rules#deletePolicy")
    panel = page.locator("#deletePolicy .try")
    panel.get_by_text("Try it").click()
    panel.get_by_label("Token").fill(service.token(ADA_MAIL, config))
    panel.get_by_label("policyId").fill(made["id"])

    panel.get_by_role("button", name="Send").click()

    expect(panel.get_by_role("status")).to_contain_text("204")
    expect(panel.get_by_role("region")).to_be_hidden()


def test_a_stream_can_be_stopped(service: Service, page: Page) -> None:
    page.goto(f"{service.url}/docs/events#streamEvents")
    panel = page.locator("#streamEvents .try")
    panel.get_by_text("Try it").click()
    panel.get_by_label("Token").fill(service.token(ADA_MAIL, f"{API}/.default"))

    panel.get_by_role("button", name="Send").click()
    expect(panel.get_by_role("status")).to_contain_text("200")
    panel.get_by_role("button", name="Stop").click()

    expect(panel.get_by_role("button", name="Send")).to_be_enabled()


def test_the_search_finds_operations_of_all_nouns(service: Service, page: Page) -> None:
    page.goto(f"{service.url}/docs")

    page.get_by_label("Search operations").press_sequentially("webhook rotate")

    expect(page.locator(".side nav li a:visible")).to_have_count(2)
    expect(page.locator("#found")).to_have_text("2 operations")
    page.get_by_label("Search operations").press("Enter")
    expect(page).to_have_url(f"{service.url}/docs/webhooks#rotateMailboxTemplateWebhook")


def test_the_chosen_language_stays(service: Service, page: Page) -> None:
    page.goto(f"{service.url}/docs/groups")
    page.locator("#createGroup").get_by_text("Python", exact=True).click()

    page.goto(f"{service.url}/docs/mailboxes")

    expect(page.locator("#createMailbox").get_by_text("client.mailboxes.create")).to_be_visible()


def test_it_works_without_scripts(service: Service, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 700})
    try:
        page = context.new_page()
        page.goto(f"{service.url}/docs/groups")
        page.locator("#createGroup").get_by_text("Command line", exact=True).click()

        expect(page.locator("#createGroup").get_by_text("chamberlain group create")).to_be_visible()
        expect(page.locator("#createGroup .try")).to_be_hidden()
        expect(page.get_by_role("link", name="Overview")).to_be_visible()
    finally:
        context.close()
