# SPDX-License-Identifier: Apache-2.0
"""The limit: what PostgreSQL alone does with the same rows, one transaction a request, by pgbench.

The same running server as the service's, the same settings, the same tables with their indexes and row-level security,
in a schema of their own (schema.sql).
"""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.measuring.database import Measured
from chamberlain.embedded.postgres import find_programs

SCHEMA = Path(__file__).with_name("schema.sql")
# The embedded database takes a hundred connections; more clients than these make no more of one transaction a request.
MOST_CLIENTS = 64
# Its clients connect within the time that it has.
LEAST_SECONDS = 2
# The part of its transactions whose latencies it writes down.
LOGGED = 0.2


@dataclass(frozen=True, slots=True)
class Limit:
    """The pgbench run: `tables` prepares the schema, `transaction` is repeated by each client."""

    tables: Path
    transaction: Path


@dataclass(frozen=True, slots=True)
class Reached:
    """How far pgbench came; latencies are in milliseconds."""

    rate: float
    p50: float
    p99: float
    transactions: float


def prepare_limit(limit: Limit, database: Measured) -> None:
    """Make the schema with its tables."""
    database.execute(SCHEMA.read_text() + limit.tables.read_text())


def run_limit(limit: Limit, database: Measured, *, connections: int, seconds: int) -> Reached:
    """Let pgbench do its best for so long, by as many clients, or the most that the database takes."""
    command = [
        str(find_programs(None) / "pgbench"),
        "--no-vacuum",
        "--protocol=prepared",
        f"--file={limit.transaction}",
    ]
    command += [f"--client={min(connections, MOST_CLIENTS)}", "--jobs=1"]
    with TemporaryDirectory(prefix="ch-limit-") as folder:
        # A line for each would be work that the service has none of.
        command += ["--log", f"--log-prefix={folder}/log", f"--sampling-rate={LOGGED}"]
        command += [f"--time={max(seconds, LEAST_SECONDS)}", database.application]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + 60)
        if done.returncode:
            raise SystemExit(f"pgbench failed: {done.stderr}")
        latencies = sorted(_latencies(Path(folder)))
    return Reached(
        rate=_figure(r"tps = ([\d.]+)", done.stdout),
        p50=latencies[len(latencies) // 2],
        p99=latencies[len(latencies) * 99 // 100],
        transactions=_figure(r"actually processed: (\d+)", done.stdout),
    )


def _latencies(folder: Path) -> Iterator[float]:
    """In milliseconds. A line has client, number, microseconds, and more."""
    for log in folder.iterdir():
        for line in log.read_text().splitlines():
            yield int(line.split()[2]) / 1e3


def _figure(pattern: str, said: str) -> float:
    found = re.search(pattern, said)
    if found is None:
        raise SystemExit(f"pgbench did not say what was looked for: {said}")
    return float(found[1])
