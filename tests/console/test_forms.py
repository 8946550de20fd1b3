# SPDX-License-Identifier: Apache-2.0
"""A form is the body of the API: its field names are JSON pointers."""

from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamberlain.console.forms import Kind, fault_of, general_faults, read_body, write_pairs
from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.groups.wire import GROUP

if TYPE_CHECKING:
    from chamberlain.core.values import Json

pytestmark = pytest.mark.pure
OWNER, MEMBER = "ada00000-0000-4000-8000-000000000001", "be000000-0000-4000-8000-000000000002"
KINDS = {
    "/displayName": Kind.TEXT,
    "/description": Kind.LINES,
    "/capacity": Kind.NUMBER,
    "/isWheelChairAccessible": Kind.TRUTH,
    "/owners/-": Kind.TEXT,
    "/tags/-": Kind.WORDS,
    "/metadata/el-text-1": Kind.TEXT,
    "/metadata/a~1b": Kind.TEXT,
}


def test_it_works() -> None:
    pairs = [
        ("form_token", "secret"),
        ("/displayName", " Zürich "),
        ("/description", "One\r\nTwo"),
        ("/capacity", "12"),
        ("/isWheelChairAccessible", "true"),
        ("/owners/-", OWNER),
        ("/owners/-", MEMBER),
        ("/tags/-", "quiet, , north"),
        ("/metadata/el-text-1", "4711"),
        ("/metadata/a~1b", "x"),
    ]

    assert read_body(pairs, KINDS) == {
        "displayName": "Zürich",
        "description": "One\nTwo",
        "capacity": 12,
        "isWheelChairAccessible": True,
        "owners": [OWNER, MEMBER],
        "tags": ["quiet", "north"],
        "metadata": {"el-text-1": "4711", "a/b": "x"},
    }


def test_empty_values_were_not_sent() -> None:
    assert read_body([("/displayName", " "), ("/owners/-", ""), ("/capacity", "")], KINDS) == {}


def test_a_form_sets_only_the_properties_that_it_shows() -> None:
    assert read_body([("/approvalRequired", "false"), ("/owners", OWNER), ("displayName", "x")], KINDS) == {}


@pytest.mark.parametrize("text", ["twelve", "1.5", "1e3", "1_000", "١٢", "9" * 40, "--1", "-"])
def test_a_wrong_number_reaches_the_validation(text: str) -> None:
    assert read_body([("/capacity", text)], KINDS) == {"capacity": text}


def test_names_that_contradict_each_other_change_nothing_else() -> None:
    kinds = {"/a": Kind.TEXT, "/a/b": Kind.TEXT, "/a/-": Kind.TEXT, "/" + "x/" * 20: Kind.TEXT}

    assert read_body([(name, "1") for name in kinds], kinds) == {"a": "1"}


def test_the_api_validates_the_body_and_a_fault_finds_its_field() -> None:
    kinds = {"/displayName": Kind.TEXT, "/memberShipType": Kind.NUMBER, "/owners/-": Kind.TEXT}
    body = read_body([("/displayName", "Zürich"), ("/memberShipType", "many"), ("/owners/-", "no id")], kinds)

    with pytest.raises(BodyInvalid) as caught:
        GROUP.read(msgspec.json.encode(body))

    found = {name: fault_of(name, caught.value.faults) for name in kinds}
    pointers = {name: None if fault is None else fault.pointer for name, fault in found.items()}
    assert pointers == {"/displayName": None, "/memberShipType": "/memberShipType", "/owners/-": "/owners/0"}


def test_a_fault_within_a_list_belongs_to_its_field() -> None:
    inner, other = Fault("/owners/1", "invalid", "Wrong."), Fault("/ownersOf", "invalid", "Wrong.")

    assert fault_of("/owners/-", [other, inner]) is inner
    assert general_faults(["/owners/-"], [other, inner]) == [other]


@given(
    st.dictionaries(
        st.sampled_from(["text", "a/b", "a~b"]),
        st.text(st.characters(categories=["L", "N"]), min_size=1) | st.integers(-(10**9), 10**9) | st.booleans(),
    )
)
def test_a_body_fills_in_the_form_that_gives_it_again(values: dict[str, str | int | bool]) -> None:
    body: dict[str, Json] = {"metadata": dict(values.items())} if values else {}
    types = {str: Kind.TEXT, int: Kind.NUMBER, bool: Kind.TRUTH}
    kinds = {
        f"/metadata/{key.replace('~', '~0').replace('/', '~1')}": types[type(value)] for key, value in values.items()
    }

    assert read_body([(name, text) for name, text in write_pairs(body)], kinds) == body
