# SPDX-License-Identifier: Apache-2.0
"""Restoring a backup, and cleaning up after a failed restore."""

import errno
import io
import os
import resource
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from chamberlain.embedded import postgres
from chamberlain.embedded.postgres import errors
from chamberlain.embedded.postgres.folder import Folder, hold
from tests.postgres import short_folder


def packed(name: str) -> IO[bytes]:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as file:
        folder = tarfile.TarInfo("pg_wal")
        folder.type = tarfile.DIRTYPE
        file.addfile(folder)
        member = tarfile.TarInfo(name)
        member.size = 3
        file.addfile(member, io.BytesIO(b"18\n"))
    content.seek(0)
    return content


@contextmanager
def archive(_: str) -> Iterator[IO[bytes]]:
    yield packed("PG_VERSION")


@contextmanager
def full_disk(name: str) -> Iterator[IO[bytes]]:
    """Open the files; the disk is full at the second one."""
    if name != postgres.FILES[0]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with archive(name) as file:
        yield file


@contextmanager
def truncated(name: str) -> Iterator[IO[bytes]]:
    """Open the files; the second one is truncated."""
    with archive(name) as file:
        yield file if name == postgres.FILES[0] else io.BytesIO(file.read(20))


@contextmanager
def path_traversal(name: str) -> Iterator[IO[bytes]]:
    """Open the files; the second one contains a path outside of the target."""
    with archive(name) as file:
        yield file if name == postgres.FILES[0] else packed("../passwd")


@contextmanager
def no_room() -> Iterator[None]:
    """Prevent this process from writing to files."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_it_works() -> None:
    with short_folder() as folder:
        await postgres.restore(folder, archive, run_as=None)

        assert (folder / "data" / "PG_VERSION").read_bytes() == b"18\n"


@pytest.mark.parametrize(
    ("backup", "expected", "named"),
    [
        (full_disk, errors.RoomMissing, "No space left on device"),
        (truncated, EOFError, "ended before"),
        (path_traversal, errors.FolderNotUsable, r"'\.\./passwd'"),
    ],
)
async def test_a_failed_restore_leaves_no_data(
    backup: postgres.OpenFile, expected: type[Exception], named: str
) -> None:
    with short_folder() as folder:
        with pytest.raises(expected, match=named):
            await postgres.restore(folder, backup, run_as=None)

        assert [each.name for each in folder.iterdir()] == ["lock"]


def test_the_lock_ignores_a_full_disk(tmp_path: Path) -> None:
    with no_room():
        os.close(hold(Folder(tmp_path)))
