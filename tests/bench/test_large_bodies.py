# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.bench.short_measurement import measured

pytestmark = [pytest.mark.heavy, pytest.mark.needs("wrk"), pytest.mark.timeout(300)]


def test_it_works() -> None:
    rows = measured("large_bodies", "--rounds", "1", "--seconds", "3")

    assert list(rows) == ["0 members", "100 members", "1,000 members", "10,000 members", "none, beside large ones"]
