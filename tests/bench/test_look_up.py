# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.bench.short_measurement import measured

pytestmark = [pytest.mark.heavy, pytest.mark.needs("wrk"), pytest.mark.timeout(300)]


def test_it_works() -> None:
    rows = measured("look_up", "--rounds", "1", "--seconds", "2", "--sizes", "100", "300")

    assert {name.rpartition(", ")[2] for name in rows} == {"100", "300"}
    assert {name.rpartition(", ")[0] for name in rows} == {
        "group by requestId",
        "groups of the directory",
        "groups of the directory, deep",
        "managed groups",
        "managed groups, deep",
        "request",
        "requests",
        "requests, deep",
    }
    assert all(figures["rate"] > 0 for figures in rows.values())
