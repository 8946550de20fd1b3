"""Takes what a running server has, as it is at one moment, into two files, and puts them into a new place.

They are copies of the server's own files with the part of the write-ahead log that makes them whole: everything is in
them, for programs of the same major version.
"""

import asyncio
import errno
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, TypeAlias

from chamberlain.embedded.postgres import roles
from chamberlain.embedded.postgres.errors import BackupFailed, FolderNotUsable, RoomMissing
from chamberlain.embedded.postgres.folder import (
    Folder,
    hold,
    make_folder,
    new_data_folder,
    open_to,
    put_in_place,
)
from chamberlain.embedded.postgres.programs import find_programs
from chamberlain.embedded.postgres.roles import address
from chamberlain.embedded.postgres.server_user import ServerUser, choose_server_user

if TYPE_CHECKING:
    import tarfile

# The files that a backup is made of, by the names that pg_basebackup gives them.
FILES = BASE, LOG = "base.tar.gz", "pg_wal.tar.gz"

# Gives the content of one of these files.
OpenFile: TypeAlias = Callable[[str], AbstractContextManager[IO[bytes]]]

# What is no part of the data: the server's own log, and what pg_basebackup says of its work.
_LEFT_OUT = {"log", "backup_manifest"}


async def back_up(folder: Path, target: Path, *, programs: Path | None) -> None:
    """Write those files into a folder that is there and empty, beside all that goes on. Raises BackupFailed."""
    await asyncio.to_thread(_back_up, folder, target, programs)


async def restore(path: Path, open_file: OpenFile, *, run_as: str | None) -> None:
    """Put them where no data is yet; the next start brings them to the moment at which they were taken. Cut short,
    nothing is there."""
    putting = asyncio.create_task(asyncio.to_thread(_restore, path, open_file, run_as))
    try:
        await asyncio.shield(putting)
    except asyncio.CancelledError:
        # The thread goes on to its end, whoever waits for it or not; what it has put there goes behind it.
        await putting
        await forget(path)
        raise


async def forget(path: Path) -> None:
    """Remove data that was put into place and is of no use. Raises AlreadyRunning where somebody uses it; then it
    stays."""
    await asyncio.to_thread(_forget, path)


def _back_up(path: Path, target: Path, named_programs: Path | None) -> None:
    folder, programs = Folder(path.absolute()), find_programs(named_programs)
    command: list[str | Path] = [
        programs / "pg_basebackup",
        f"--dbname={address(folder.data, roles.SET_UP, 'postgres')}",
        f"--pgdata={target}",
        "--format=tar",
        # Beside the copy and held by the server until then, so that nothing is missing however much is written.
        "--wal-method=stream",
        "--compress=client-gzip:1",
        "--checkpoint=fast",
        "--no-password",
    ]
    try:
        done = subprocess.run(  # noqa: S603 - the operator's program, and paths of ours.
            command, check=False, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
        )
    except OSError as error:
        raise BackupFailed(f"{command[0]} cannot be run ({error.strerror})") from error
    if done.returncode != 0:
        raise BackupFailed(done.stderr.strip())


def _restore(path: Path, open_file: OpenFile, run_as: str | None) -> None:
    folder = make_folder(path)
    lock = hold(folder)
    try:
        user = choose_server_user(run_as)
        open_to(folder, user)
        if folder.data.exists():
            raise FolderNotUsable(folder.path, "there is a database in it already")
        with ExitStack() as otherwise:
            # It may be much, and personal; and whoever lacks room needs this room first.
            otherwise.callback(shutil.rmtree, folder.unfinished_data, ignore_errors=True)
            data = new_data_folder(folder, user)
            with open_file(BASE) as file:
                _unpack(file, data, user)
            with open_file(LOG) as file:
                _unpack(file, data / "pg_wal", user)
            # The name must not outlive a power cut without the rest.
            os.sync()
            put_in_place(folder)
            otherwise.pop_all()
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise RoomMissing(folder.path, os.strerror(error.errno)) from error
        raise FolderNotUsable(folder.path, f"a backup cannot be put there ({error.strerror})") from error
    finally:
        os.close(lock)


def _forget(path: Path) -> None:
    folder = Folder(path.absolute())
    lock = hold(folder)
    try:
        shutil.rmtree(folder.data)
    finally:
        os.close(lock)


def _unpack(file: IO[bytes], target: Path, user: ServerUser) -> None:
    """Folders and files alone, below the target: a backup comes from elsewhere, and root may be the one who reads."""
    # Whoever starts a server needs neither, and reading them takes as long as half of what is here.
    import gzip
    import tarfile

    # The log comes in several pieces of gzip, of which tarfile by itself would read the first.
    with gzip.open(file) as plain, tarfile.open(fileobj=plain, mode="r|") as archive:
        for member in archive:
            place = PurePosixPath(member.name)
            if place.is_absolute() or ".." in place.parts or not (member.isdir() or member.isreg()):
                raise FolderNotUsable(target, f"the backup holds {member.name!r}, which is none of a database")
            if not place.parts or place.parts[0] in _LEFT_OUT:
                continue
            _put(archive, member, target / place, user)


def _put(archive: "tarfile.TarFile", member: "tarfile.TarInfo", path: Path, user: ServerUser) -> None:
    content = archive.extractfile(member)
    if content is None:
        # The folder of the write-ahead log is in both archives.
        path.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    else:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
    if user.is_other:
        os.chown(path, user.user_id, user.group_id)
