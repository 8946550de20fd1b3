# SPDX-License-Identifier: Apache-2.0
"""How much of the limit does writing alone leave to a server that does nothing else?

In each round, at each number of connections, in turn: pgbench with one transaction a request and the same rows, a
server that reads nothing and writes what the service would write, and the service without a worker. bench/README.md
says what the columns mean.
"""

import socket
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from bench.measuring.arguments import read_arguments
from bench.measuring.comparison import Rounds, in_turn, rows_of, warm_up
from bench.measuring.contestant import Contestant, contestant_of
from bench.measuring.limit import prepare_limit
from bench.measuring.report import report
from bench.measuring.services import running_services
from bench.submit_group import QUESTION
from tests.services import free_port, wait_until

COLUMNS = {"ratio": ".2f", "rate": ",.0f", "p50": ".2f", "p99": ".2f", "cpu": ".0f"}
QUICK = {"rounds": 1, "seconds": 1, "connections": (16,)}
READY_WITHIN = 30.0


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    asked = read_arguments(__doc__, quick=QUICK, rounds=3, seconds=2, connections=(1, 16, 64))
    rounds: Rounds = defaultdict(list)
    with running_services(("--no-worker",)) as (service,):
        whole = contestant_of("service", service, has_worker=False)
        prepare_limit(QUESTION.limit, whole.database)
        with _bare(whole) as bare:
            warm_up(QUESTION, [bare, whole], seconds=min(asked.seconds, 2))
            for _ in range(asked.rounds):
                for connections in asked.connections:
                    in_turn(QUESTION, [bare, whole], rounds, connections=connections, seconds=asked.seconds)
    report("bare", rows_of(rounds), columns=COLUMNS)


@contextmanager
def _bare(beside: Contestant) -> Iterator[Contestant]:
    """The server that reads nothing, on the database of a service that is idle meanwhile."""
    port = free_port()
    command = [sys.executable, "-m", "bench.bare.server", beside.database.application, str(port)]
    with subprocess.Popen(command) as process:
        try:
            wait_until(lambda: _listens(port), READY_WITHIN)
            url, processes = f"http://127.0.0.1:{port}", [process.pid, *beside.processes]
            yield Contestant("bare", beside.service, beside.database, url, processes, has_worker=False)
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    main()
