# SPDX-License-Identifier: Apache-2.0
"""Sign-in pages in Chromium, without scripts and mouse."""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Literal
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from tests.chromium import run_chromium
from tests.services import ADA_MAIL, COLLAB, Service, running_service

pytestmark = [pytest.mark.heavy, pytest.mark.needs("chromium")]

TENANT = "e57a7e00-0000-4000-8000-000000000001"
CLI = "c11e0000-0000-4000-8000-000000000001"
# Timeout on a busy machine, in milliseconds.
PATIENCE = 30_000
# Contrasts of all texts with their background by WCAG 2.2, smallest first.
CONTRASTS = """() => {
  const light = (color) => {
    const [r, g, b] = color.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return color !== 'rgba(0, 0, 0, 0)' ? color : behind(element.parentElement);
  };
  return [...document.querySelectorAll('p, h1, a, label, button, input, dt, dd, li')]
    .map((element) => [light(getComputedStyle(element).color), light(behind(element))])
    .map(([one, other]) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05))
    .sort((one, other) => one - other);
}"""


class Program(ThreadingHTTPServer):
    """Application on the user's machine, which waits for its response."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: Queue[tuple[str, dict[str, str]]] = Queue()

    @property
    def address(self) -> str:
        return f"http://localhost:{self.server_port}/"

    def next_answer(self) -> tuple[str, dict[str, str]]:
        """Return method and parameters of the next response."""
        return self.answers.get(timeout=PATIENCE / 1000)


class _Handler(BaseHTTPRequestHandler):
    server: Program

    def do_GET(self) -> None:
        if self.path == "/favicon.ico":
            self.send_error(404)
        else:
            self._take(urlsplit(self.path).query)

    def do_POST(self) -> None:
        self._take(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def _take(self, sent: str) -> None:
        self.server.answers.put((self.command, dict(parse_qsl(sent)) | {"referer": self.headers.get("Referer", "")}))
        body = b"<!doctype html><title>Done</title><main data-page=application><h1>Done</h1></main>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the library.
        """Nothing is logged."""


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
def program() -> Iterator[Program]:
    with Program() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def browser_user(browser: Browser, *, scripts: bool = False) -> Iterator[Page]:
    """Open a window of a new user; fail on errors that a page causes."""
    context: BrowserContext = browser.new_context(java_script_enabled=scripts)
    faults: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            faults.append(message.text)

    try:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("console", note)
        yield page
        assert not [fault for fault in faults if "the server responded with a status of" not in fault]
    finally:
        context.close()


def platform_of(service: Service) -> str:
    return f"https://localhost:{service.port + 1}/identity"


def authorize_url(service: Service, program: Program, **changes: str) -> str:
    asked = {
        "response_type": "code",
        "client_id": CLI,
        "redirect_uri": program.address,
        "scope": COLLAB,
        "state": "st&te",
        "code_challenge": "A" * 43,
        "code_challenge_method": "S256",
    }
    return f"{platform_of(service)}/{TENANT}/oauth2/v2.0/authorize?{urlencode({**asked, **changes})}"


def password_of(service: Service, address: str = ADA_MAIL) -> str:
    passwords: dict[str, str] = json.loads((service.data_dir / "example-users.json").read_text())
    return passwords[address]


def user_code_of(service: Service) -> str:
    """Request a device code; return its user code."""
    trusting = ssl.create_default_context(cafile=service.data_dir / "ca.pem")
    url = f"{platform_of(service)}/{TENANT}/oauth2/v2.0/devicecode"
    answer = httpx2.post(url, data={"client_id": CLI, "scope": COLLAB}, verify=trusting, timeout=30)
    code: str = answer.json()["user_code"]
    return code


def type_and_press_enter(page: Page, *texts: str) -> None:
    """Type into the focused field and the next ones, by keyboard."""
    for number, text in enumerate(texts):
        if number:
            page.keyboard.press("Tab")
        page.keyboard.press("Control+a")
        page.keyboard.type(text)
    page.keyboard.press("Enter")


def expect_page(page: Page, name: str) -> None:
    """Wait for a page of the platform, or of the application (`application`)."""
    expect(page.locator(f"main[data-page={name}]")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_count(1)


def test_it_works(service: Service, browser: Browser, program: Program) -> None:
    with browser_user(browser) as page:
        page.goto(authorize_url(service, program))
        expect_page(page, "sign_in")
        expect(page.get_by_label("Address")).to_be_focused()

        type_and_press_enter(page, ADA_MAIL, password_of(service))

        expect_page(page, "application")
    method, answer = program.next_answer()
    assert method == "GET"
    assert answer.keys() == {"code", "state", "iss", "referer"}
    assert (answer["state"], answer["referer"]) == ("st&te", "")
    assert answer["iss"] == f"{platform_of(service)}/{TENANT}/v2.0"


def test_the_response_can_be_sent_as_a_form(service: Service, browser: Browser, program: Program) -> None:
    with browser_user(browser) as page:
        page.goto(authorize_url(service, program, response_mode="form_post"))
        type_and_press_enter(page, ADA_MAIL, password_of(service))
        expect_page(page, "return")
        expect(page.get_by_role("button", name="Return to chamberlain-cli")).to_be_focused()

        page.keyboard.press("Enter")

        expect_page(page, "application")
    method, answer = program.next_answer()
    assert method == "POST"
    assert answer["code"]
    assert answer["referer"] == ""


def test_a_session_lasts_until_the_sign_out(service: Service, browser: Browser, program: Program) -> None:
    with browser_user(browser) as page:
        page.goto(authorize_url(service, program))
        type_and_press_enter(page, ADA_MAIL, password_of(service))
        expect_page(page, "application")

        # This navigation comes from another site.
        page.evaluate("(url) => { location.href = url }", authorize_url(service, program, login_hint=ADA_MAIL))
        expect_page(page, "confirm")
        page.get_by_role("button", name="Continue").press("Enter")

        expect_page(page, "application")
        page.goto(f"{platform_of(service)}/{TENANT}/oauth2/v2.0/logout")
        page.get_by_role("button", name="Sign out").press("Enter")
        expect_page(page, "signed_out")
        page.goto(authorize_url(service, program))
        expect_page(page, "sign_in")


def test_a_device_is_allowed_by_keyboard(service: Service, browser: Browser) -> None:
    code = user_code_of(service)
    with browser_user(browser) as page:
        page.goto(f"{platform_of(service)}/device")
        expect(page.get_by_label("Code")).to_be_focused()
        type_and_press_enter(page, "BCDF-GHJK")
        expect_page(page, "device_code")
        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.get_by_label("Code")).to_be_focused()

        type_and_press_enter(page, code)
        expect_page(page, "sign_in")
        type_and_press_enter(page, ADA_MAIL, password_of(service))
        expect_page(page, "device_decision")
        expect(page.get_by_text(code, exact=True)).to_be_visible()
        expect(page.get_by_text("Ada Achterberg (ada@estate.example)")).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Allow")).to_be_focused()
        page.keyboard.press("Enter")

        expect_page(page, "device_allowed")


def test_a_wrong_password_is_reported_accessibly(service: Service, browser: Browser, program: Program) -> None:
    with browser_user(browser) as page:
        page.goto(authorize_url(service, program))
        type_and_press_enter(page, ADA_MAIL, "wrong")

        expect_page(page, "sign_in")
        expect(page.get_by_role("alert")).to_be_visible()
        assert page.title().startswith(page.get_by_role("heading", level=1).inner_text())
        for label in ("Address", "Password"):
            expect(page.get_by_label(label)).to_have_attribute("aria-invalid", "true")
            expect(page.get_by_label(label)).to_have_accessible_description(page.get_by_role("alert").inner_text())
        expect(page.get_by_label("Address")).to_have_value(ADA_MAIL)
        expect(page.get_by_label("Password")).to_have_value("")
        page.get_by_role("link", name="Go to the address").press("Enter")
        expect(page.get_by_label("Address")).to_be_focused()


def test_the_decision_fits_a_telephone(service: Service, browser: Browser) -> None:
    with browser_user(browser) as page:
        page.set_viewport_size({"width": 390, "height": 700})
        page.goto(f"{platform_of(service)}/device")
        type_and_press_enter(page, user_code_of(service))
        expect_page(page, "sign_in")
        type_and_press_enter(page, ADA_MAIL, password_of(service))
        expect_page(page, "device_decision")

        for shown in (page.get_by_role("button", name="Allow"), page.get_by_text("Create groups and teams for you")):
            expect(shown).to_be_in_viewport(ratio=1)
        expect(page.get_by_text("Example Estate")).to_be_in_viewport(ratio=1)
        assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_small_screen_with_enough_contrast(
    service: Service, browser: Browser, program: Program, scheme: Literal["light", "dark"]
) -> None:
    with browser_user(browser, scripts=True) as page:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": 320, "height": 480})

        def check(name: str) -> None:
            expect_page(page, name)
            assert page.evaluate("document.scrollingElement.scrollWidth") <= 320, name
            assert page.evaluate(CONTRASTS)[0] >= 7, name
            assert page.evaluate("document.documentElement.lang") == "en"
            expect(page.get_by_role("main")).to_have_count(1)
            expect(page.get_by_role("heading", level=1)).to_have_count(1)
            expect(page.get_by_role("banner")).to_contain_text("for evaluation and tests")

        page.goto(authorize_url(service, program))
        check("sign_in")
        type_and_press_enter(page, ADA_MAIL, "wrong")
        check("sign_in")
        type_and_press_enter(page, ADA_MAIL, password_of(service))
        expect_page(page, "application")
        page.goto(authorize_url(service, program))
        check("confirm")
        page.goto(authorize_url(service, program, response_mode="form_post"))
        check("return")
        page.goto(f"{platform_of(service)}/device")
        check("device_code")
        type_and_press_enter(page, user_code_of(service))
        check("device_decision")
        page.goto(authorize_url(service, program, redirect_uri="https://evil.example/"))
        check("error")


def test_the_content_security_policy_blocks_injected_markup(
    service: Service, browser: Browser, program: Program
) -> None:
    """The policy is the second defence, after escaping."""
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(authorize_url(service, program))
        page.evaluate(
            """() => {
              const script = document.createElement('script');
              script.textContent = 'document.title = "taken over"';
              document.body.append(script);
              document.body.insertAdjacentHTML('beforeend', '<p id="mark" style="color: rgb(1, 2, 3)">x</p>');
            }"""
        )
        assert page.title().startswith("Sign in")
        assert page.evaluate("getComputedStyle(document.getElementById('mark')).color") != "rgb(1, 2, 3)"

        page.evaluate("document.forms[0].action = 'http://127.0.0.1:9/'")
        with page.expect_console_message(lambda message: "form-action" in message.text, timeout=PATIENCE):
            type_and_press_enter(page, ADA_MAIL, "x")
        assert page.url.startswith(platform_of(service))
    finally:
        context.close()


def test_pages_cannot_be_framed(service: Service, browser: Browser, program: Program) -> None:
    with person_of_another_site(browser, program) as page:
        page.set_content(f'<iframe src="{platform_of(service)}/device"></iframe>')
        frame = page.frames[-1]
        frame.wait_for_url("chrome-error://**", timeout=PATIENCE)
        expect(frame.get_by_label("Code")).to_have_count(0)


@contextmanager
def person_of_another_site(browser: Browser, program: Program) -> Iterator[Page]:
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(f"{program.address}?x=1")
        yield page
    finally:
        context.close()
