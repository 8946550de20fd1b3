# SPDX-License-Identifier: Apache-2.0
"""One running service for all tests of the console that need one, with the fault surface of its directory."""

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
import pytest

from tests.console.browser import Browser, Page
from tests.console.statements import StatementLog, logged_statements
from tests.services import CLEO_MAIL, Service, restarted_service


@dataclass(frozen=True, slots=True)
class ConsoleFixture:
    """A running service, with the passwords of its users."""

    service: Service
    passwords: dict[str, str]
    http: httpx2.Client

    @property
    def url(self) -> str:
        return f"{self.service.url}/console/"

    def browser(self, *, accepts_secure: bool = True) -> Browser:
        return Browser(self.http, accepts_secure)

    def sign_in(self, browser: Browser, address: str = CLEO_MAIL, path: str = "") -> Page:
        return browser.sign_in(f"{self.url}{path}", address, self.passwords[address])

    def signed_in(self, address: str = CLEO_MAIL) -> Browser:
        browser = self.browser()
        page = self.sign_in(browser, address)
        assert (page.status, page.name) == (200, "catalog")
        return browser


@contextmanager
def open_console(environment: Mapping[str, str] | None = None) -> Iterator[ConsoleFixture]:
    """Start a service."""
    shared = {"CHAMBERLAIN_FAULT_SURFACE": "true"}
    with restarted_service(environment={**shared, **(environment or {})}) as service:
        passwords = json.loads((service.data_dir / "example-users.json").read_text())
        trusting = ssl.create_default_context(cafile=service.data_dir / "ca.pem")
        with httpx2.Client(verify=trusting, timeout=30, trust_env=False) as http:
            yield ConsoleFixture(service, passwords, http)


@pytest.fixture(scope="session")
def console() -> Iterator[ConsoleFixture]:
    with open_console() as found:
        yield found


@pytest.fixture(scope="session")
def statement_log(console: ConsoleFixture) -> Iterator[StatementLog]:
    """The log of statements, for tests that count those of a page."""
    with logged_statements(console.service) as log:
        yield log
