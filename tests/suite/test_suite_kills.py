# SPDX-License-Identifier: Apache-2.0
"""A few kills of each part; `python3 dev.py prove suite-kills` has the full counts."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from deploy.suite.folder import Suite
from deploy.suite.processes import signal_to, tree
from deploy.suite.servers import Starter
from tests.services import wait_until
from tests.suite.suite_directory import SuiteDirectory
from tests.suite.suite_inspection import Findings
from tests.suite.suite_kills import WORKER, RunningSuite, kill_while_creating, running_suite

# Locks that Dovecot leaves end while teams are created.
KILLS = {"dovecot": 10, "slapd": 10, "synapse": 10, WORKER: 10}
BEGUN_WITHIN = 60.0


@pytest.mark.timeout(1200)
def test_it_works_through_kills(suite: Suite, starter: Starter) -> None:
    outcome = kill_while_creating(suite, starter, KILLS)

    assert outcome.is_good, outcome


def test_the_next_worker_completes_objects_with_an_entry_only(suite: Suite, starter: Starter) -> None:
    with running_suite(suite, starter) as running:
        with paused(suite, "dovecot", "synapse"):
            running.send(mailboxes=1, teams=1)
            wait_for_entries(running)
            running.worker.kill()
        running.worker = running.outside.start_worker()

        assert running.wait_for_ends() == []
        assert running.inspect() == Findings()


def test_two_workers_with_one_request_double_nothing(suite: Suite, starter: Starter) -> None:
    with running_suite(suite, starter) as running:
        slow = running.worker
        with paused(suite, "dovecot", "synapse"):
            running.send(mailboxes=1, teams=1)
            wait_for_entries(running)
            slow.pause()
        # It claims the requests when the leases of the paused one have ended.
        running.worker = running.outside.start_worker()
        not_done = running.wait_for_ends()

        # It continues where it was paused, and its jobs end before it does.
        slow.resume()
        stopped = slow.stop()

        assert (not_done, stopped) == ([], 0)
        assert running.inspect() == Findings()


@contextmanager
def paused(suite: Suite, *parts: str) -> Iterator[None]:
    """Stop servers with SIGSTOP for as long as the block runs."""
    processes = [process for part in parts for process in tree(suite, part)]
    signal_to(processes, signal.SIGSTOP)
    try:
        yield
    finally:
        signal_to(processes, signal.SIGCONT)


def wait_for_entries(running: RunningSuite) -> None:
    """Wait until each request has its entry. The rest waits for paused servers."""
    with SuiteDirectory(running.suite) as directory:
        for each in running.wanted:
            wait_until(lambda: directory.find(f"(chamberlainRequestId={each.request_id})"), BEGUN_WITHIN)  # noqa: B023
