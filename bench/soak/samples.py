# SPDX-License-Identifier: Apache-2.0
"""Take the sample of one minute."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.measuring.database import Measured
from bench.soak.calls import call, unfinished_jobs
from bench.soak.memory import own_megabytes
from bench.soak.tables import Table, tables_of
from tests.services import Service

# Of other roles' connections no more is shown than whose they are, and in which database.
CONNECTED = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND usename IS NOT NULL AND pid <> pg_backend_pid()
"""
# PostgreSQL's log: bytes; entries, among them images of whole pages.
WRITTEN = {
    "wal": "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint",
    "records": "SELECT wal_records FROM pg_stat_wal",
    "images": "SELECT wal_fpi FROM pg_stat_wal",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """The figures of one minute, and the tables at its end."""

    figures: Mapping[str, float]
    tables: Mapping[str, Table]


def sample(service: Service, database: Measured, *, run: int, rate: float, seconds: int) -> Sample:
    """Call for a minute, and look."""
    before = _written(database)
    answered = call(service, run=run, rate=rate, seconds=seconds)
    tables = tables_of(database)
    size = sum(each.size for each in tables.values())
    figures = {
        "rate": answered.rate,
        "p50": answered.p50,
        "p99": answered.p99,
        **own_megabytes(service.process.pid),
        "connections": database.count(CONNECTED),
        "queue": unfinished_jobs(database),
        **{name: (now - before[name]) / answered.requests for name, now in _written(database).items()},
        "dead": sum(each.dead for each in tables.values()),
        "tables": size / 1e6,
        "row": size / max(tables["chamberlain.request"].rows, 1),
        **{f"bytes of {name}": each.size for name, each in tables.items()},
        **{f"rows of {name}": each.rows for name, each in tables.items()},
        **{f"HOT of {name}": each.hot / each.updates for name, each in tables.items() if each.updates},
    }
    return Sample(figures, tables)


def _written(database: Measured) -> dict[str, int]:
    return {name: database.count(statement) for name, statement in WRITTEN.items()}
