# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.bench.short_measurement import measured

pytestmark = [pytest.mark.heavy, pytest.mark.needs("wrk"), pytest.mark.timeout(300)]


def test_it_works() -> None:
    rows = measured("bad_requests", "--rounds", "1", "--seconds", "2")

    assert list(rows) == ["alone", "beside good ones", "beside bad ones"]
    assert rows["beside bad ones"]["others"] > 0
