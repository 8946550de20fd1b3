"""Reading is never less strict than decoding, and never fails in another way than by naming faults."""

import copy
import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chamberlain.rules.errors import BodyInvalid, Fault
from chamberlain.shapes.reading import clean, read_shape
from chamberlain.shapes.shape import Shape
from chamberlain.shapes.templates import read_template

ID = "7e000000-0000-4000-8000-000000000013"
# Any: JSON that the test bends out of shape.
WHOLE: list[dict[str, Any]] = [
    {
        "id": ID,
        "kind": "team",
        "name": "T",
        "audience": {"users": [ID], "groups": []},
        "naming": {"displayName": "{input}", "mailNickname": "{input}"},
        "memberShipType": 1,
        "minimumOwners": 2,
        "owners": [ID],
        "customFields": [{"key": "k", "label": "L", "type": "choice", "choices": [{"value": "v", "label": "V"}]}],
        "channels": ["General"],
        "approval": {"levels": [{"mode": "any", "approvers": [{"type": "group", "id": ID}]}], "deadlineDays": 3},
        "webhook": {"url": "https://hooks.example/"},
    },
    {
        "id": ID,
        "kind": "room",
        "name": "R",
        "defaults": {
            "permissions": {ID: "SendAs"},
            "metadata": {"a": "x", "b": True},
            "capacity": 3,
            "roomMailboxMetadata": {"hasWhiteboard": True},
            "tags": ["quiet"],
        },
    },
    {
        "id": ID,
        "kind": "guest",
        "name": "G",
        "guests": {"allowed": True, "allowedDomains": ["a.example"]},
        "sharingCapability": "anyone",
    },
]

_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=70)
_json = st.recursive(_scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner))


class _Pair(Shape, frozen=True, kw_only=True):
    first: int
    second: str | bool


def _places(value: object, place: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [(*place, name) for name, _ in inner] + [
        each for name, sub in inner for each in _places(sub, (*place, name))
    ]


@st.composite
def _bent(draw: st.DrawFn) -> dict[str, Any]:
    value: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(WHOLE)))
    *path, last = draw(st.sampled_from(_places(value)))
    inner: Any = value  # Any: a path through JSON.
    for name in path:
        inner = inner[name]
    inner[last] = draw(_json)
    return value


def _faults(read: Callable[[], object]) -> tuple[Fault, ...]:
    """What reading finds; any other failure than naming faults is the test's."""
    try:
        read()
    except BodyInvalid as error:
        return error.faults or (Fault("", "none", "It was refused without a fault."),)
    return ()


def test_it_works() -> None:
    assert read_shape({"first": 2.0, "second": "x"}, _Pair) == _Pair(first=2, second="x")


@given(_bent())
def test_it_names_faults_and_never_fails_otherwise(value: dict[str, Any]) -> None:
    faults = _faults(lambda: read_template(value))

    assert all(fault.pointer.startswith("/") and fault.detail.endswith(".") for fault in faults)


@given(_json)
def test_it_reads_nothing_that_is_of_another_shape(value: object) -> None:
    faults = _faults(lambda: read_shape(value, _Pair))

    # Hardly anything that is drawn is such a pair, and what is not must be refused.
    is_pair = isinstance(value, dict) and type(value.get("first")) in {int, float} and {*value} >= {"first", "second"}
    assert faults or is_pair


@given(_json)
def test_it_cleans_no_more_than_nulls_and_whole_numbers(value: object) -> None:
    cleaned = clean(value)

    assert clean(cleaned) == cleaned
    assert "null" not in json.dumps(cleaned) or "null" in json.dumps(value)
