# SPDX-License-Identifier: Apache-2.0
"""Concepts and glossary agree with the code."""

import re
from itertools import product

import pytest

from chamberlain.guests.models import FindingState
from chamberlain.requests.models import MOVES, RequestState
from tests.docs.pages import ROOT, rows, section

pytestmark = pytest.mark.pure

CONCEPTS = ROOT / "docs" / "concepts.md"
GLOSSARY = ROOT / "docs" / "glossary.md"


def test_it_draws_every_transition_of_a_request() -> None:
    life = section(CONCEPTS, "## The life of a request")
    drawn = set(re.findall(r"^    (\w+) --> (\w+):", life, re.MULTILINE))
    # Three states are named below the diagram, in which their arrows would cross all others.
    (cancelled,) = re.findall(r"cancel a request that is (.+?)\.", life)
    drawn |= {(state, "cancelled") for state in re.findall(r"`(\w+)`", cancelled)}

    moves = {(state.value, after.value) for state, after in product(RequestState, repeat=2) if after in MOVES[state]}
    assert drawn == moves


def test_it_names_every_state_of_a_finding() -> None:
    named = re.findall(r"`(\w+)`", section(CONCEPTS, "### Finding"))

    assert named == [state.value for state in FindingState]


def test_the_glossary_is_in_order() -> None:
    terms = [row[0] for row in rows(GLOSSARY.read_text(encoding="utf-8"))]

    assert terms == sorted(set(terms))
