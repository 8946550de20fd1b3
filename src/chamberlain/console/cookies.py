# SPDX-License-Identifier: Apache-2.0
"""Cookies of one call: secure ones with the prefix `__Host-`.

Other sites cannot set a cookie with that prefix, not even from another port or path. Chromium accepts it over plain
http at a loopback address as well. Some browsers refuse a secure cookie there. These, and only these, get the same
cookies without prefix: the sign-in page sets a secure cookie first, and looks whether it comes back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self
from urllib.parse import urlsplit

from starlette.responses import Response

# Identifies a browser before the sign-in, and binds the forms of the sign-in page to it.
BROWSER = "browser"
SESSION = "session"
# The state of a sign-in, until the issuer sends the browser back.
PENDING = "pending"
LANGUAGE = "language"
THEME = "theme"
# The address that the user typed last.
ADDRESS = "address"

A_YEAR = 365 * 24 * 3600
_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class Cookies:
    """The cookies of a call.

    `is_plain` is true in a browser that refused a secure cookie over plain http.
    """

    values: Mapping[str, str]
    port: int | None
    may_be_plain: bool
    is_plain: bool

    @classmethod
    def read(cls, console_url: str, lines: Iterable[str]) -> Self:
        """Read the header lines of a call to this address."""
        parts = urlsplit(console_url)
        values = _parse(lines)
        may_be_plain = parts.scheme == "http" and is_loopback(parts.hostname or "")
        return cls(
            values=values,
            port=parts.port,
            may_be_plain=may_be_plain,
            is_plain=may_be_plain
            and cookie_name(BROWSER, parts.port, is_plain=False) not in values
            and cookie_name(BROWSER, parts.port, is_plain=True) in values,
        )

    def get(self, name: str) -> str | None:
        """Return the value of a cookie.

        Cookies without prefix are ignored in a browser that accepts the others.
        """
        return self.values.get(cookie_name(name, self.port, is_plain=self.is_plain))

    def set(self, response: Response, name: str, value: str, max_age: int | None = None) -> None:
        """Set a cookie; without an age until the browser closes."""
        self._set(response, name, value, max_age, is_plain=self.is_plain)

    def set_plain(self, response: Response, name: str, value: str) -> None:
        """Set a cookie without prefix, for a browser that refuses secure ones."""
        if self.may_be_plain:
            self._set(response, name, value, None, is_plain=True)

    def delete(self, response: Response, name: str) -> None:
        """Remove a cookie from the browser."""
        self._set(response, name, "", 0, is_plain=self.is_plain)

    def _set(self, response: Response, name: str, value: str, max_age: int | None, *, is_plain: bool) -> None:
        # Lax: browsers omit strict cookies when the issuer redirects them here.
        response.set_cookie(
            cookie_name(name, self.port, is_plain=is_plain),
            value,
            max_age=max_age,
            path="/",
            secure=not is_plain,
            httponly=True,
            samesite="lax",
        )


def cookie_name(name: str, port: int | None, *, is_plain: bool) -> str:
    """Return the name of a cookie in the browser.

    It has the port, because browsers share cookies between ports.
    """
    return f"{'' if is_plain else '__Host-'}console-{name}{'' if port is None else f'-{port}'}"


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _parse(lines: Iterable[str]) -> Mapping[str, str]:
    """Split header lines; the last of several values counts.

    Our cookies are never quoted. The parser of the standard library takes quadratic time for quoted values.
    """
    values: dict[str, str] = {}
    for line in lines:
        for pair in line.split(";"):
            name, found, value = pair.partition("=")
            if found and len(value) <= _LONGEST:
                values[name.strip()] = value.strip()
    return values
