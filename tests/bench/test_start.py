# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.bench.short_measurement import measured

pytestmark = [pytest.mark.heavy, pytest.mark.needs("wrk"), pytest.mark.timeout(300)]


def test_it_works() -> None:
    rows = measured("start", "--rounds", "1", "--seconds", "3")

    assert list(rows) == ["cold start", "warm start", "memory at rest", "memory under load", "memory at rest again"]
    # A PostgreSQL and a Python cannot be had for less.
    assert rows["memory at rest"]["PostgreSQL"] > 10
    assert rows["memory at rest"]["service"] > 30
