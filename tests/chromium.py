# SPDX-License-Identifier: Apache-2.0
"""Users at the sign-in pages, in Chromium."""

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

# Timeout for a page on a busy machine, in milliseconds.
_SHOWN_WITHIN = 30_000


@dataclass(frozen=True, slots=True)
class BrowserUser:
    """A user with a browser window and a password."""

    page: Page
    address: str
    password: str

    def allow(self, address: str, code: str) -> None:
        """Enter a code, sign in and allow the application."""
        self.enter_code(address, code)
        self.page.get_by_role("button", name="Allow").click()
        expect(self.page.locator("main[data-page=device_allowed]")).to_be_visible()

    def deny(self, address: str, code: str) -> None:
        """Enter a code, sign in and deny the application."""
        self.enter_code(address, code)
        self.page.get_by_role("button", name="Deny").click()
        expect(self.page.locator("main[data-page=device_denied]")).to_be_visible()

    def sign_in(self) -> None:
        """Fill in and submit the sign-in page."""
        self.page.get_by_label("Address").fill(self.address)
        self.page.get_by_label("Password").fill(self.password)
        self.page.get_by_role("button", name="Sign in", exact=True).click()

    def go_back(self) -> None:
        """Press the button that returns to the application."""
        self.page.get_by_role("button", name="Return to").click()

    def enter_code(self, address: str, code: str) -> None:
        self.page.goto(address)
        self.page.get_by_label("Code").fill(code)
        self.page.get_by_role("button", name="Continue").click()
        self.sign_in()
        expect(self.page.get_by_text(code, exact=True)).to_be_visible()


@contextmanager
def open_browser_user(data_dir: Path, address: str = ADA_MAIL) -> Iterator[BrowserUser]:
    """Open a browser for an example user, without a session. `data_dir` is the service's."""
    passwords = json.loads((data_dir / "example-users.json").read_text())
    with run_chromium(data_dir / "ca.pem") as browser:
        page = browser.new_page()
        page.set_default_timeout(_SHOWN_WITHIN)
        expect.set_options(timeout=_SHOWN_WITHIN)
        yield BrowserUser(page, address, passwords[address])


@contextmanager
def run_chromium(*authorities: Path) -> Iterator[Browser]:
    """Start Chromium, which trusts these authorities in addition to those of the system."""
    options = [f"--ignore-certificate-errors-spki-list={','.join(map(fingerprint, authorities))}"]
    if os.geteuid() == 0:
        # For root, Chromium starts only without its sandbox.
        options.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        try:
            yield browser
        finally:
            browser.close()


def fingerprint(certificate: Path) -> str:
    """Return the digest of a certificate's key, for the trust option of Chromium."""
    key = x509.load_pem_x509_certificate(certificate.read_bytes()).public_key()
    return b64encode(sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()).decode()
