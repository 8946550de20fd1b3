# SPDX-License-Identifier: Apache-2.0
"""Refusals list the first hundred faults and say whether there are more."""

from datetime import timedelta

import pytest

from chamberlain.core.errors import (
    MOST_FAULTS,
    BodyInvalid,
    Conflict,
    DatabaseUnavailable,
    Fault,
    KeyReused,
    LimitReached,
    NotFound,
    NotPossible,
    Refusal,
    Stale,
    Unavailable,
)
from chamberlain.core.outages import Outage

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("number", "listed", "are_truncated"),
    [(1, 1, False), (99, 99, False), (100, 100, False), (101, 100, True), (500, 100, True)],
)
@pytest.mark.parametrize("refusal", [BodyInvalid, NotPossible])
def test_a_hundred_faults_are_listed(
    refusal: type[BodyInvalid | NotPossible],
    number: int,
    listed: int,
    are_truncated: bool,  # noqa: FBT001 - a case of the table.
) -> None:
    found = refusal(Fault(f"/{place}", "wrong", "Wrong.") for place in range(number))

    assert MOST_FAULTS == 100
    assert [fault.pointer for fault in found.faults] == [f"/{place}" for place in range(listed)]
    assert found.are_truncated is are_truncated


FAULT = Fault("/name", "wrong", "Wrong.")
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (BodyInvalid([FAULT]), "invalidBody"),
        (NotPossible([FAULT]), "notPossible"),
        (KeyReused(), "idempotencyKeyReused"),
        (NotFound("There is none."), "notFound"),
        (Stale("etagStale", "It has changed."), "etagStale"),
        (Conflict.in_progress(), "idempotencyKeyInProgress"),
        (LimitReached("quotaExceeded", "That is all.", limit="openRequests", after=SECOND), "quotaExceeded"),
        (Unavailable("starting", "Not now."), "starting"),
        (DatabaseUnavailable(Outage.OTHER), "databaseUnavailable"),
    ],
)
def test_a_refusal_has_a_code_and_reads_as_its_detail(refusal: Refusal, code: str) -> None:
    assert refusal.code == code
    assert str(refusal) == refusal.detail


def test_a_refusal_says_when_to_come_back() -> None:
    assert Conflict.in_progress().after == SECOND
    assert Conflict("inUse", "It is needed.").after is None
    assert Unavailable("starting", "Not now.").after == SECOND
    assert LimitReached("quotaExceeded", "That is all.", limit="openRequests", after=5 * SECOND).after == 5 * SECOND
