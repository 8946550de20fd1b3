# SPDX-License-Identifier: Apache-2.0
"""Run migrations and create functions.

Migrations are plain SQL files that run once. A file is named `NNNN_name.pre.sql` (run before the new code starts),
`NNNN_name.post.sql` (after the old code is gone) or `NNNN_name.post.alone.sql` (outside a transaction, for statements
that require it). A file that was run is never edited: its checksum is stored. Functions are created again when their
text changes. Each schema has its own set of files.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from pathlib import Path

import asyncpg

from chamberlain.core.health import HealthCheck, fault, healthy, warning
from chamberlain.database.connection import Hosts
from chamberlain.database.transactions import Connection

# Most names in a sentence; the others are counted.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class MigrationState:
    """Drift between the database and the files, by file name.

    `missing` have to run before this version starts, `later` may run when older versions are gone, `changed` ran with
    another text, and `unknown` ones belong to a newer version.
    """

    missing: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def judge_migrations(state: MigrationState, *, is_embedded: bool) -> Sequence[HealthCheck]:
    """Report each difference between the database and the files."""
    run = "Start `chamberlain serve`, which runs them." if is_embedded else "Run `chamberlain migrate`."
    found = []
    if state.changed:
        cure = "Put the old text of these files back; what shall be another way comes with a new file."
        found.append(fault("migrations", f"{_listed(state.changed)} were run with another text.", cure))
    if state.missing:
        found.append(fault("migrations", f"{_listed(state.missing)} have not been run.", run))
    if state.later:
        seen = f"{_listed(state.later)} are left to be run when no older version of the service runs any more."
        found.append(warning("migrations", seen, run))
    if found:
        return found
    newer = f" {len(state.unknown)} are of a newer version, which does no harm." if state.unknown else ""
    return [healthy("migrations", f"All files of this version were run.{newer}")]


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


LOCK_PATIENCE_MS = 300
LOCK_PAUSE = timedelta(seconds=1)
LOCK_ATTEMPTS = 60
LOCK = 0x6368616D  # "cham": the advisory lock of the migration runner.

LEDGER = """
CREATE SCHEMA IF NOT EXISTS migration;
CREATE TABLE IF NOT EXISTS migration.applied (
    set_name text NOT NULL,
    file_name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (set_name, file_name, checksum)
);
GRANT USAGE ON SCHEMA migration TO chamberlain_application, chamberlain_worker;
GRANT SELECT ON migration.applied TO chamberlain_application, chamberlain_worker;
"""

NOTE = """
INSERT INTO migration.applied (set_name, file_name, checksum) VALUES ($1, $2, $3)
ON CONFLICT (set_name, file_name, checksum) DO UPDATE SET applied_at = excluded.applied_at
"""

# Needed by an external PostgreSQL before the first run; a role that may create roles runs it.
ROLES = """\
-- Give each role a password, or make your own login roles members of these three.
CREATE ROLE chamberlain_owner LOGIN;
CREATE ROLE chamberlain_application LOGIN;
CREATE ROLE chamberlain_worker LOGIN;
CREATE DATABASE chamberlain OWNER chamberlain_owner ENCODING 'UTF8' TEMPLATE template0;
"""


class Phase(Enum):
    """The time to run a file, relative to the new code."""

    PRE = ".pre.sql"
    POST = ".post.sql"
    POST_ALONE = ".post.alone.sql"


@dataclass(frozen=True, slots=True)
class MigrationSet:
    """The files of one schema.

    `migrations` run once each, `functions` whenever their text changes.
    """

    name: str
    migrations: Path
    functions: Path


@dataclass(frozen=True, slots=True)
class MigrationFile:
    """One file with its set and its text."""

    set_name: str
    name: str
    text: str
    phase: Phase | None

    @property
    def checksum(self) -> str:
        """SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


class MigrationRefused(Exception):
    """The database and the files do not match.

    The sentence says how to fix it.
    """


async def migrate(owner_address: str, sets: Sequence[MigrationSet]) -> list[str]:
    """Migrate the database as its owner.

    Returns the names of the files that ran.
    """
    return await _run(owner_address, known_files(sets))


async def migrate_before(owner_address: str, sets: Sequence[MigrationSet]) -> list[str]:
    """Migrate while processes of the previous version run.

    Files that need their end are left out.
    """
    return await _run(owner_address, (file for each in sets for file in _before(list(known_files([each])))))


async def _run(owner_address: str, files: Iterable[MigrationFile]) -> list[str]:
    connection = await _connect(owner_address)
    try:
        await connection.execute("SELECT pg_advisory_lock($1)", LOCK)
        await _require_roles(connection)
        await connection.execute(LEDGER)
        done = await _applied(connection)
        return [
            f"{file.set_name}/{file.name}"
            for file in files
            if await _apply(connection, file, done.get((file.set_name, file.name)))
        ]
    finally:
        await connection.close()


async def missing_files(connection: Connection, sets: Sequence[MigrationSet]) -> list[str]:
    """List the files that must run before this code may start.

    These are all `pre` files and functions that are missing or have another text. Newer files that this code does not
    know are no problem.
    """
    if await connection.fetchval("SELECT to_regclass('migration.applied')") is None:
        return [f"{file.set_name}/{file.name}" for file in known_files(sets)]
    rows = await connection.fetch("SELECT set_name, file_name, checksum FROM migration.applied")
    # Newer code beside this process may have replaced a function that had this text before.
    ever = {(row["set_name"], row["file_name"], row["checksum"]) for row in rows}
    return [
        f"{file.set_name}/{file.name}"
        for file in known_files(sets)
        if file.phase in (Phase.PRE, None) and (file.set_name, file.name, file.checksum) not in ever
    ]


async def applied_files(connection: Connection) -> list[str]:
    """List the migrations that ran, without functions."""
    rows = await connection.fetch(
        "SELECT DISTINCT set_name || '/' || file_name AS name FROM migration.applied WHERE file_name NOT LIKE 'sql/%' "
        "ORDER BY 1"
    )
    return [row["name"] for row in rows]


async def migration_state(connection: Connection, sets: Sequence[MigrationSet]) -> MigrationState:
    """Compare the database with the files. Writes nothing."""
    missing = await missing_files(connection, sets)
    if await connection.fetchval("SELECT to_regclass('migration.applied')") is None:
        return MigrationState(missing=tuple(missing))
    done = {f"{set_name}/{name}": checksum for (set_name, name), checksum in (await _applied(connection)).items()}
    known = {f"{file.set_name}/{file.name}": file for file in known_files(sets)}
    once = {name: file for name, file in known.items() if file.phase is not None}
    changed = tuple(name for name, file in once.items() if name in done and done[name] != file.checksum)
    return MigrationState(
        missing=tuple(name for name in missing if name not in changed),
        later=tuple(name for name, file in once.items() if file.phase is not Phase.PRE and name not in done),
        changed=changed,
        unknown=tuple(name for name in done if name not in known),
    )


def script(sets: Sequence[MigrationSet]) -> str:
    """Print a psql script for an empty server.

    It has roles, database, files and ledger.
    """
    parts = [ROLES, "\\connect chamberlain", "SET ROLE chamberlain_owner;", LEDGER]
    for file in known_files(sets):
        names = f"'{file.set_name}', '{file.name}', '{file.checksum}'"
        note = f"INSERT INTO migration.applied VALUES ({names});"  # noqa: S608 - names and checksums of our own files.
        parts += [f"-- {file.set_name}/{file.name}", file.text, note]
    return "\n".join(parts)


def known_files(sets: Sequence[MigrationSet]) -> Iterator[MigrationFile]:
    """List all files in the order of their runs."""
    for each in sets:
        for path in sorted(each.migrations.glob("*.sql")):
            yield MigrationFile(each.name, path.name, path.read_text(encoding="utf-8"), _phase(path.name))
        for path in sorted(each.functions.glob("*.sql")):
            yield MigrationFile(each.name, f"sql/{path.name}", path.read_text(encoding="utf-8"), None)


async def _connect(owner_address: str) -> Connection:
    try:
        connection: Connection = await Hosts(owner_address).connect()
    except (OSError, asyncpg.PostgresError, asyncpg.InternalClientError) as error:
        # The message of the server or the system contains no password.
        raise MigrationRefused(
            f"The database cannot be reached as its owner: {str(error) or type(error).__name__}. "
            "Start it, or fix the owner's address."
        ) from error
    return connection


def _before(files: Sequence[MigrationFile]) -> Iterator[MigrationFile]:
    """List the files that may run beside old processes.

    These are all but the last `post` files. A `post` file before a `pre` file belongs to an older version, whose
    processes are gone.
    """
    last = max((number for number, file in enumerate(files) if file.phase is Phase.PRE), default=-1)
    for number, file in enumerate(files):
        if number < last or file.phase in {Phase.PRE, None}:
            yield file


def _phase(name: str) -> Phase:
    for phase in (Phase.POST_ALONE, Phase.PRE, Phase.POST):
        if name.endswith(phase.value):
            return phase
    raise MigrationRefused(f"{name} is no migration: its name must end in .pre.sql, .post.sql or .post.alone.sql.")


async def _require_roles(connection: Connection) -> None:
    found = await connection.fetchval(
        "SELECT count(*) FROM pg_roles WHERE rolname IN ('chamberlain_application', 'chamberlain_worker')"
    )
    if found != 2:
        raise MigrationRefused(
            "The roles chamberlain_application and chamberlain_worker do not exist. "
            "Run what `chamberlain migrate --print` shows first, as a role that may create roles."
        )


async def _applied(connection: Connection) -> dict[tuple[str, str], str]:
    """Return the checksum of the last run of each file."""
    rows = await connection.fetch("SELECT set_name, file_name, checksum FROM migration.applied ORDER BY applied_at")
    return {(row["set_name"], row["file_name"]): row["checksum"] for row in rows}


async def _apply(connection: Connection, file: MigrationFile, before: str | None) -> bool:
    if before == file.checksum:
        return False
    if before is not None and file.phase is not None:
        raise MigrationRefused(
            f"{file.set_name}/{file.name} was run before with another text. Put the old text back and add a new file."
        )
    if file.phase is Phase.POST_ALONE:
        await connection.execute(file.text)
        await _note(connection, file)
        return True
    await _apply_patiently(connection, file)
    return True


async def _apply_patiently(connection: Connection, file: MigrationFile) -> None:
    # A waiting lock blocks all later users of the table. So the wait is short, and others run between the retries.
    for _ in range(LOCK_ATTEMPTS):
        with suppress(asyncpg.LockNotAvailableError):
            async with connection.transaction():
                await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_PATIENCE_MS}ms'")
                await connection.execute(file.text)
                await _note(connection, file)
            return
        await asyncio.sleep(LOCK_PAUSE.total_seconds())
    raise MigrationRefused(
        f"{file.set_name}/{file.name} needs a table that others hold all the time, as a long report or a dump does. "
        "Nothing of it was done: run it again when they are through."
    )


async def _note(connection: Connection, file: MigrationFile) -> None:
    await connection.execute(NOTE, file.set_name, file.name, file.checksum)
