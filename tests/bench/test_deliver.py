# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.bench.short_measurement import measured

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]


def test_it_works() -> None:
    rows = measured("deliver", "--rounds", "1", "--number", "300")

    assert list(rows) == ["alone", "beside one that hangs"]
