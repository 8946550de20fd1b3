# SPDX-License-Identifier: Apache-2.0
"""The body of a group creation: what it may hold, and every fault of one that may not be."""

from collections.abc import Callable, Iterator
from uuid import UUID

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chamberlain.core.errors import BodyInvalid, Malformed
from chamberlain.core.ids import TemplateId, UserId
from chamberlain.core.validation import list_faults
from chamberlain.directory.groups import MemberShipType
from chamberlain.groups.models import GroupOrder
from chamberlain.groups.wire import GROUP, GroupBody, read_group_order

TEMPLATE = "7e000000-0000-4000-8000-000000000011"
GOOD = {"displayName": "Hooked", "templateId": TEMPLATE}


def faults_of(body: object) -> list[tuple[str, str]]:
    with pytest.raises(BodyInvalid) as caught:
        GROUP.read(msgspec.json.encode(body))
    return [(fault.pointer, fault.code) for fault in caught.value.faults]


def test_it_works() -> None:
    body = GROUP.read(msgspec.json.encode(GOOD))

    assert body == GroupBody(display_name="Hooked", template_id=TEMPLATE)


def test_it_is_read_again_from_what_is_stored() -> None:
    raw = b'{"displayName": "Hooked", "templateId": "%s", "memberShipType": 2.0, "owners": ["%s"], "members": null}'
    person = "ADA00000-0000-4000-8000-000000000001"

    order = read_group_order(raw % (TEMPLATE.encode(), person.encode()))

    assert order == GroupOrder(
        display_name="Hooked",
        template_id=TemplateId(UUID(TEMPLATE)),
        member_ship_type=MemberShipType.DYNAMIC,
        owners=(UserId(UUID(person)),),
    )


BAD: list[tuple[dict[str, object], list[tuple[str, str]]]] = [
    ({"displayName": None}, [("/displayName", "missingProperty")]),
    ({"displayName": ""}, [("/displayName", "missingProperty")]),
    ({"displayName": " \u2003\t\n"}, [("/displayName", "missingProperty")]),
    ({"displayName": 5}, [("/displayName", "wrongType")]),
    ({"displayName": "x" * 257}, [("/displayName", "outOfBounds")]),
    ({"displayName": "a\0b"}, [("/displayName", "invalidText")]),
    ({"displayName": "a\n"}, [("/displayName", "invalidText")]),
    ({"displayName": "a\x85b"}, [("/displayName", "invalidText")]),
    ({"displayName": "a\x7f" * 200}, [("/displayName", "outOfBounds"), ("/displayName", "invalidText")]),
    ({"templateId": None}, [("/templateId", "missingProperty")]),
    ({"templateId": True}, [("/templateId", "wrongType")]),
    ({"templateId": UUID(TEMPLATE).hex}, [("/templateId", "malformedId")]),
    ({"templateId": f"{{{TEMPLATE}}}"}, [("/templateId", "malformedId")]),
    ({"templateId": f"{TEMPLATE}\n"}, [("/templateId", "malformedId")]),
    ({"templateId": TEMPLATE.replace("0", "\N{FULLWIDTH DIGIT ZERO}")}, [("/templateId", "malformedId")]),
    ({"description": "x" * 1025}, [("/description", "outOfBounds")]),
    ({"description": "bell \a"}, [("/description", "invalidText")]),
    ({"description": ["x"]}, [("/description", "wrongType")]),
    ({"memberShipType": 3}, [("/memberShipType", "unknownValue")]),
    ({"memberShipType": -1}, [("/memberShipType", "unknownValue")]),
    ({"memberShipType": 10**40}, [("/memberShipType", "unknownValue")]),
    ({"memberShipType": 1.5}, [("/memberShipType", "wrongType")]),
    ({"memberShipType": "2"}, [("/memberShipType", "wrongType")]),
    ({"memberShipType": True}, [("/memberShipType", "wrongType")]),
    ({"owners": TEMPLATE}, [("/owners", "wrongType")]),
    ({"owners": {}}, [("/owners", "wrongType")]),
    ({"owners": [TEMPLATE] * 101}, [("/owners", "outOfBounds")]),
    ({"owners": [TEMPLATE, "x", None]}, [("/owners/1", "malformedId"), ("/owners/2", "wrongType")]),
    ({"members": [TEMPLATE] * 10_001}, [("/members", "outOfBounds")]),
    ({"metadata": []}, [("/metadata", "wrongType")]),
    ({"metadata": {"a": None}}, [("/metadata/a", "wrongType")]),
    ({"metadata": {"a": 1}}, [("/metadata/a", "wrongType")]),
    ({"metadata": {"a/b~c": 1}}, [("/metadata/a~1b~0c", "wrongType")]),
    ({"metadata": {"": "x"}}, [("/metadata/", "outOfBounds")]),
    ({"metadata": {"k" * 129: "x"}}, [(f"/metadata/{'k' * 129}", "outOfBounds")]),
    ({"metadata": {"k\0": "x"}}, [("/metadata/k\0", "invalidText")]),
    ({"metadata": {"k": "x" * 1025}}, [("/metadata/k", "outOfBounds")]),
    ({"metadata": {"k": "x\ny"}}, [("/metadata/k", "invalidText")]),
    ({"metadata": {str(number): "x" for number in range(65)}}, [("/metadata", "outOfBounds")]),
    ({"metadata": {str(number): "x" * 1024 for number in range(16)}}, [("/metadata", "outOfBounds")]),
    ({"labelId": "x" * 257}, [("/labelId", "outOfBounds")]),
    ({"labelId": 5}, [("/labelId", "wrongType")]),
    ({"membershipType": 1}, [("/membershipType", "unknownProperty")]),
    ({"": 1}, [("/", "unknownProperty")]),
    (
        {"displayName": 5, "owners": ["x"], "colour": "red"},
        [("/displayName", "wrongType"), ("/owners/0", "malformedId"), ("/colour", "unknownProperty")],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "faults"), BAD)
def test_it_rejects_a_bad_body_and_names_every_fault(change: dict[str, object], faults: list[tuple[str, str]]) -> None:
    assert faults_of(GOOD | change) == faults


def test_it_rejects_an_empty_object() -> None:
    assert faults_of({}) == [("/displayName", "missingProperty"), ("/templateId", "missingProperty")]


FINE: list[dict[str, object]] = [
    {"displayName": "x" * 256},
    {"displayName": "\N{GRINNING FACE}" * 256},
    {"displayName": " kept as sent \u00a0"},
    {"templateId": TEMPLATE.upper()},
    {"description": "line\r\n\tline"},
    {"description": ""},
    {"description": "x" * 1024},
    {"memberShipType": 2.0},
    {"memberShipType": -0.0},
    {"owners": [TEMPLATE] * 100},
    {"owners": []},
    {"metadata": {}},
    {"metadata": {"k" * 128: "x" * 1024, "yes": True, "empty": ""}},
    {"labelId": ""},
]


@pytest.mark.parametrize("change", FINE)
def test_it_takes_what_is_within_the_bounds(change: dict[str, object]) -> None:
    GROUP.read(msgspec.json.encode(GOOD | change))


def test_it_handles_ten_thousand_members() -> None:
    assert len(GROUP.read(msgspec.json.encode(GOOD | {"members": [TEMPLATE] * 10_000})).members or ()) == 10_000


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "notJson"),
        (b"  \n", "notJson"),
        (b"{", "notJson"),
        (b'{"displayName": "x",}', "notJson"),
        (b"{'displayName': 'x'}", "notJson"),
        (b'{"displayName": NaN}', "notJson"),
        (b'{"displayName": "\xff"}', "notJson"),
        (b'{"displayName": "\xed\xa0\x80"}', "notJson"),
        (b'{"displayName": "\\ud800"}', "notJson"),
        (b'{"displayName": "a\0"}', "notJson"),
        (b"\xef\xbb\xbf{}", "notJson"),
        (b'{"a": 1} {"b": 2}', "notJson"),
        (b"[" * 500_000, "notJson"),
        (b'{"a":' * 80_000, "notJson"),
        (b"1" * 5_000, "notJson"),
        (b"[]", "notAnObject"),
        (b"null", "notAnObject"),
        (b'"text"', "notAnObject"),
        (b"1e400", "notAnObject"),
    ],
)
def test_it_rejects_what_is_no_json_object(raw: bytes, code: str) -> None:
    with pytest.raises(Malformed) as caught:
        GROUP.read(raw)
    assert caught.value.code == code


def test_it_lets_the_last_of_two_members_count() -> None:
    raw = b'{"displayName": 5, "templateId": "%s", "displayName": "Hooked"}' % TEMPLATE.encode()

    assert GROUP.read(raw).display_name == "Hooked"


def test_it_names_the_nearest_property() -> None:
    with pytest.raises(BodyInvalid) as caught:
        GROUP.read(msgspec.json.encode(GOOD | {"MEMBERSHIPTYPE": 1, "\x1bcolour": 1, "x" * 1000: 1}))

    details = [fault.detail for fault in caught.value.faults]
    assert details[0] == "There is no property MEMBERSHIPTYPE. Did you mean memberShipType?"
    assert details[1] == "There is no property \N{REPLACEMENT CHARACTER}colour. Leave it out."
    assert len(details[2]) < 120


@pytest.mark.parametrize("number", [99, 100, 101])
def test_it_lists_at_most_a_hundred_faults(number: int) -> None:
    with pytest.raises(BodyInvalid) as caught:
        GROUP.read(msgspec.json.encode(GOOD | {f"p{each}": each for each in range(number)}))

    assert len(caught.value.faults) == min(number, 100)
    assert caught.value.are_truncated is (number > 100)


class Counted:
    """Counts how many of its parts were visited."""

    visited = 0


class CountedMembers(dict[str, object], Counted):
    """An object of JSON."""

    def __iter__(self) -> Iterator[str]:
        for name in super().__iter__():
            self.visited += 1
            yield name

    def items(self) -> Iterator[tuple[str, object]]:  # type: ignore[override]  # Of a view, only its iterator is used.
        return ((name, self[name]) for name in self)


class CountedItems(list[object], Counted):
    """An array of JSON."""

    def __iter__(self) -> Iterator[object]:
        for item in super().__iter__():
            self.visited += 1
            yield item


def unknown_members(number: int) -> tuple[object, Counted]:
    members = CountedMembers(GOOD | {f"p{each}": each for each in range(number)})
    return members, members


def bad_items(number: int) -> tuple[object, Counted]:
    items = CountedItems(["no id"] * number)
    return GOOD | {"members": items}, items


def bad_keys(number: int) -> tuple[object, Counted]:
    keys = CountedMembers({f"\n{each}": "x" for each in range(number)})
    return GOOD | {"metadata": keys}, keys


@pytest.mark.parametrize("make", [unknown_members, bad_items, bad_keys])
def test_the_search_for_faults_stops_after_a_hundred(make: Callable[[int], tuple[object, Counted]]) -> None:
    value, counted = make(10_000)

    list_faults(value, msgspec.inspect.type_info(GroupBody))

    assert 0 < counted.visited <= 110


TEXT = st.text(alphabet=st.sampled_from("aZ 0-\u00e9\u2003\t\n\0\x85\N{GRINNING FACE}"), max_size=6)
SCALAR = st.one_of(st.none(), st.booleans(), st.integers(-1, 3), st.floats(allow_nan=False), TEXT, st.just(TEMPLATE))
ANYTHING = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6
)
BODIES = st.fixed_dictionaries(
    {"displayName": TEXT | ANYTHING, "templateId": st.just(TEMPLATE) | st.just(TEMPLATE.upper()) | TEXT | ANYTHING},
    optional={
        "description": TEXT | ANYTHING,
        "memberShipType": st.integers(-1, 3) | ANYTHING,
        "owners": st.lists(st.just(TEMPLATE) | TEXT, max_size=3) | ANYTHING,
        "members": st.lists(st.just(TEMPLATE), max_size=3) | ANYTHING,
        "metadata": st.dictionaries(TEXT, TEXT | st.booleans(), max_size=3) | ANYTHING,
        "labelId": TEXT | ANYTHING,
        "colour": ANYTHING,
    },
)
STRICT = msgspec.json.Decoder(GroupBody)


# How long one takes is not the question; the machine may be busy.
@settings(deadline=None)
@given(BODIES)
@example(GOOD | {"memberShipType": 2.0})
def test_the_strict_decoder_and_the_list_of_faults_agree(body: dict[str, object]) -> None:
    raw = msgspec.json.encode(body)
    # That 2.0 is a whole number is known to the list alone, and on purpose.
    value = msgspec.json.decode(raw, type=dict)
    whole = {key: int(v) if isinstance(v, float) and v.is_integer() else v for key, v in value.items()}
    faults = list_faults(whole, msgspec.inspect.type_info(GroupBody))

    try:
        STRICT.decode(msgspec.json.encode(whole))
        accepted = True
    except msgspec.ValidationError:
        accepted = False

    assert accepted == (not faults), faults


@settings(deadline=None)
@given(st.binary(max_size=60) | BODIES.map(msgspec.json.encode))
def test_every_body_is_taken_or_refused(raw: bytes) -> None:
    try:
        body = GROUP.read(raw)
    except (Malformed, BodyInvalid):
        return
    assert body.display_name.strip()
