# SPDX-License-Identifier: Apache-2.0
"""Reading is never less strict than decoding, and never fails in another way than by naming faults."""

import copy
import json
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Meta, Struct, UnsetType

from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.fields import Shape
from chamberlain.core.validation import Reader
from chamberlain.template_admin.documents import read_template

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
    """The faults of reading; any other exception fails the test."""
    try:
        read()
    except BodyInvalid as error:
        return error.faults or (Fault("", "none", "It was refused without a fault."),)
    return ()


class Pair(Shape, frozen=True, kw_only=True):
    first: int
    second: str | bool
    third: str = "none"
    fourth: int | None = None


PAIR = Reader(Pair)


def faults_of(read: Callable[[], object]) -> list[tuple[str, str]]:
    with pytest.raises(BodyInvalid) as caught:
        read()
    return [(fault.pointer, fault.code) for fault in caught.value.faults]


def test_it_works() -> None:
    expected = Pair(first=2, second="x")

    assert PAIR.read(b'{"first": 2, "second": "x"}') == expected
    assert PAIR.read(b'{"first": 2.0, "second": "x", "third": null, "fourth": null}') == expected
    assert PAIR.read_value({"first": 2, "second": "x", "third": None}) == expected


def test_it_names_places_from_the_value_on_and_points_from_the_root() -> None:
    with pytest.raises(BodyInvalid) as caught:
        PAIR.read_value({"first": None, "second": 1}, "/tenants/0")

    types = {"expected": "a string or true or false", "actual": "a whole number"}
    assert caught.value.faults == (
        Fault("/tenants/0/first", "missingProperty", "first is required.", {"property": "first"}),
        Fault(
            "/tenants/0/second",
            "wrongType",
            "second must be a string or true or false, and is a whole number.",
            {"property": "second", **types},
        ),
    )


def test_it_rejects_what_is_no_object() -> None:
    with pytest.raises(BodyInvalid) as caught:
        PAIR.read_value([], "/a")

    (fault,) = caught.value.faults
    assert (fault.pointer, fault.code, fault.detail) == ("/a", "wrongType", "This must be an object, and is an array.")


class Assignment(Struct, rename="camel", forbid_unknown_fields=True):
    template_id: UUID | UnsetType = UNSET
    days: Annotated[int, Meta(ge=1, le=365)] | UnsetType = UNSET


def test_it_tells_null_from_not_sent_where_that_matters() -> None:
    reader = Reader(Assignment)

    assert reader.read(b"{}") == Assignment()
    assert faults_of(lambda: reader.read(b'{"templateId": null, "days": 366}')) == [
        ("/templateId", "nullNotAllowed"),
        ("/days", "outOfBounds"),
    ]


@pytest.mark.parametrize("written", [ID.replace("-", ""), f"{{{ID}}}", f"{ID}\n", ""])
def test_it_rejects_ids_that_are_written_in_another_way(written: str) -> None:
    raw = json.dumps({"templateId": written}).encode()

    assert faults_of(lambda: Reader(Assignment).read(raw)) == [("/templateId", "malformedId")]
    assert Reader(Assignment).read(json.dumps({"templateId": ID.upper()}).encode()).template_id == UUID(ID)


class Room(Struct, rename="camel", forbid_unknown_fields=True):
    has_whiteboard: bool | None = None
    marks: Annotated[dict[str, str], Meta(extra={"bytes": 1024})] | None = None


class Mailbox(Struct, rename="camel", forbid_unknown_fields=True):
    room: Room | None = None
    tags: Annotated[list[Annotated[str, Meta(max_length=3)]], Meta(max_length=2)] | None = None


def test_it_finds_faults_in_objects_within() -> None:
    raw = b'{"room": {"hasWhiteboard": 1, "hasWhitebord": true}, "tags": ["abcd", 1, "c"]}'

    assert faults_of(lambda: Reader(Mailbox).read(raw)) == [
        ("/room/hasWhiteboard", "wrongType"),
        ("/room/hasWhitebord", "unknownProperty"),
        ("/tags", "outOfBounds"),
        ("/tags/0", "outOfBounds"),
        ("/tags/1", "wrongType"),
    ]


def test_it_weighs_what_lies_further_down() -> None:
    raw = json.dumps({"room": {"marks": {"a": "x" * 1024}}}).encode()

    assert faults_of(lambda: Reader(Mailbox).read(raw)) == [("/room/marks", "outOfBounds")]


class Clock(Struct):
    at: list[datetime]


class Speechless(Struct):
    name: Annotated[str, Meta(pattern="^a")]


class Even(Struct):
    count: Annotated[int, Meta(multiple_of=2)] | None = None


@pytest.mark.parametrize(
    ("type_", "told"), [(Clock, "DateTimeType"), (Speechless, "Nothing is said"), (Even, "Only ge and le")]
)
def test_a_type_without_a_rule_is_found_at_the_start(type_: type[Struct], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        Reader(type_)


@given(_bent())
def test_it_names_faults_and_never_fails_otherwise(value: dict[str, Any]) -> None:
    faults = _faults(lambda: read_template(value))

    # A detail that ends with a question suggests the property that was meant.
    assert all(fault.pointer.startswith("/") and fault.detail.endswith((".", "?")) for fault in faults)


@given(_json)
def test_it_reads_nothing_that_is_of_another_shape(value: object) -> None:
    faults = _faults(lambda: PAIR.read_value(value))

    # Hardly anything that is drawn is such a pair, and what is not must be refused.
    is_pair = isinstance(value, dict) and type(value.get("first")) is int and {*value} >= {"first", "second"}
    assert faults or is_pair
