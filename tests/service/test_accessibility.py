# SPDX-License-Identifier: Apache-2.0
"""All pages in Chromium, as axe sees them: landing page, API pages and sign-in pages."""

import json
import ssl
from collections.abc import Iterator
from typing import Literal, NamedTuple

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

import dev
from chamberlain.http.documentation import SLUGS
from tests.chromium import run_chromium
from tests.services import ADA_MAIL, COLLAB, Service, running_service

pytestmark = [pytest.mark.heavy, pytest.mark.needs("chromium"), pytest.mark.needs("npm")]

TENANT = "e57a7e00-0000-4000-8000-000000000001"
CLI = "c11e0000-0000-4000-8000-000000000001"
AXE = dev.TYPESCRIPT / "node_modules" / "axe-core" / "axe.min.js"
# Timeout on a busy machine, in milliseconds.
PATIENCE = 30_000


class Look(NamedTuple):
    """A color scheme and a width of the window."""

    scheme: Literal["light", "dark"]
    width: int


LOOKS = [Look("light", 1280), Look("dark", 1280), Look("light", 390)]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running_service() as running:
        yield running


@pytest.fixture(scope="module")
def browser(service: Service) -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with run_chromium(service.data_dir / "ca.pem") as opened:
        yield opened


@pytest.fixture(params=LOOKS, ids=lambda look: f"{look.scheme}-{look.width}")
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    look: Look = request.param
    context = browser.new_context(
        color_scheme=look.scheme,
        viewport={"width": look.width, "height": 700},
    )
    context.set_default_timeout(PATIENCE)
    try:
        yield context.new_page()
    finally:
        context.close()


def findings(page: Page) -> list[str]:
    """Return the findings of axe, and the overflow of the page."""
    # Closed parts count too. The side bar of a narrow page is behind its menu.
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    page.evaluate("document.body.classList.add('open')")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    violations = page.evaluate("async () => (await axe.run(document)).violations")
    found = [f"{page.url} {each['id']}: {node['html'][:120]}" for each in violations for node in each["nodes"]]
    if page.evaluate("document.scrollingElement.scrollWidth > innerWidth"):
        found.append(f"{page.url} is wider than its window.")
    return found


@pytest.mark.parametrize("path", ["/", "/docs", *(f"/docs/{slug}" for slug in SLUGS)])
def test_it_works(service: Service, page: Page, path: str) -> None:
    page.goto(f"{service.url}{path}")

    assert findings(page) == []


def test_it_works_for_the_sign_in_pages(service: Service, page: Page) -> None:
    password = json.loads((service.data_dir / "example-users.json").read_text())[ADA_MAIL]
    platform, found = f"https://localhost:{service.port + 1}/identity", list[str]()

    def look_at(name: str) -> None:
        expect(page.locator(f"main[data-page={name}]")).to_be_visible()
        found.extend(findings(page))

    def sign_in(word: str) -> None:
        page.get_by_label("Address").fill(ADA_MAIL)
        page.get_by_label("Password").fill(word)
        page.get_by_role("button", name="Sign in").click()

    page.goto(f"{platform}/device")
    look_at("device_code")
    page.get_by_label("Code").fill("BCDF-GHJK")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert")).to_be_visible()
    look_at("device_code")
    page.get_by_label("Code").fill(user_code_of(service))
    page.get_by_role("button", name="Continue").click()
    look_at("sign_in")
    sign_in("wrong")
    expect(page.get_by_role("alert")).to_be_visible()
    look_at("sign_in")
    sign_in(password)
    look_at("device_decision")
    page.get_by_role("button", name="Allow").click()
    look_at("device_allowed")
    page.goto(f"{platform}/{TENANT}/oauth2/v2.0/authorize")
    look_at("error")
    page.goto(f"{platform}/{TENANT}/oauth2/v2.0/logout")
    look_at("sign_out")
    page.get_by_role("button", name="Sign out").click()
    look_at("signed_out")

    assert found == []


def user_code_of(service: Service) -> str:
    """Request a device code; return its user code."""
    trusting = ssl.create_default_context(cafile=service.data_dir / "ca.pem")
    url = f"https://localhost:{service.port + 1}/identity/{TENANT}/oauth2/v2.0/devicecode"
    answer = httpx2.post(url, data={"client_id": CLI, "scope": COLLAB}, verify=trusting, timeout=30)
    code: str = answer.json()["user_code"]
    return code
