"""Random ids: version 4, and all of their other bits as they were drawn."""

from uuid import UUID

import pytest

from chamberlain.database.types import random_ids


def test_it_works() -> None:
    first, second = bytes(range(16)), bytes(range(240, 256))

    ids = random_ids(first + second)

    assert ids == [UUID(bytes=first, version=4), UUID(bytes=second, version=4)]


@pytest.mark.parametrize("byte", [0x00, 0x55, 0xAA, 0xFF])
def test_it_leaves_every_other_bit(byte: int) -> None:
    drawn = bytes([byte]) * 16

    assert random_ids(drawn) == [UUID(bytes=drawn, version=4)]
