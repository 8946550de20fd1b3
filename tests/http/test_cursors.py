# SPDX-License-Identifier: Apache-2.0
"""Cursors: what was sealed opens again, as it was given and in no other spelling."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.core.errors import Malformed
from chamberlain.core.paging import FeedPosition, Position
from chamberlain.http.cursors import Cursors
from chamberlain.secrets.keyring import Keyring

CURSORS = Cursors(Keyring("k1", {"k1": bytes(32)}))
POSITION = Position(datetime(2026, 11, 20, 9, 30, tzinfo=UTC), UUID(int=1))


def test_it_works() -> None:
    assert CURSORS.open(CURSORS.seal(POSITION, "here"), "here") == POSITION


def test_a_place_in_a_feed_opens_as_one_and_as_nothing_else() -> None:
    cursor = CURSORS.seal(FeedPosition(7), "here")

    assert CURSORS.open_feed(cursor, "here") == FeedPosition(7)
    with pytest.raises(Malformed):
        CURSORS.open(cursor, "here")


def test_it_opens_as_long_as_its_key_is_there() -> None:
    cursor = CURSORS.seal(FeedPosition(7), "here")
    rotated, without = [
        Cursors(Keyring("k2", keys)) for keys in ({"k2": b"2" * 32, "k1": bytes(32)}, {"k2": b"2" * 32})
    ]

    assert rotated.open_feed(cursor, "here") == FeedPosition(7)
    with pytest.raises(Malformed):
        without.open_feed(cursor, "here")


@pytest.mark.parametrize("foreign", ["!", " ", "\n", "\u00e9", "*"])
def test_it_rejects_one_with_signs_in_it_that_no_cursor_has(foreign: str) -> None:
    cursor = CURSORS.seal(POSITION, "here")

    with pytest.raises(Malformed) as caught:
        CURSORS.open(f"{cursor[:10]}{foreign}{cursor[10:]}", "here")

    assert caught.value.code == "invalidCursor"


def test_it_rejects_one_of_another_place() -> None:
    with pytest.raises(Malformed):
        CURSORS.open(CURSORS.seal(POSITION, "here"), "there")
