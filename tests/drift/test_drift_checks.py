# SPDX-License-Identifier: Apache-2.0
"""Drift checks: their objects, their start, and checks on request."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from chamberlain.core.ids import TenantId
from chamberlain.drift.models import (
    PHASES,
    Batch,
    DriftCheck,
    Position,
    next_night,
    next_phase_start,
    phase_start,
)
from chamberlain.requests.models import RequestKind

pytestmark = pytest.mark.pure

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("asked", "began", "is_requested"),
    [
        (None, None, False),
        (None, NOON, False),
        (NOON, None, True),
        (NOON, NOON - SECOND, True),
        (NOON, NOON, False),
        (NOON, NOON + SECOND, False),
    ],
)
def test_a_check_is_asked_for_until_one_begins(
    asked: datetime | None,
    began: datetime | None,
    is_requested: bool,  # noqa: FBT001 - a case of the table.
) -> None:
    assert DriftCheck(asked_at=asked, began_at=began).is_requested is is_requested


def test_a_check_without_a_position_has_finished() -> None:
    check = DriftCheck(began_at=NOON)
    position = phase_start(PHASES[0])

    assert check.at(position, now=NOON + SECOND) == DriftCheck(position=position, began_at=NOON)
    assert check.at(None, now=NOON + SECOND) == DriftCheck(began_at=NOON, finished_at=NOON + SECOND)


def test_the_phases_follow_each_other_and_cover_all_kinds() -> None:
    assert set(PHASES) == set(RequestKind) - {RequestKind.REPAIR}
    assert [next_phase_start(phase) for phase in PHASES] == [*(phase_start(phase) for phase in PHASES[1:]), None]
    assert phase_start(PHASES[0]) == Position(PHASES[0], datetime(1, 1, 1, tzinfo=UTC), UUID(int=0))


def test_a_part_of_a_stretch_ends_where_its_last_thing_is() -> None:
    places = [Position(PHASES[0], NOON, UUID(int=number)) for number in range(3)]
    batch = Batch([(None, place) for place in places], None)  # type: ignore[misc]

    assert batch.first(3) is batch
    assert batch.first(2) == Batch(batch.managed[:2], places[1])


@pytest.mark.parametrize(
    ("number", "at"),
    [
        (0, timedelta(hours=2)),
        (1, timedelta(hours=2, microseconds=909_206)),
        (7918, timedelta(hours=3, minutes=59, seconds=59, microseconds=90_794)),
        (7919, timedelta(hours=2)),
    ],
)
def test_tenants_are_spread_over_the_hours_from_two_to_four(number: int, at: timedelta) -> None:
    midnight = datetime(2026, 11, 21, tzinfo=UTC)

    assert next_night(TenantId(UUID(int=number)), NOON) == midnight + at


@pytest.mark.parametrize("number", [0, 1, 7918, 7919, 10**30])
def test_each_tenant_has_its_own_time_of_the_night(number: int) -> None:
    tenant = TenantId(UUID(int=number))

    first = next_night(tenant, NOON)

    assert NOON < first <= NOON + timedelta(days=1)
    assert next_night(tenant, first - SECOND) == first
    assert next_night(tenant, first) == first + timedelta(days=1)
