# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.bench.short_measurement import measured

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]


def test_it_works() -> None:
    rows = measured("idle", "--rounds", "1", "--number", "5")

    assert list(rows) == ["worker within", "worker apart"]
    assert all(figures["GETs"] >= 1 for figures in rows.values())
