import subprocess
import sys

import pytest

pytestmark = [pytest.mark.heavy, pytest.mark.needs("wrk")]


def test_it_works() -> None:
    options = ("--rounds", "1", "--seconds", "1", "--connections", "4")

    done = subprocess.run(
        [sys.executable, "-m", "bench.submit_mailbox", *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert done.returncode == 0, done.stderr
    measured = [line.split(",")[0] for line in done.stdout.splitlines() if ", 4 " in line]
    assert measured == ["pgbench", "no worker", "worker within", "worker apart"]
