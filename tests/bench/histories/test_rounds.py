# SPDX-License-Identifier: Apache-2.0
"""A few rounds of the proof `history`: no fault breaks a promise, and the checker finds what the control loses."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]


def test_it_works() -> None:
    # PostgreSQL is killed, and a worker is restarted.
    command = [sys.executable, "-m", "bench.proofs.history", "--rounds", "2", "--seed", "25"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)

    # It ends with 1 for a violation, and for a control without one.
    assert done.returncode == 0, done.stdout + done.stderr
