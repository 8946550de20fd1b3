# SPDX-License-Identifier: Apache-2.0
"""Faults that hit one process, or the connections to the database, while clients call."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from bench.killing.installation import Installation, installed
from tests.services import Process, Service, look_up, wait_until

BACK_WITHIN = 60.0
# Seconds for which a process is stopped. A worker is stopped for longer than its leases last, which is 10 s.
SHORTEST_STOP, LONGEST_STOP, STOP_PAST_LEASE = 0.5, 3.0, 11.0
# Connections that one round cuts, of those that are at work.
CUTS = 10
CUT = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE application_name = $1 AND (state <> 'idle' OR wait_event IS DISTINCT FROM 'ClientRead')
"""


@dataclass(slots=True)
class Rig:
    """Two API processes, two workers and PostgreSQL. `random` chooses which process a fault hits, and for how long."""

    installation: Installation
    services: list[Service]
    # Each round gives it the seed of the round.
    random: Random = field(default_factory=Random)

    @property
    def workers(self) -> list[Process]:
        """The workers as they are now."""
        return self.installation.workers

    def replace_service(self, place: int) -> None:
        """Start an API process in place of one that ended."""
        self.services[place] = self.installation.start_again(self.services[place])
        self.services[place].wait_until_ready(BACK_WITHIN)


@contextmanager
def rigged(*, loses: bool = False) -> Iterator[Rig]:
    """Run an installation with two API processes. One that `loses` does not wait for the disk when it commits."""
    with installed(workers=2, loses=loses) as installation:
        other = installation.outside.ready_service("--no-worker")
        yield Rig(installation, [installation.service, other])


def kill_service(rig: Rig) -> None:
    """End an API process by SIGKILL and start another in its place."""
    place = rig.random.randrange(len(rig.services))
    rig.services[place].kill()
    rig.replace_service(place)


def stop_service(rig: Rig) -> None:
    """End an API process by SIGTERM and start another in its place."""
    place = rig.random.randrange(len(rig.services))
    rig.services[place].stop()
    rig.replace_service(place)


def kill_worker(rig: Rig) -> None:
    """End a worker by SIGKILL and start another one."""
    rig.workers.pop(0).kill()
    rig.installation.add_worker()


def stop_worker(rig: Rig) -> None:
    """End a worker by SIGTERM and start another one."""
    rig.workers.pop(0).stop()
    rig.installation.add_worker()


def kill_postgres(rig: Rig) -> None:
    """End PostgreSQL by SIGKILL; its supervisor starts it again."""
    os.kill(rig.installation.server.pid, signal.SIGKILL)


def pause_service(rig: Rig) -> None:
    """Stop an API process by SIGSTOP for a while."""
    _pause([rig.random.choice(rig.services).process.pid], _some_seconds(rig))


def pause_worker(rig: Rig) -> None:
    """Stop a worker for longer than its leases last, so that the other one takes its jobs."""
    _pause([rig.random.choice(rig.workers).process.pid], STOP_PAST_LEASE)


def pause_postgres(rig: Rig) -> None:
    """Stop PostgreSQL with all its processes for a while."""
    server = rig.installation.server.pid
    children = Path(f"/proc/{server}/task/{server}/children").read_text(encoding="ascii")
    _pause([server, *map(int, children.split())], _some_seconds(rig))


def cut_connections(rig: Rig) -> None:
    """Let PostgreSQL end connections of API and workers that are at work."""
    addresses = rig.installation.outside.addresses
    _cut(addresses.application, "chamberlain application")
    _cut(addresses.worker, "chamberlain worker")


FAULTS: Mapping[str, Callable[[Rig], None]] = {
    "kill -9 of the API": kill_service,
    "kill -9 of a worker": kill_worker,
    "kill -9 of PostgreSQL": kill_postgres,
    "connections cut": cut_connections,
    "SIGSTOP of the API": pause_service,
    "SIGSTOP of a worker": pause_worker,
    "SIGSTOP of PostgreSQL": pause_postgres,
    "SIGTERM of the API": stop_service,
    "SIGTERM of a worker": stop_worker,
}


def _cut(address: str, name: str) -> None:
    cut = 0

    def enough() -> bool:
        nonlocal cut
        cut += int(str(look_up(address, CUT, name)))
        return cut >= CUTS

    wait_until(enough, BACK_WITHIN, lambda: f"{cut} were cut.")


def _pause(processes: list[int], seconds: float) -> None:
    stopped = []
    try:
        for each in processes:
            try:
                os.kill(each, signal.SIGSTOP)
            except ProcessLookupError:
                # A backend may end between the look and the signal.
                continue
            stopped.append(each)
        time.sleep(seconds)
    finally:
        for each in stopped:
            os.kill(each, signal.SIGCONT)


def _some_seconds(rig: Rig) -> float:
    return rig.random.uniform(SHORTEST_STOP, LONGEST_STOP)
