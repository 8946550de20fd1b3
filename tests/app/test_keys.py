# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence

import pytest

from chamberlain.app.keys import KeyUse, change_of_keys, key_unknown, key_uses, require_droppable
from chamberlain.auth.models import SERVICE
from chamberlain.changes.models import Change, Subject
from chamberlain.core.errors import Conflict, NotFound
from chamberlain.core.values import Json
from tests.auth.editor_values import TRACE
from tests.groups.group_values import TENANT

pytestmark = pytest.mark.pure

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


@pytest.mark.parametrize(
    ("verb", "before", "was", "became"),
    [
        ("rotate", "a", {"sealsWith": "a"}, {"sealsWith": "b"}),
        ("rotate", None, None, {"sealsWith": "b"}),
        ("drop", None, None, None),
    ],
)
def test_the_record_names_keys_by_their_ids(
    verb: str, before: str | None, was: dict[str, Json] | None, became: dict[str, Json] | None
) -> None:
    change = change_of_keys(TENANT, verb, "b", actor=SERVICE, trace_id=TRACE, before=before)

    assert change == Change(
        tenant_id=TENANT,
        action=f"keys.{verb}",
        actor=SERVICE,
        client_id=None,
        subject=Subject("key", None, "b"),
        before=was,
        after=became,
        request_id=None,
        trace_id=TRACE,
    )


def test_refusals_have_their_codes() -> None:
    for key_id in ("a", "b"):
        with pytest.raises(Conflict) as caught:
            require_droppable(key_id, [FIRST, NEEDED])
        assert caught.value.code == "inUse"
    assert key_unknown("x").code == "notFound"


def test_missing_keys_are_sorted() -> None:
    counts = dict.fromkeys("hgfedcba", 1)

    assert [each.id for each in key_uses(["x"], counts)] == ["x", *"abcdefgh"]
