"""Somebody with a browser, as far as signing in at the command line needs one."""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2

from tests.embedded.identity.browser import Form, Page
from tests.services import ADA_MAIL, Service


class Person:
    """Whoever types a code in, or signs in where a program has sent the browser."""

    def __init__(self, service: Service, address: str, http: httpx2.Client) -> None:
        self._typed = {
            "address": address,
            "password": json.loads((service.data_dir / "example-users.json").read_text())[address],
        }
        self._http = http

    def let_in(self, address: str, code: str) -> Page:
        """Type the code in on the page at this address, sign in, and allow it."""
        page = self._send(self._open(address).form, {"user_code": code})
        decision = self._send(page.form, self._typed)
        return self._send(decision.form, decision.form.buttons["Allow"])

    def turn_away(self, address: str, code: str) -> Page:
        """As `let_in`, and then refuse it."""
        page = self._send(self._open(address).form, {"user_code": code})
        decision = self._send(page.form, self._typed)
        return self._send(decision.form, decision.form.buttons["Deny"])

    def sign_in(self, address: str) -> Page:
        """Sign in where a program has sent the browser; the page that the program shows at the end."""
        return self._send(self._open(address).form, self._typed)

    def _open(self, address: str) -> Page:
        return Page(self._http.get(address, headers={"Sec-Fetch-Site": "none"}))

    def _send(self, form: Form, typed: dict[str, str]) -> Page:
        told = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
        return Page(self._http.post(form.action, data={**form.values, **typed}, headers=told))


@contextmanager
def person(service: Service, address: str = ADA_MAIL) -> Iterator[Person]:
    """Somebody whose browser nobody has used yet."""
    trusting = ssl.create_default_context(cafile=service.data_dir / "ca.pem")
    with httpx2.Client(verify=trusting, trust_env=False, timeout=30, follow_redirects=True) as http:
        yield Person(service, address, http)
