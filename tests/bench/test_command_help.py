# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.bench.short_measurement import measured

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]


def test_it_works() -> None:
    rows = measured("command_help", "--rounds", "1")

    assert next(iter(rows)) == "--help"
    assert all(figures["seconds"] > 0 for figures in rows.values())
