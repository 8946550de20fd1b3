# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.bench.short_measurement import measured

pytestmark = [pytest.mark.heavy, pytest.mark.needs("wrk"), pytest.mark.timeout(300)]


def test_it_works() -> None:
    rows = measured("submit_group", "--rounds", "1", "--seconds", "2", "--connections", "4")

    assert [name.partition(",")[0] for name in rows] == [
        "pgbench",
        "ordinary way",
        "no worker",
        "worker within",
        "worker apart",
    ]
