"""A backup as one file: an archive with a head that says what is in it, the parts, and an end that proves them.

It appears whole or not at all, for its owner alone, and never in the place of another file. Whoever reads one compares
every digest before anything else is done.
"""

import hashlib
import io
import os
import secrets
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import msgspec

from chamberlain.core.errors import CannotStart

_HEAD, _END = "backup.json", "end.json"
# Another form of the file gets another number.
_FORM: Final = 1
_PART: Final = 1 << 20
# What the head may take; one of ten thousand migrations would be smaller.
_MOST_HEAD: Final = 1 << 22


class BackupUnusable(CannotStart):
    """A backup cannot be written, or what is read is none, or not a whole one."""


class Head(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What a backup says of itself. `taken_at` is the time in RFC 3339, `postgres` the major version, `migrations` are
    the files that had been run, and `keys` the ids of those that something in it is sealed with."""

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
    """The digest of the head: whoever finds it has the whole file before it."""

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
            archive = tarfile.open(self.path, "r:")  # noqa: SIM115 - what goes wrong in the block is not about this file.
        with archive:
            yield _content(self.path, archive, name)


def require_free(path: Path) -> None:
    """Raises BackupUnusable when there is something in the place of a new backup already, or no folder for it."""
    if path.is_symlink() or path.exists():
        raise BackupUnusable(f"{path} is there already. Name a file that is not: a backup takes nobody's place.")
    if not path.parent.is_dir():
        raise BackupUnusable(f"There is no folder {path.parent}. Make it first.")


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """An empty folder for its parts, on the same disk, for as long as the block runs; nobody else may look into it."""
    folder = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with _told(path):
        folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        # A program that was just writing there may be about to remove it as well.
        shutil.rmtree(folder, ignore_errors=True)


def write_backup(path: Path, head: Head, parts: Sequence[Path]) -> None:
    """Make one file of the parts, which lie in a folder of their own. Raises BackupUnusable."""
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
            raise BackupUnusable(f"{path} is there already.") from error


def open_backup(path: Path) -> BackupFile:
    """Read the file to its end and compare all digests. Raises BackupUnusable for what is not a whole backup."""
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
