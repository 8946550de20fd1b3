import subprocess
import sys

import pytest

pytestmark = pytest.mark.heavy


def test_it_works() -> None:
    options = ("--rounds", "1", "--number", "300")

    done = subprocess.run(
        [sys.executable, "-m", "bench.deliver", *options], capture_output=True, text=True, check=False, timeout=100
    )

    assert done.returncode == 0, done.stderr
    measured = [line.split("  ")[0] for line in done.stdout.splitlines() if line.startswith(("alone", "beside"))]
    assert measured == ["alone", "beside one that hangs"]
