# SPDX-License-Identifier: Apache-2.0
"""Does anything grow when half of what the service can do goes on for half an hour?

Callers ask a service with its worker for groups, mailboxes and teams with a webhook, and look at the newest requests,
at half of the rate that the service can handle. Each minute: rate and latency, memory, tables with their indexes, dead
rows, the log of PostgreSQL, connections. It fails when something in limits.py grows.
"""

import sys
from contextlib import ExitStack

from bench.measuring.arguments import read_arguments
from bench.measuring.database import database_of
from bench.measuring.receiver import receiver
from bench.measuring.report import Row, report
from bench.measuring.services import running_service
from bench.soak.calls import ENVIRONMENT, capacity, drain, held_jobs, set_webhook
from bench.soak.limits import grown, slow
from bench.soak.samples import sample

COLUMNS = {
    "rate": ",.0f", "p50": ".2f", "p99": ".1f", "service": ".1f", "PostgreSQL": ".1f", "connections": ".0f",
    "queue": ",.0f", "wal": ",.0f", "records": ".1f", "images": ".2f", "dead": ",.0f", "tables": ",.0f", "row": ",.0f",
}  # fmt: skip


def main() -> None:
    """Read the arguments of the command line, measure and report. Ends with 1 when something grows."""
    asked = read_arguments(__doc__, quick={"minutes": 2, "seconds": 20}, minutes=30, seconds=60)
    with ExitStack() as stack:
        service = stack.enter_context(running_service(environment=ENVIRONMENT))
        database = database_of(service)
        set_webhook(database, stack.enter_context(receiver("fast")))
        rate = capacity(service, database) / 2
        samples = [
            sample(service, database, run=run, rate=rate, seconds=asked.seconds)
            for run in range(1, 1 + asked.minutes * 60 // asked.seconds)
        ]
        drain(database)
        held = held_jobs(database)
    rows = [Row(f"{number}", [each.figures]) for number, each in enumerate(samples, start=1)]
    report("soak", rows, columns=COLUMNS)
    faults = [*grown(samples), *slow(samples, rate), *([f"{held} jobs are held."] if held else [])]
    print("\n".join(faults) or "Nothing grows.")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
