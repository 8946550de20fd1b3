# SPDX-License-Identifier: Apache-2.0
"""Values of which every submission makes some: as good as frozen dataclasses wherever that shows."""

from dataclasses import fields, replace

import pytest

from chamberlain.core.values import value

pytestmark = pytest.mark.pure


@value(frozen=True, slots=True)
class Pair:
    """Something to be made."""

    left: int
    right: str = "right"


@value(frozen=True, slots=True, kw_only=True)
class Named:
    """Something whose members are named."""

    name: str


def test_it_works_as_a_dataclass() -> None:
    pair = Pair(1)

    assert [field.name for field in fields(pair)] == ["left", "right"]
    assert replace(pair, left=2) == Pair(2, "right")
    assert repr(pair) == "Pair(left=1, right='right')"
    assert Named(name="it") == Named(name="it")


def test_equal_ones_are_one_in_a_set() -> None:
    assert {Pair(1), Pair(1), Pair(2)} == {Pair(1), Pair(2)}


def test_it_has_no_room_for_anything_else() -> None:
    assert not hasattr(Pair(1), "__dict__")
