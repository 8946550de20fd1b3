# SPDX-License-Identifier: Apache-2.0
"""Backs up a running server into two files, and restores them.

The files are a copy of the whole data folder and the write-ahead log that makes it consistent. They need programs of
the same major version.
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

# The files of a backup, as pg_basebackup names them.
FILES = BASE, LOG = "base.tar.gz", "pg_wal.tar.gz"

# Opens one of these files.
OpenFile: TypeAlias = Callable[[str], AbstractContextManager[IO[bytes]]]

# Not part of the data: the server's log, and the manifest of pg_basebackup.
_LEFT_OUT = {"log", "backup_manifest"}


async def back_up(folder: Path, target: Path, *, programs: Path | None) -> None:
    """Write a backup into an existing empty folder, while the server runs.

    Raises BackupFailed.
    """
    await asyncio.to_thread(_back_up, folder, target, programs)


async def restore(path: Path, open_file: OpenFile, *, run_as: str | None) -> None:
    """Restore a backup into a folder without data.

    A cancelled restore leaves nothing. The next start recovers the state at the time of the backup.
    """
    restoring = asyncio.create_task(asyncio.to_thread(_restore, path, open_file, run_as))
    try:
        await asyncio.shield(restoring)
    except asyncio.CancelledError:
        # A thread cannot be cancelled, so its result is removed afterwards.
        await restoring
        await forget(path)
        raise


async def forget(path: Path) -> None:
    """Remove restored data that is not wanted.

    Raises AlreadyRunning, and keeps the data, while it is in use.
    """
    await asyncio.to_thread(_forget, path)


def _back_up(path: Path, target: Path, named_programs: Path | None) -> None:
    folder, programs = Folder(path.absolute()), find_programs(named_programs)
    command: list[str | Path] = [
        programs / "pg_basebackup",
        f"--dbname={address(folder.data, roles.SET_UP, 'postgres')}",
        f"--pgdata={target}",
        "--format=tar",
        # Streamed during the copy, so that no segment is missing under load.
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
            raise FolderNotUsable(folder.path, "it already contains a database")
        with ExitStack() as undo:
            # The data can be large and personal, and the disk may be full.
            undo.callback(shutil.rmtree, folder.unfinished_data, ignore_errors=True)
            data = new_data_folder(folder, user)
            with open_file(BASE) as file:
                _unpack(file, data, user)
            with open_file(LOG) as file:
                _unpack(file, data / "pg_wal", user)
            # The data must be on disk before the rename is.
            os.sync()
            put_in_place(folder)
            undo.pop_all()
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
    """Extract folders and regular files below the target, nothing else.

    The archive is untrusted, and the user may be root.
    """
    # Imported late: starting a server needs neither, and they take half of this module's import time.
    import gzip
    import tarfile

    # The log has several gzip members; tarfile alone would read only the first.
    with gzip.open(file) as plain, tarfile.open(fileobj=plain, mode="r|") as archive:
        for member in archive:
            place = PurePosixPath(member.name)
            if place.is_absolute() or ".." in place.parts or not (member.isdir() or member.isreg()):
                raise FolderNotUsable(target, f"the backup contains {member.name!r}, which is not part of a database")
            if not place.parts or place.parts[0] in _LEFT_OUT:
                continue
            _put(archive, member, target / place, user)


def _put(archive: "tarfile.TarFile", member: "tarfile.TarInfo", path: Path, user: ServerUser) -> None:
    content = archive.extractfile(member)
    if content is None:
        # Both archives contain the folder of the write-ahead log.
        path.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    else:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
    if user.is_other:
        os.chown(path, user.user_id, user.group_id)
