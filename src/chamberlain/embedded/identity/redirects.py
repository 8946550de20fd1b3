"""Where a browser may be sent with a code: to addresses that are registered with the program, and nowhere else.

They are compared letter by letter (RFC 9700, 2.1). Only the port of a loopback address is free: a program on somebody's
machine takes the one that it gets (RFC 8252, 7.3).
"""

import re
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# Visible ASCII without what browsers read in another way than we do: a backslash is a slash to them.
_WRITTEN = re.compile(r"[\x21\x23-\x5b\x5d\x5f\x61-\x7a\x7e]+")
_LONGEST = 2048


def may_be_registered(uri: str) -> bool:
    """Whether an address can be sent to at all: https, or http on the same machine; without a fragment or a user."""
    parts = _split(uri)
    return parts is not None and (parts.scheme == "https" or _is_loopback(parts))


def is_registered(registered: Sequence[str], uri: str) -> bool:
    """Whether an address that is asked for is one of the program's."""
    return may_be_registered(uri) and any(uri == each or _differ_in_port_only(each, uri) for each in registered)


def _differ_in_port_only(registered: str, uri: str) -> bool:
    known, wanted = _split(registered), _split(uri)
    if known is None or wanted is None or not _is_loopback(known) or not _is_loopback(wanted):
        return False
    # "http://localhost" and "http://localhost/" are one address (RFC 3986, 6.2.3); libraries write either.
    return (known.scheme, known.hostname, known.path or "/", known.query) == (
        wanted.scheme,
        wanted.hostname,
        wanted.path or "/",
        wanted.query,
    )


def _is_loopback(parts: SplitResult) -> bool:
    return parts.scheme == "http" and parts.hostname in _LOOPBACK


def _split(uri: str) -> SplitResult | None:
    if len(uri) > _LONGEST or not _WRITTEN.fullmatch(uri) or "#" in uri:
        return None
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError:
        return None
    has_user = "@" in parts.netloc
    return None if has_user or not parts.hostname or port == 0 else parts
