# SPDX-License-Identifier: Apache-2.0
"""The power is cut under load: everything acknowledged is there once, and a control that does not flush loses."""

import pytest

from bench.killing.acknowledged import Losses
from bench.killing.power import COMMITS_UNFLUSHED
from bench.proofs.power_cuts import lose, prove

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.needs("root"),
    pytest.mark.needs("loop"),
    # Seconds without load from others; a busy machine starts PostgreSQL and the service slowly.
    pytest.mark.timeout(300),
]

CUTS = 2


def test_it_works() -> None:
    cuts = prove(CUTS, callers=8)

    assert [each.losses for each in cuts] == [Losses(lost=0, double=0, not_made=0, violations=0)] * CUTS
    assert all(each.acknowledged >= 100 for each in cuts)


def test_a_database_that_does_not_wait_for_its_disk_loses() -> None:
    assert lose(COMMITS_UNFLUSHED, 8) != ""
