# SPDX-License-Identifier: Apache-2.0
"""LDAP Sync (RFC 4533) in the mode refreshOnly. Pure.

A server that knows all deletions since the cookie sends them (`refreshDeletes`). Otherwise it sends the ids of all
entries that are present: the deleted ones are not known then, and a new scan is needed.

python-ldap has these messages as well. Its decoder is too slow for one message per entry in a scan of a hundred
thousand, so the few elements of BER are read here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, cast
from uuid import UUID

from chamberlain.directory.opensuite.ldap import SYNC_DONE, SYNC_STATE, Response
from chamberlain.directory.opensuite.python_ldap import Control, RawControl

SYNC_REQUEST: Final = "1.3.6.1.4.1.4203.1.9.1.1"
SYNC_INFO: Final = "1.3.6.1.4.1.4203.1.9.1.4"

# Tags of BER (X.690), and those of the message syncInfo (RFC 4533, 2.5).
_BOOLEAN, _OCTETS, _ENUMERATED, _SEQUENCE, _SET = 0x01, 0x04, 0x0A, 0x30, 0x31
_NEW_COOKIE, _REFRESH_PRESENT, _ID_SET = 0x80, 0xA2, 0xA3
_REFRESH_ONLY: Final = 1
# States of an entry (RFC 4533, 2.3). The other one is "present".
_CHANGED: Final = frozenset({1, 2})
_DELETED: Final = 3


@dataclass(slots=True)
class Refresh:
    """The entries that changed since a cookie, and the next cookie.

    Without a cookie in the request, all entries are changed. `removed` can have entries that never matched the filter.
    `knows_removed` is false if the server does not know the deletions since the cookie. `cookie` is None if nothing
    changed.
    """

    changed: list[UUID] = field(default_factory=list)
    removed: list[UUID] = field(default_factory=list)
    cookie: bytes | None = None
    knows_removed: bool = True


def request_control(cookie: bytes | None) -> RawControl:
    """Return the control of a search for changes since a cookie."""
    mode = encoded(_ENUMERATED, bytes([_REFRESH_ONLY]))
    position = b"" if cookie is None else encoded(_OCTETS, cookie)
    return RawControl(SYNC_REQUEST, encoded(_SEQUENCE, mode + position), criticality=True)


def parse_refresh(response: Response) -> Refresh:
    """Parse the response; raises ValueError for a malformed message."""
    refresh = Refresh()
    for row in response.rows:
        for control in row.controls:
            if control.controlType == SYNC_STATE:
                _take_state(refresh, _value_of(control))
    for name, message in response.messages:
        if name == SYNC_INFO:
            _take_info(refresh, message)
    for control in response.controls:
        if control.controlType == SYNC_DONE:
            _take_done(refresh, _value_of(control))
    return refresh


def encoded(tag: int, content: bytes) -> bytes:
    """Encode an element of BER with a definite length."""
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    written = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(written)]) + written + content


def elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Read elements of BER: tag and content. Raises ValueError."""
    at = 0
    while at < len(data):
        tag, at = data[at], at + 1
        size, at = _size_at(data, at)
        if at + size > len(data):
            raise ValueError("An element of BER is cut.")
        yield tag, data[at : at + size]
        at += size


def _size_at(data: bytes, at: int) -> tuple[int, int]:
    """Read a length, and return it with the position after it."""
    first = data[at] if at < len(data) else 0x80
    if first < 0x80:
        return first, at + 1
    count = first & 0x7F
    if count == 0 or at + 1 + count > len(data):
        raise ValueError("A length of BER is cut or indefinite.")
    return int.from_bytes(data[at + 1 : at + 1 + count], "big"), at + 1 + count


def _take_state(refresh: Refresh, value: bytes) -> None:
    """Take the state of an entry: number, id, optional cookie."""
    [(_, state), (_, entry_id), *cookies] = elements(_content(value, _SEQUENCE))
    number = int.from_bytes(state, "big")
    if number in _CHANGED:
        refresh.changed.append(UUID(bytes=entry_id))
    elif number == _DELETED:
        refresh.removed.append(UUID(bytes=entry_id))
    else:
        refresh.knows_removed = False
    _take_cookie(refresh, cookies)


def _take_info(refresh: Refresh, message: bytes) -> None:
    """Take a message between entries: cookie, end of phase, or ids."""
    for tag, content in elements(message):
        if tag == _NEW_COOKIE:
            refresh.cookie = content
            continue
        parts = list(elements(content))
        _take_cookie(refresh, parts)
        if tag == _ID_SET and _is_true(parts):
            refresh.removed += [UUID(bytes=each) for part, ids in parts if part == _SET for _, each in elements(ids)]
        elif tag in {_ID_SET, _REFRESH_PRESENT}:
            refresh.knows_removed = False


def _take_done(refresh: Refresh, value: bytes) -> None:
    """Take the end: a cookie, and whether deletions were sent."""
    parts = list(elements(_content(value, _SEQUENCE)))
    _take_cookie(refresh, parts)
    if not _is_true(parts):
        refresh.knows_removed = False


def _take_cookie(refresh: Refresh, parts: list[tuple[int, bytes]]) -> None:
    for tag, content in parts:
        if tag == _OCTETS:
            refresh.cookie = content


def _is_true(parts: list[tuple[int, bytes]]) -> bool:
    """Return the value of the flag `refreshDeletes`, which is false by default."""
    return any(tag == _BOOLEAN and content != b"\0" for tag, content in parts)


def _content(value: bytes, tag: int) -> bytes:
    [(found, content)] = elements(value)
    if found != tag:
        raise ValueError(f"An element of BER has the tag {found} instead of {tag}.")
    return content


def _value_of(control: Control) -> bytes:
    return cast("RawControl", control).value
