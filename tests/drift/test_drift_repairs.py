# SPDX-License-Identifier: Apache-2.0
"""Which differences are put right, and when that ends."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamberlain.directory.properties import DriftProperty, Treatment
from chamberlain.directory.steps import Step
from chamberlain.drift.compare import Difference, digest
from chamberlain.drift.rules import (
    HOLDS_AFTER,
    MOST_REPAIRS,
    NO_STATE,
    Judgement,
    PropertyState,
    RepairRecord,
    Verdict,
    judge,
    record_without_difference,
)

pytestmark = pytest.mark.pure

NOW = datetime(2026, 11, 20, 2, tzinfo=UTC)
CITY = Difference(DriftProperty.MAILBOX_CITY, "Town", "X", (Step.SET_ADDRESS_FIELDS,), digest("Town"))
SOON = NOW - timedelta(minutes=59)
ONCE = RepairRecord(1, CITY.digest, NOW - timedelta(days=1))
TWICE = replace(ONCE, repairs=2)
STOPPED = replace(TWICE, has_given_up=True)
MANAGED, OBSERVED = Treatment.MANAGED, Treatment.OBSERVED
REPAIR, REPORT, GIVE_UP = Verdict.REPAIR, Verdict.REPORT, Verdict.GIVE_UP
FIRST = RepairRecord(1, CITY.digest, NOW)


@pytest.mark.parametrize(
    ("treatment", "standing", "repairs", "judgement"),
    [
        (MANAGED, NO_STATE, True, Judgement(REPAIR, FIRST)),
        (MANAGED, NO_STATE, False, Judgement(REPORT, None)),
        (OBSERVED, NO_STATE, True, Judgement(REPORT, None)),
        # An administrator accepts the difference.
        (MANAGED, PropertyState(None, is_accepted=True), True, Judgement(REPORT, None)),
        (MANAGED, PropertyState(STOPPED, is_accepted=True), True, Judgement(REPORT, None)),
        # It did not hold once, and twice.
        (MANAGED, PropertyState(ONCE), True, Judgement(REPAIR, replace(FIRST, repairs=2))),
        (MANAGED, PropertyState(TWICE), True, Judgement(GIVE_UP, replace(STOPPED, found_at=NOW))),
        (MANAGED, PropertyState(STOPPED), True, Judgement(GIVE_UP, replace(STOPPED, found_at=NOW))),
        # It is too soon to tell: the directory may be late, and a check may come a minute after the last one.
        (MANAGED, PropertyState(replace(ONCE, found_at=SOON)), True, Judgement(REPORT, replace(ONCE, found_at=SOON))),
        (MANAGED, PropertyState(replace(TWICE, found_at=SOON)), True, Judgement(REPORT, replace(TWICE, found_at=SOON))),
        (
            MANAGED,
            PropertyState(replace(STOPPED, found_at=SOON)),
            True,
            Judgement(GIVE_UP, replace(STOPPED, found_at=NOW)),
        ),
        (MANAGED, PropertyState(replace(ONCE, found_at=SOON), is_released=True), True, Judgement(REPAIR, FIRST)),
        # An administrator releases it, or the desired state changes.
        (MANAGED, PropertyState(STOPPED, is_released=True), True, Judgement(REPAIR, FIRST)),
        (MANAGED, PropertyState(replace(STOPPED, digest="other")), True, Judgement(REPAIR, FIRST)),
        # A repair that has held for a month has held.
        (MANAGED, PropertyState(replace(TWICE, found_at=NOW - HOLDS_AFTER)), True, Judgement(REPAIR, FIRST)),
        # A repair that was announced and never made does not count; one that is not seen yet is waited for.
        (
            MANAGED,
            PropertyState(RepairRecord(0, CITY.digest, NOW, is_in_progress=True)),
            True,
            Judgement(REPAIR, FIRST),
        ),
        (
            MANAGED,
            PropertyState(replace(ONCE, is_in_progress=True)),
            True,
            Judgement(REPAIR, replace(FIRST, repairs=2)),
        ),
        (
            MANAGED,
            PropertyState(replace(ONCE, found_at=SOON, is_in_progress=True)),
            True,
            Judgement(REPORT, replace(ONCE, found_at=SOON, is_in_progress=True)),
        ),
        # The tenant has changed its mind.
        (MANAGED, PropertyState(STOPPED), False, Judgement(REPORT, None)),
        (OBSERVED, PropertyState(STOPPED), True, Judgement(REPORT, None)),
    ],
)
def test_it_works(treatment: Treatment, standing: PropertyState, *, repairs: bool, judgement: Judgement) -> None:
    assert judge(CITY, treatment, standing, repairs=repairs, now=NOW) == judgement


@pytest.mark.parametrize(
    ("judgement", "is_repaired"),
    [
        (Judgement(REPAIR, FIRST), True),
        # It was put right an hour ago, and the directory may be late.
        (Judgement(REPORT, ONCE), True),
        (Judgement(REPORT, None), False),
        (Judgement(GIVE_UP, STOPPED), False),
    ],
)
def test_what_is_put_right_or_was_so_just_now_counts_as_repaired(judgement: Judgement, *, is_repaired: bool) -> None:
    assert judgement.is_repaired is is_repaired


def test_what_no_step_puts_right_is_reported() -> None:
    gone = replace(CITY, steps=())

    assert judge(gone, MANAGED, NO_STATE, repairs=True, now=NOW) == Judgement(REPORT, None)


@pytest.mark.parametrize(
    ("standing", "record"),
    [
        (NO_STATE, None),
        (PropertyState(ONCE), ONCE),
        (PropertyState(STOPPED), STOPPED),
        (PropertyState(replace(ONCE, is_in_progress=True)), ONCE),
        (PropertyState(RepairRecord(0, CITY.digest, NOW, is_in_progress=True)), None),
        (PropertyState(STOPPED, is_released=True), None),
        (PropertyState(replace(STOPPED, found_at=NOW - HOLDS_AFTER)), None),
    ],
)
def test_what_does_not_differ_is_remembered_for_a_while(standing: PropertyState, record: RepairRecord | None) -> None:
    assert record_without_difference(standing, now=NOW) == record


@given(nights=st.lists(st.booleans(), max_size=29))
def test_nothing_is_put_right_more_than_twice_within_a_month(nights: list[bool]) -> None:
    """Whatever takes it back, on whichever nights."""
    standing, repaired = NO_STATE, 0
    for night, differs in enumerate(nights):
        now = NOW + timedelta(days=night)
        if differs:
            judgement = judge(CITY, MANAGED, standing, repairs=True, now=now)
            repaired += judgement.verdict is REPAIR
            standing = PropertyState(judgement.record)
        else:
            standing = PropertyState(record_without_difference(standing, now=now))

    assert repaired == min(sum(nights), MOST_REPAIRS)
