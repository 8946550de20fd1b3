# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.bench.short_measurement import measured

pytestmark = [pytest.mark.heavy, pytest.mark.needs("wrk"), pytest.mark.timeout(300)]


def test_it_works() -> None:
    rows = measured("tenants", "--rounds", "1", "--seconds", "2", "--numbers", "1", "3", "--many", "50", "--idle", "2")

    assert list(rows) == ["1 tenant", "3 tenants"]
