# SPDX-License-Identifier: Apache-2.0
from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.embedded.identity.throttling import (
    LIMITS,
    Blocked,
    Counted,
    Failures,
    Limit,
    count_attempt,
    expires_at,
    undo_attempt,
)

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
LIMIT = Limit(most=3, within=timedelta(minutes=15), blocked_for=timedelta(minutes=5))
EARLIER, UNTIL = NOW - timedelta(minutes=10), NOW + timedelta(minutes=5)
LONG_AGO = NOW - timedelta(minutes=15)
A_MOMENT = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("known", "outcome"),
    [
        (None, Failures(1, NOW, None)),
        (Failures(0, NOW, None), Failures(1, NOW, None)),
        (Failures(1, EARLIER, None), Failures(2, EARLIER, None)),
        # The last possible attempt starts a block.
        (Failures(2, EARLIER, None), Failures(3, EARLIER, UNTIL)),
        (Failures(3, EARLIER, UNTIL), Blocked(UNTIL)),
        (Failures(3, EARLIER, NOW + A_MOMENT), Blocked(NOW + A_MOMENT)),
        # The block has ended, so the count starts again.
        (Failures(3, EARLIER, NOW), Failures(1, NOW, None)),
        (Failures(3, EARLIER, NOW - A_MOMENT), Failures(1, NOW, None)),
        # Old failures do not count.
        (Failures(2, LONG_AGO, None), Failures(1, NOW, None)),
        (Failures(2, LONG_AGO + A_MOMENT, None), Failures(3, LONG_AGO + A_MOMENT, UNTIL)),
    ],
)  # fmt: skip
def test_it_works(known: Failures | None, outcome: Failures | Blocked) -> None:
    assert count_attempt(known, LIMIT, NOW) == outcome


@pytest.mark.parametrize(
    ("known", "left"),
    [
        (Failures(3, EARLIER, UNTIL), Failures(2, EARLIER, None)),
        (Failures(1, EARLIER, None), Failures(0, EARLIER, None)),
        (Failures(0, NOW, None), Failures(0, NOW, None)),
    ],
)
def test_a_success_is_subtracted(known: Failures, left: Failures) -> None:
    assert undo_attempt(known) == left


@pytest.mark.parametrize(
    ("known", "until"),
    [(Failures(3, EARLIER, UNTIL), UNTIL), (Failures(1, EARLIER, None), EARLIER + timedelta(minutes=15))],
)
def test_it_expires(known: Failures, until: datetime) -> None:
    assert expires_at(known, LIMIT) == until


def test_every_counter_has_a_limit() -> None:
    assert LIMITS.keys() == set(Counted)
