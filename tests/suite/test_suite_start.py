# SPDX-License-Identifier: Apache-2.0
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.suite.folder import Suite, created
from deploy.suite.processes import end, is_running, tree
from deploy.suite.servers import PARTS, Starter
from tests.suite.suite_folders import SYNAPSE, suite_folder

# The bound for a machine with the packages.
MOST_SECONDS = 15.0


@pytest.fixture
def other_suite() -> Iterator[Suite]:
    """A suite beside that of the session, which was never started."""
    with suite_folder() as folder:
        yield created(folder)


def test_it_works_within_fifteen_seconds(other_suite: Suite) -> None:
    began = time.monotonic()
    Starter(other_suite, SYNAPSE).start(PARTS)
    seconds = time.monotonic() - began

    assert all(is_running(other_suite, part) for part in PARTS)
    assert seconds < MOST_SECONDS


def test_a_stop_leaves_no_process_and_a_start_keeps_the_ports(other_suite: Suite) -> None:
    starter = Starter(other_suite, SYNAPSE)
    starter.start(PARTS)
    started = [process for part in PARTS for process in tree(other_suite, part)]
    ports = {name: value for name, value in other_suite.values.items() if name.endswith("_PORT")}

    end(other_suite, PARTS)

    assert started
    assert not any(Path(f"/proc/{process.pid}/exe").exists() for process in started)
    starter.start(PARTS)
    again = created(other_suite.folder)
    assert {name: value for name, value in again.values.items() if name.endswith("_PORT")} == ports
