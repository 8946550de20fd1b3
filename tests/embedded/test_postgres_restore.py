"""What is left of a backup that could not be put back."""

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
    """What each file of the backup has."""
    yield packed("PG_VERSION")


@contextmanager
def full_disk(name: str) -> Iterator[IO[bytes]]:
    """The second file finds no room any more."""
    if name != postgres.FILES[0]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with archive(name) as file:
        yield file


@contextmanager
def cut_off(name: str) -> Iterator[IO[bytes]]:
    """The second file ends in its middle."""
    with archive(name) as file:
        yield file if name == postgres.FILES[0] else io.BytesIO(file.read(20))


@contextmanager
def of_elsewhere(name: str) -> Iterator[IO[bytes]]:
    """The second file has something for a folder above."""
    with archive(name) as file:
        yield file if name == postgres.FILES[0] else packed("../passwd")


@contextmanager
def no_room() -> Iterator[None]:
    """No file of this process grows meanwhile."""
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
    ("backup", "expected", "said"),
    [
        (full_disk, postgres.RoomMissing, "nothing of it is left there. Make room"),
        (cut_off, EOFError, "ended before"),
        (of_elsewhere, postgres.FolderNotUsable, "'../passwd', which is not part of a database"),
    ],
)
async def test_it_leaves_nothing_of_what_it_could_not_put_back(
    backup: postgres.OpenFile, expected: type[Exception], said: str
) -> None:
    with short_folder() as folder:
        with pytest.raises(expected, match=said):
            await postgres.restore(folder, backup, run_as=None)

        assert [each.name for each in folder.iterdir()] == ["lock"]


def test_a_full_disk_is_not_told_of_by_the_lock(tmp_path: Path) -> None:
    with no_room():
        os.close(hold(Folder(tmp_path)))
