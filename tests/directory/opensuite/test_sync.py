# SPDX-License-Identifier: Apache-2.0
"""Messages of LDAP Sync (RFC 4533)."""

from uuid import UUID

import pytest

from chamberlain.directory.opensuite.ldap import SYNC_DONE, SYNC_STATE, Response, Row
from chamberlain.directory.opensuite.python_ldap import RawControl
from chamberlain.directory.opensuite.sync import (
    SYNC_INFO,
    SYNC_REQUEST,
    Refresh,
    elements,
    encoded,
    parse_refresh,
    request_control,
)

pytestmark = pytest.mark.pure

FIRST, SECOND, THIRD = (UUID(int=number) for number in (1, 2, 3))
COOKIE = b"rid=000,csn=20261127045512.123456Z#000000#000#000000"
BOOLEAN, OCTETS, ENUMERATED, SEQUENCE, SET = 0x01, 0x04, 0x0A, 0x30, 0x31
PRESENT, ADD, MODIFY, DELETE = range(4)
DELETES, PRESENTS = b"\xff", b"\x00"


def row(state: int, entry_id: UUID) -> Row:
    value = encoded(ENUMERATED, bytes([state])) + encoded(OCTETS, entry_id.bytes)
    return Row("cn=x", {}, (RawControl(SYNC_STATE, encoded(SEQUENCE, value)),))


def done(deletes: bytes | None = DELETES, cookie: bytes | None = COOKIE) -> tuple[RawControl]:
    value = b"" if cookie is None else encoded(OCTETS, cookie)
    value += b"" if deletes is None else encoded(BOOLEAN, deletes)
    return (RawControl(SYNC_DONE, encoded(SEQUENCE, value)),)


def id_set(deletes: bytes | None, *ids: UUID) -> tuple[str, bytes]:
    flag = b"" if deletes is None else encoded(BOOLEAN, deletes)
    body = flag + encoded(SET, b"".join([encoded(OCTETS, each.bytes) for each in ids]))
    return SYNC_INFO, encoded(0xA3, body)


def test_it_works() -> None:
    response = Response(
        [row(ADD, FIRST), row(MODIFY, SECOND), row(DELETE, THIRD)], [id_set(DELETES, UUID(int=4), UUID(int=5))], done()
    )

    assert parse_refresh(response) == Refresh([FIRST, SECOND], [THIRD, UUID(int=4), UUID(int=5)], COOKIE)


def test_without_changes_there_is_no_cookie() -> None:
    assert parse_refresh(Response(controls=done(cookie=None))) == Refresh()


@pytest.mark.parametrize(
    "response",
    [
        Response([row(PRESENT, FIRST)], [], done()),
        Response([], [id_set(None, FIRST)], done()),
        Response([], [id_set(PRESENTS, FIRST)], done()),
        Response([], [(SYNC_INFO, encoded(0xA2, b""))], done()),
        Response([], [], done(PRESENTS)),
        Response([], [], done(None)),
    ],
    ids=["state", "set", "explicit set", "phase", "explicit end", "end"],
)
def test_present_entries_hide_deletions(response: Response) -> None:
    refresh = parse_refresh(response)

    assert (refresh.knows_removed, refresh.removed) == (False, [])


def test_other_messages_are_skipped() -> None:
    response = Response(
        [Row("cn=x", {}, (RawControl("1.2.3", b"?"),))],
        [("1.2.3", b"?"), (SYNC_INFO, encoded(0x80, b"new")), (SYNC_INFO, encoded(0xA1, encoded(OCTETS, b"later")))],
        done(cookie=None),
    )

    assert parse_refresh(response) == Refresh(cookie=b"later")


def test_it_encodes_the_request() -> None:
    # SEQUENCE { ENUMERATED refreshOnly, OCTET STRING cookie }, as RFC 4533 has it.
    control = request_control(b"abc")

    assert (control.controlType, control.criticality) == (SYNC_REQUEST, True)
    assert control.encodeControlValue() == bytes.fromhex("3008 0a0101 0403 616263")
    assert request_control(None).encodeControlValue() == bytes.fromhex("3003 0a0101")


@pytest.mark.parametrize("size", [0, 1, 127, 128, 255, 256, 70_000])
def test_it_reads_each_length(size: int) -> None:
    content = b"x" * size

    assert list(elements(encoded(OCTETS, content) * 2)) == [(OCTETS, content)] * 2


@pytest.mark.parametrize("cut", ["04", "0402", "040261", "0481", "0482 01", "0480 6162"])
def test_it_rejects_a_cut_message(cut: str) -> None:
    with pytest.raises(ValueError, match="BER"):
        list(elements(bytes.fromhex(cut)))
