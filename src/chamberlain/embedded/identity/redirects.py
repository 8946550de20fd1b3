"""Where a browser may be sent with a code: to addresses that are registered with the program, and nowhere else.

They are compared letter by letter (RFC 9700, 2.1). Only the port of a loopback address is free: a program on somebody's
machine takes the one that it gets (RFC 8252, 7.3).
"""

import re
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_PORT = re.compile(r":[0-9]*\Z")
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
    return (_host(known), known.path or "/", known.query) == (_host(wanted), wanted.path or "/", wanted.query)


def _is_loopback(parts: SplitResult) -> bool:
    return parts.scheme == "http" and _host(parts) in _LOOPBACK


def _host(parts: SplitResult) -> str:
    """As it is written: the library folds letter case, and takes `evil.example[::1]` for `::1`."""
    return _PORT.sub("", parts.netloc)


def _split(uri: str) -> SplitResult | None:
    if len(uri) > _LONGEST or not _WRITTEN.fullmatch(uri) or "#" in uri:
        return None
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError:
        return None
    # Whoever looks at how an address begins must not be told another thing than the library, which folds letter case.
    is_plain = uri.startswith(f"{parts.scheme}://") and "@" not in parts.netloc
    return parts if is_plain and parts.hostname and port != 0 else None
