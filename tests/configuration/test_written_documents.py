# SPDX-License-Identifier: Apache-2.0
"""Every document is read back as it was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamberlain.configuration.yaml import LONGEST_NAME, read_document, write_document

# The reader takes no numbers of more digits.
NUMBERS = st.integers(-(10**17), 10**17) | st.floats(-1e9, 1e9).map(lambda each: round(each, 3))
TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "text",
    [
        *("", "~", "null", "true", "yes", "012", "08001", "1e3", "1_000", "0x10", "2026-11-20", "12:30", "- a", "a: b"),
        *("#a", "&a", "*a", "!a", "a\nb", " a ", "'a'", '"a"', "\\", "\t", "\x85", "\u2028", "\U0001f600", "=", "<<"),
        "x" * 999,
    ],
)
def test_it_works(text: str) -> None:
    value = {"a": text, text[:LONGEST_NAME]: [text]}

    assert read_document(write_document(value).encode()).value == value


@pytest.mark.heavy
@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_anything_is_read_back_as_it_was(value: dict[str, object]) -> None:
    assert read_document(write_document(value).encode()).value == value


def test_the_same_twice_makes_no_alias() -> None:
    same = {"a": [1, {"b": "c"}]}

    assert read_document(write_document({"x": same, "y": same}).encode()).value == {"x": same, "y": same}


def test_people_can_read_it() -> None:
    value = {"tenants": [{"name": "Ümlaut", "domains": ["a.example", "b.example"], "limits": {}, "templates": []}]}

    assert write_document(value) == (
        "tenants:\n  - name: Ümlaut\n    domains: [a.example, b.example]\n    limits: {}\n    templates: []\n"
    )
