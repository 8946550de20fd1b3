# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.bench.short_measurement import measured

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]


def test_it_works() -> None:
    rows = measured("lanes", "--rounds", "1", "--number", "10")

    assert list(rows) == ["alone", "beside a slow one"]
    assert [figures["slow calls"] >= 8 for figures in rows.values()] == [False, True]
