# SPDX-License-Identifier: Apache-2.0
"""A newer version's migrations run beside processes of this one, under load: no request fails, before or after."""

import asyncio
import shutil
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chamberlain.database.migrate import MigrationSet, migrate, migrate_before
from tests.databases import SETS
from tests.faults.load import Load
from tests.services import outside_database, wait_until

# The migrations of versions: tables grow before the new code, and are tidied up after the old code is gone.
BEFORE = """
ALTER TABLE chamberlain.request ADD COLUMN later text;
ALTER TABLE chamberlain.job ADD COLUMN later integer NOT NULL DEFAULT 0;
CREATE TABLE chamberlain.afterwards (tenant_id uuid NOT NULL, request_id uuid PRIMARY KEY);
"""
AFTER = "ALTER TABLE chamberlain.request ADD CONSTRAINT later_is_short CHECK (length(later) < 100)"
# A function that gets one argument more, which those who run already do not give.
LAST_ARGUMENT = "held bigint[] DEFAULT '{}'"
ALL_NEWER = "SELECT bool_and('later' = ANY (proargnames)) FROM pg_proc WHERE proname = 'accept_requests'"
ALONE = "CREATE INDEX CONCURRENTLY later_request ON chamberlain.request (tenant_id, later)"

Migrate = Callable[[str, list[MigrationSet]], Coroutine[None, None, list[str]]]


@pytest.mark.heavy
def test_it_works(tmp_path: Path) -> None:
    newer = newer_sets(tmp_path)
    with outside_database() as outside, ThreadPoolExecutor(max_workers=1) as beside:
        services = [outside.ready_service("--no-worker") for _ in range(2)]
        outside.start_worker()
        load = Load(services)
        for service in services:
            service.headers()
        stopping: list[bool] = []
        loading = beside.submit(load.run, 1_000_000, lambda: bool(stopping))
        try:
            answered(load, 200)

            before = run(migrate_before, outside.addresses.owner, newer)
            answered(load, 300)
            # Processes of this version can still be started: it does not mind what it does not know.
            later = outside.ready_service("--no-worker")
            after = run(migrate, outside.addresses.owner, newer)
            answered(load, 300)
        finally:
            stopping.append(True)
            loading.result(timeout=60)
        acknowledged = Counter(load.accepted)
        wait_until(lambda: acknowledged <= later.provisioned(), within=60)

        assert before == ["chamberlain/9001_later.pre.sql", "chamberlain/sql/requests.sql"]
        assert after == ["chamberlain/9002_short.post.sql", "chamberlain/9003_index.post.alone.sql"]
        assert (load.refused, load.unanswered) == ([], 0)
        assert outside.value(ALL_NEWER) is True
        assert set(later.provisioned().values()) == {1}


def newer_sets(folder: Path) -> list[MigrationSet]:
    """The migrations of a later version."""
    ours, *others = SETS
    migrations = shutil.copytree(ours.migrations, folder / "migrations")
    functions = shutil.copytree(ours.functions, folder / "sql")
    (migrations / "9001_later.pre.sql").write_text(BEFORE)
    (migrations / "9002_short.post.sql").write_text(AFTER)
    (migrations / "9003_index.post.alone.sql").write_text(ALONE)
    changed = functions / "requests.sql"
    before = changed.read_text()
    after = before.replace(LAST_ARGUMENT, f"{LAST_ARGUMENT}, later text DEFAULT NULL\n")
    assert after != before
    changed.write_text(after)
    return [MigrationSet(ours.name, migrations, functions), *others]


def run(migrate: Migrate, owner: str, sets: list[MigrationSet]) -> list[str]:
    """Run migrations, and return their names."""
    return asyncio.run(migrate(owner, sets))


def answered(load: Load, more: int) -> None:
    """Wait until so many more were accepted."""
    wanted = len(load.accepted) + more
    wait_until(lambda: len(load.accepted) >= wanted, within=60, otherwise=lambda: str(load.refused[-3:]))
