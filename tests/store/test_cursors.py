"""Cursors: what was sealed opens again, as it was given and in no other spelling."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.rules.errors import Malformed
from chamberlain.rules.pages import Position
from chamberlain.store.cursors import Cursors
from chamberlain.store.keyring import Keyring

CURSORS = Cursors(Keyring("k1", {"k1": bytes(32)}))
POSITION = Position(datetime(2026, 11, 20, 9, 30, tzinfo=UTC), UUID(int=1))


def test_it_works() -> None:
    assert CURSORS.open(CURSORS.seal(POSITION, "here"), "here") == POSITION


@pytest.mark.parametrize("foreign", ["!", " ", "\n", "\u00e9", "*"])
def test_it_rejects_one_with_signs_in_it_that_no_cursor_has(foreign: str) -> None:
    cursor = CURSORS.seal(POSITION, "here")

    with pytest.raises(Malformed) as caught:
        CURSORS.open(f"{cursor[:10]}{foreign}{cursor[10:]}", "here")

    assert caught.value.code == "invalidCursor"


def test_it_rejects_one_of_another_place() -> None:
    with pytest.raises(Malformed):
        CURSORS.open(CURSORS.seal(POSITION, "here"), "there")
