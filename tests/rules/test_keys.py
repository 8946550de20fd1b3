from collections.abc import Sequence

import pytest

from chamberlain.rules.errors import Conflict, NotFound
from chamberlain.rules.keys import KeyUse, key_uses, require_droppable

FIRST = KeyUse("b", is_there=True, seals=True, secrets=2)
NEEDED = KeyUse("a", is_there=True, seals=False, secrets=1)
IDLE = KeyUse("c", is_there=True, seals=False, secrets=0)
MISSING = KeyUse("z", is_there=False, seals=False, secrets=3)


def test_it_works() -> None:
    assert key_uses(["b", "a", "c"], {"a": 1, "b": 2, "z": 3}) == [FIRST, NEEDED, IDLE, MISSING]
    require_droppable("c", [FIRST, IDLE])


@pytest.mark.parametrize(
    ("key_id", "uses", "sentence"),
    [
        ("b", [FIRST], "is the key that seals"),
        ("a", [FIRST, NEEDED], "1 stored secret is sealed with"),
    ],
)
def test_it_rejects_to_drop_what_is_needed(key_id: str, uses: Sequence[KeyUse], sentence: str) -> None:
    with pytest.raises(Conflict, match=sentence):
        require_droppable(key_id, uses)


@pytest.mark.parametrize("key_id", ["nowhere", "z"])
def test_it_rejects_to_drop_what_is_not_there(key_id: str) -> None:
    with pytest.raises(NotFound, match="has no key"):
        require_droppable(key_id, [FIRST, MISSING])
