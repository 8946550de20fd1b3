# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.bench.short_measurement import measured

pytestmark = [pytest.mark.heavy, pytest.mark.needs("wrk"), pytest.mark.timeout(300)]


def test_it_works() -> None:
    rows = measured("growth", "--rounds", "1", "--seconds", "2", "--sizes", "100", "300")

    assert list(rows) == ["100", "300"]
    assert all(figures["made"] > 0 for figures in rows.values())
