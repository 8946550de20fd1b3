# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.bench.short_measurement import measured

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]


def test_it_works() -> None:
    # It fails by itself where something was lost, and where the control has lost nothing.
    rows = measured("kills", "--rounds", "2")

    assert list(rows) == ["API", "worker", "PostgreSQL", "control"]
    assert all(rows[name]["acknowledged"] >= 100 for name in rows)
    # Leases last for ten seconds, unless the dead one had none; a busy machine takes its time.
    assert rows["worker"]["seconds"] < 30
    assert rows["PostgreSQL"]["seconds"] < 30
