# SPDX-License-Identifier: Apache-2.0
"""The command that tries a failover: the node that leads is killed under load, and nothing that matters is lost."""

import json
import subprocess

import pytest

from tests.docs.pages import ROOT


@pytest.mark.heavy
@pytest.mark.timeout(500)
@pytest.mark.needs("patroni")
@pytest.mark.needs("postgresql-15")
def test_it_works() -> None:
    command = [str(ROOT / "deploy" / "try-failover"), "--rounds", "1", "--at-once", "8"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=450)

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["lost"], told["double"], told["notRetrievable"]) == (0, 0, 0)
    assert told["acknowledged"] >= 400
    # Writes need the new leader to know that the old one is gone.
    assert 5 < told["writingAfterSeconds"]["most"] < 30
