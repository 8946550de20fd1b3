# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from pathlib import Path

from deploy.suite.folder import opened
from deploy.suite.processes import tree
from tests.suite.suite_folders import FOLDERS, ROOT, end_suites_of_killed_runs, started_suite

# Starts a server, says its folder, and waits until it is killed.
RUN = """
import sys
from tests.suite.suite_folders import started_suite
with started_suite(("slapd",)) as suite:
    print(suite.folder, flush=True)
    sys.stdin.read()
"""


def test_it_works() -> None:
    with started_suite(("slapd",)) as suite:
        processes = tree(suite, "slapd")
        end_suites_of_killed_runs()
        assert processes == tree(suite, "slapd")

    assert not suite.folder.exists()
    assert not any(Path(f"/proc/{each.pid}/exe").exists() for each in processes)


def test_the_suite_of_a_killed_run_is_ended() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", RUN], cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as run:
        assert run.stdout is not None
        folder = Path(run.stdout.readline().strip())
        processes = tree(opened(folder), "slapd")
        run.kill()

    end_suites_of_killed_runs()

    assert processes
    assert not any(Path(f"/proc/{each.pid}/exe").exists() for each in processes)
    assert list(FOLDERS.glob(f"suite-*-{folder.name.rpartition('-')[2]}")) == []
