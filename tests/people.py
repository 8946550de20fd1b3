"""People at a browser: they type codes, addresses and passwords, and press what the pages show."""

import json
import os
import shutil
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.services import ADA_MAIL

# A machine that does much else takes its time to show a page; in milliseconds, as Playwright counts.
_SHOWN_WITHIN = 30_000


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who has a browser window and a password."""

    page: Page
    address: str
    password: str

    def let_in(self, address: str, code: str) -> None:
        """Let a program in that shows where to go and a code."""
        self._look_at(address, code)
        self.page.get_by_role("button", name="Allow").click()
        expect(self.page.get_by_role("heading", name="The program is in")).to_be_visible()

    def send_away(self, address: str, code: str) -> None:
        """Come to see that it is not one's own program, and send it away."""
        self._look_at(address, code)
        self.page.get_by_role("button", name="Deny").click()
        expect(self.page.get_by_role("heading", name="The program is sent away")).to_be_visible()

    def sign_in(self) -> None:
        """Say who they are on the page that is shown."""
        self.page.get_by_label("Address").fill(self.address)
        self.page.get_by_label("Password").fill(self.password)
        self.page.get_by_role("button", name="Sign in", exact=True).click()

    def go_back(self) -> None:
        """Go back to the program, as the page offers it."""
        self.page.get_by_role("button", name="Go back to").click()

    def _look_at(self, address: str, code: str) -> None:
        self.page.goto(address)
        self.page.get_by_label("Code").fill(code)
        self.page.get_by_role("button", name="Go on").click()
        self.sign_in()
        expect(self.page.get_by_text(code, exact=True)).to_be_visible()


@contextmanager
def at_a_browser(data_dir: Path, address: str = ADA_MAIL) -> Iterator[Person]:
    """One of the example's people at a browser that nobody is signed in with; `data_dir` is the service's."""
    passwords = json.loads((data_dir / "example-users.json").read_text())
    with browsing(data_dir / "ca.pem") as browser:
        page = browser.new_page()
        page.set_default_timeout(_SHOWN_WITHIN)
        expect.set_options(timeout=_SHOWN_WITHIN)
        yield Person(page, address, passwords[address])


@contextmanager
def browsing(authority: Path) -> Iterator[Browser]:
    """A browser that trusts this authority beside those of the system."""
    options = [f"--ignore-certificate-errors-spki-list={fingerprint(authority)}"]
    if os.geteuid() == 0:
        # As root Chromium starts without its sandbox or not at all.
        options.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        try:
            yield browser
        finally:
            browser.close()


def fingerprint(certificate: Path) -> str:
    """The digest of a certificate's key, by which Chromium can be told to trust it."""
    key = x509.load_pem_x509_certificate(certificate.read_bytes()).public_key()
    return b64encode(sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()).decode()
