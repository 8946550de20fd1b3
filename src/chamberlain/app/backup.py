"""Backups of the embedded database: taken beside the running service, and put into a data folder that has none."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

import chamberlain
from chamberlain.app.backup_file import (
    BackupFile,
    BackupUnusable,
    Head,
    folder_beside,
    open_backup,
    require_free,
    write_backup,
)
from chamberlain.app.clock_and_ids import now
from chamberlain.app.commands.keys_sealed_keys import IdentityKeys
from chamberlain.app.data_folder import DataFolder, open_data_folder
from chamberlain.app.databases import migration_sets, opened_at_hand
from chamberlain.app.doctor import store as doctor_store
from chamberlain.app.errors import expected_faults
from chamberlain.cli.errors import told_faults
from chamberlain.database.migrate import applied_files, known_files
from chamberlain.database.transactions import Database, open_database
from chamberlain.embedded import postgres
from chamberlain.embedded.postgres import AlreadyRunning, StillRunning
from chamberlain.secrets.keys_file import KeysFile
from chamberlain.settings import Settings


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was taken or put back: when it was taken, and the ids of the keys that something in it is sealed
    with; `missing` are those that the keys file lacks."""

    taken_at: str
    keys: tuple[str, ...]
    missing: tuple[str, ...]


async def take_backup(settings: Settings, path: Path) -> Backup:
    """Write all that the embedded database has, as it is at the end of this. Raises CannotStart."""
    with expected_faults():
        _require_embedded(settings)
        require_free(path)
        async with opened_at_hand(settings) as database:
            with folder_beside(path) as parts:
                await postgres.back_up(DataFolder(settings.data_dir).postgres, parts, programs=settings.postgres_bin)
                head = await _head(settings, database)
                await asyncio.to_thread(write_backup, path, head, [parts / name for name in postgres.FILES])
        return Backup(head.taken_at, head.keys, _missing(settings, head.keys))


async def restore_backup(settings: Settings, path: Path) -> Backup:
    """Put a backup where there is no database yet, and see that it starts. Raises CannotStart; then no database is
    there."""
    with expected_faults():
        _require_embedded(settings)
        if postgres.has_data(DataFolder(settings.data_dir).postgres):
            raise BackupUnusable(
                f"There is a database in {settings.data_dir} already. Name another --data-dir, or move this one away."
            )
        backup = await asyncio.to_thread(open_backup, path)
        _require_fitting(settings, backup)
        folder = open_data_folder(settings.data_dir)
        await postgres.restore(folder.postgres, backup.part, run_as=settings.postgres_user)
        keys = await _started_once(settings, folder)
        return Backup(backup.head.taken_at, keys, _missing(settings, keys))


async def _head(settings: Settings, database: Database) -> Head:
    keys = await _sealing_keys(database)
    async with database.statement() as connection:
        migrations = await applied_files(connection)
    return Head(
        taken_at=now().astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        service=chamberlain.__version__,
        postgres=postgres.major_version(postgres.find_programs(settings.postgres_bin)),
        migrations=tuple(migrations),
        keys=keys,
    )


async def _sealing_keys(database: Database) -> tuple[str, ...]:
    """The ids of the keys that something is sealed with."""
    async with database.across_tenants() as tx:
        ours = await doctor_store.sealing_keys(tx)
    return tuple(sorted(ours | set(await IdentityKeys(database).count())))


async def _started_once(settings: Settings, folder: DataFolder) -> tuple[str, ...]:
    """Start what was put there, to see that it is whole; gives the keys that something in it is sealed with. Cut
    short, or if it is not, nothing is there."""
    async with AsyncExitStack() as otherwise:
        otherwise.push_async_callback(postgres.forget, folder.postgres)
        try:
            async with _running(settings, folder) as database:
                keys = await _sealing_keys(database)
        except (AlreadyRunning, StillRunning):
            # A service has taken the folder since, and what is in it is that one's.
            otherwise.pop_all()
            raise
        otherwise.pop_all()
    return keys


@asynccontextmanager
async def _running(settings: Settings, folder: DataFolder) -> AsyncIterator[Database]:
    async with AsyncExitStack() as stack:
        server = await postgres.start(folder.postgres, programs=settings.postgres_bin, run_as=settings.postgres_user)
        stack.push_async_callback(server.stop)
        database = await open_database(server.addresses.worker, most=1, name="chamberlain restore")
        stack.push_async_callback(database.close)
        yield database


def _require_embedded(settings: Settings) -> None:
    if settings.database_url is not None:
        raise BackupUnusable(
            "This is for the embedded database. An outside PostgreSQL has its own tools: docs/how-to/backup.md."
        )


def _require_fitting(settings: Settings, backup: BackupFile) -> None:
    """A backup that this version of the service and these programs can go on with."""
    known = {f"{file.set_name}/{file.name}" for file in known_files(migration_sets())}
    if newer := [name for name in backup.head.migrations if name not in known]:
        raise BackupUnusable(
            f"{backup.path} was made by a newer version of the service ({backup.head.service}): this one does not know "
            f"{newer[0]}. Use that version."
        )
    major = postgres.major_version(postgres.find_programs(settings.postgres_bin))
    if major != backup.head.postgres:
        raise BackupUnusable(
            f"{backup.path} was made by PostgreSQL {backup.head.postgres}, and these programs are of {major}. Set "
            f"CHAMBERLAIN_POSTGRES_BIN to the folder of the programs of PostgreSQL {backup.head.postgres}."
        )


def _missing(settings: Settings, needed: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of these that the keys file lacks; all of them where there is none."""
    known = KeysFile(settings.keys_file).read().by_id if settings.keys_file.exists() else {}
    return tuple(name for name in needed if name not in known)


def take(settings: Settings, path: Path) -> None:
    """Write a backup, and say what is not in it."""
    with told_faults():
        backup = asyncio.run(take_backup(settings, path.absolute()))
    print(f"{path} has the whole database as of {backup.taken_at}.")
    print(f"The keys are not in it: {_keys(backup)} of {settings.keys_file}. Keep a copy of that file elsewhere;")
    print("without it nobody opens the secrets in this backup.")
    _tell_missing(settings, backup)


def restore(settings: Settings, path: Path) -> None:
    """Put a backup back, and say what is left to do."""
    with told_faults():
        backup = asyncio.run(restore_backup(settings, path.absolute()))
    print(f"The database of {backup.taken_at} is in {settings.data_dir}, and has started to its end.")
    _tell_missing(settings, backup)
    print("Start the service: it brings the database to its own version.")


def _keys(backup: Backup) -> str:
    return "those" if not backup.keys else ", ".join(backup.keys)


def _tell_missing(settings: Settings, backup: Backup) -> None:
    if backup.missing:
        names = ", ".join(backup.missing)
        print(
            f"{settings.keys_file} lacks {names}, with which secrets in it are sealed. Put the keys file there first."
        )
