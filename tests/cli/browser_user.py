# SPDX-License-Identifier: Apache-2.0
"""A user with a browser, for sign-ins of the command line."""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from tests.embedded.identity.browser import Form, Page
from tests.services import ADA_MAIL, Service


class BrowserUser:
    """A user who enters codes and signs in."""

    def __init__(self, service: Service, address: str, http: httpx2.Client) -> None:
        self._credentials = {
            "address": address,
            "password": json.loads((service.data_dir / "example-users.json").read_text())[address],
        }
        self._http = http

    def allow(self, address: str, code: str) -> Page:
        """Enter the code on the page at this address, sign in, and allow it."""
        page = self._send(self._open(address).form, {"user_code": code})
        decision = self._send(page.form, self._credentials)
        return self._send(decision.form, decision.form.button("decision", "allow"))

    def deny(self, address: str, code: str) -> Page:
        """Enter the code, sign in, and deny it."""
        page = self._send(self._open(address).form, {"user_code": code})
        decision = self._send(page.form, self._credentials)
        return self._send(decision.form, decision.form.button("decision", "deny"))

    def sign_in(self, address: str) -> Page:
        """Sign in at this address; return the last page of the application."""
        return self._send(self._open(address).form, self._credentials)

    def _open(self, address: str) -> Page:
        return Page(self._http.get(address, headers={"Sec-Fetch-Site": "none"}))

    def _send(self, form: Form, values: dict[str, str]) -> Page:
        headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
        return Page(self._http.post(form.action, data={**form.values, **values}, headers=headers))


@contextmanager
def browser_user(service: Service, address: str = ADA_MAIL) -> Iterator[BrowserUser]:
    """A user whose browser has no cookies."""
    trusting = ssl.create_default_context(cafile=service.data_dir / "ca.pem")
    with httpx2.Client(verify=trusting, trust_env=False, timeout=30, follow_redirects=True) as http:
        yield BrowserUser(service, address, http)
