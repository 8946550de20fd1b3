# SPDX-License-Identifier: Apache-2.0
import pytest

from bench.console import PATHS
from tests.bench.short_measurement import measured

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]


def test_it_works() -> None:
    rows = measured("console", "--rounds", "1", "--number", "5", "--objects", "1")

    assert rows.keys() == {*PATHS}
    assert all(0 < figures["p50"] <= figures["p99"] for figures in rows.values())
