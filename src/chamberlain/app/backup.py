# SPDX-License-Identifier: Apache-2.0
"""Take backups of the embedded database, and restore them into empty folders."""

import asyncio
import hashlib
import io
import os
import secrets
import shutil
import tarfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import IO, Final

import msgspec

import chamberlain
from chamberlain.app.clock_and_ids import now
from chamberlain.app.commands.keys import IdentityKeys
from chamberlain.app.data_folder import DataFolder, open_data_folder
from chamberlain.app.databases import migration_sets, opened_at_hand
from chamberlain.app.doctor import store as doctor_store
from chamberlain.app.errors import expected_faults
from chamberlain.cli.errors import reported_faults
from chamberlain.core.errors import CannotStart
from chamberlain.database.migrate import applied_files, known_files
from chamberlain.database.transactions import Database, open_database
from chamberlain.embedded import postgres
from chamberlain.embedded.postgres import AlreadyRunning, StillRunning
from chamberlain.secrets.keyring import KeysFile
from chamberlain.settings import Settings

_HEAD, _END = "backup.json", "end.json"
# Another form of the file gets another number.
_FORM: Final = 1
_PART: Final = 1 << 20
# Largest header in bytes. A header with ten thousand migrations is smaller.
_MOST_HEAD: Final = 1 << 22


class BackupUnusable(CannotStart):
    """The backup cannot be written, or the file is incomplete."""


class Head(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The header of a backup.

    `taken_at` is in RFC 3339, `postgres` is the major version, `migrations` lists the files that had run, and `keys`
    the ids of the encryption keys that its secrets need.
    """

    taken_at: str
    service: str
    postgres: int
    migrations: tuple[str, ...]
    keys: tuple[str, ...]


class _File(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The head as it is written."""

    form: int
    about: Head
    digests: dict[str, str]


class _End(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The digest of the header, which proves that the file is complete."""

    digest: str


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A whole backup."""

    path: Path
    head: Head

    @contextmanager
    def part(self, name: str) -> Iterator[IO[bytes]]:
        """One of its parts, for as long as the block runs."""
        with _told(self.path):
            archive = tarfile.open(self.path, "r:")  # noqa: SIM115 - errors in the block do not concern this file.
        with archive:
            yield _content(self.path, archive, name)


def _exists(path: Path) -> BackupUnusable:
    return BackupUnusable(f"{path} exists already. Name a new file: a backup never replaces one.")


def require_free(path: Path) -> None:
    """Check that a new backup can be written here.

    Raises BackupUnusable if the file exists or its folder does not.
    """
    if path.is_symlink() or path.exists():
        raise _exists(path)
    if not path.parent.is_dir():
        raise BackupUnusable(f"There is no folder {path.parent}. Create it first.")


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """Create a temporary folder for the parts, on the same disk.

    Only this user can read it.
    """
    folder = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with _told(path):
        folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        # A program that was just writing there may be about to remove it as well.
        shutil.rmtree(folder, ignore_errors=True)


def write_backup(path: Path, head: Head, parts: Sequence[Path]) -> None:
    """Write the parts of a folder into one file. Raises BackupUnusable."""
    with _told(path):
        content = msgspec.json.encode(
            _File(form=_FORM, about=head, digests={part.name: _digest_of(part) for part in parts})
        )
        end = msgspec.json.encode(_End(digest=hashlib.sha256(content).hexdigest()))
        unfinished = parts[0].parent / "unfinished"
        with _created(unfinished) as file:
            with tarfile.open(fileobj=file, mode="w") as archive:
                _add(archive, _HEAD, content)
                for part in parts:
                    archive.add(part, part.name, filter=_anonymous)
                _add(archive, _END, end)
            file.flush()
            os.fsync(file.fileno())
        try:
            # A second name instead of another one: a file that has come meanwhile stays.
            path.hardlink_to(unfinished)
        except FileExistsError as error:
            raise _exists(path) from error


def open_backup(path: Path) -> BackupFile:
    """Read the whole file and compare all digests. Raises BackupUnusable."""
    with _told(path), tarfile.open(path, "r:") as archive:
        content = _content(path, archive, _HEAD).read(_MOST_HEAD)
        head = msgspec.json.decode(content, type=_File)
        if head.form != _FORM:
            raise BackupUnusable(f"{path} has a form that this version does not know. Use the version that made it.")
        digests = {_HEAD: msgspec.json.decode(_content(path, archive, _END).read(_MOST_HEAD), type=_End).digest}
        for name, digest in {**digests, **head.digests}.items():
            if _digest(_content(path, archive, name)) != digest:
                raise _broken(path)
        return BackupFile(path, head.about)


def _content(path: Path, archive: tarfile.TarFile, name: str) -> IO[bytes]:
    try:
        found = archive.extractfile(name)
    except KeyError as error:
        raise _broken(path) from error
    if found is None:
        raise _broken(path)
    return found


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o600
    archive.addfile(member, io.BytesIO(content))


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o600
    return member


@contextmanager
def _created(path: Path) -> Iterator[IO[bytes]]:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        yield file


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return _digest(file)


def _digest(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while part := file.read(_PART):
        digest.update(part)
    return digest.hexdigest()


def _broken(path: Path) -> BackupUnusable:
    return BackupUnusable(f"{path} is not a whole backup: it was cut off or changed, or is something else.")


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, msgspec.MsgspecError, EOFError) as error:
        raise _broken(path) from error
    except OSError as error:
        raise BackupUnusable(f"{path} cannot be read or written ({error.strerror}).") from error


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup: its time, and the ids of its encryption keys.

    The keys file lacks those in `missing`.
    """

    taken_at: str
    keys: tuple[str, ...]
    missing: tuple[str, ...]


async def take_backup(settings: Settings, path: Path) -> Backup:
    """Back up the whole embedded database. Raises CannotStart.

    The backup has the state at the end of this call.
    """
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
    """Restore a backup into an empty data folder, and start it once.

    Raises CannotStart; then the folder has no database.
    """
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
    """Start the restored database once, and return its key ids.

    If this is interrupted or fails, the restored files are removed.
    """
    async with AsyncExitStack() as otherwise:
        otherwise.push_async_callback(postgres.forget, folder.postgres)
        try:
            async with _running(settings, folder) as database:
                keys = await _sealing_keys(database)
        except (AlreadyRunning, StillRunning):
            # Another service has started to use the folder in the meantime.
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
    """Check that this version and these programs can run the backup."""
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
    """Return the keys that the keys file lacks; all without a file."""
    known = KeysFile(settings.keys_file).read().by_id if settings.keys_file.exists() else {}
    return tuple(name for name in needed if name not in known)


def take(settings: Settings, path: Path) -> None:
    """Write a backup, and print a note about the keys."""
    with reported_faults():
        backup = asyncio.run(take_backup(settings, path.absolute()))
    print(f"{path} has the whole database as of {backup.taken_at}.")
    print(f"The keys are not in it: {_keys(backup)} of {settings.keys_file}. Keep a copy of that file elsewhere;")
    print("without it, the secrets in this backup cannot be decrypted.")
    _tell_missing(settings, backup)


def restore(settings: Settings, path: Path) -> None:
    """Restore a backup, and print the remaining steps."""
    with reported_faults():
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
