# SPDX-License-Identifier: Apache-2.0
"""The data folder: files that a service stores beside the database."""

import json
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from chamberlain.observability.logs import log_to_file

# As many as a key of 256 bits has.
SECRET_BYTES = 32
# 16 letters: too many to guess, few enough to type.
_PASSWORD_BYTES = 12


class DataFolderUnusable(Exception):
    """The data folder cannot be used. The message has the cure."""


@dataclass(frozen=True, slots=True)
class DataFolder:
    """A folder that exists and that we may write to."""

    path: Path

    @property
    def local_secret(self) -> Path:
        """The secret by which `chamberlain token` proves access to this folder.

        Each start makes a new one.
        """
        return self.path / "local.secret"

    def client_secret(self, name: str) -> Path:
        """The secret of an application of the example estate.

        It is made when the estate is loaded.
        """
        return self.path / f"{name}.secret"

    @property
    def example_users(self) -> Path:
        """The passwords of the example users by address.

        Without the file, a start makes new ones.
        """
        return self.path / "example-users.json"

    @property
    def authority(self) -> Path:
        """The certificate authority of the https listener.

        Each start makes a new one.
        """
        return self.path / "ca.pem"

    @property
    def log(self) -> Path:
        """The log lines of a service that runs on a terminal."""
        return self.path / "service.log"

    @property
    def demo(self) -> Path:
        """Exists when `chamberlain demo` has filled the sample tenant."""
        return self.path / "demo.done"

    @property
    def postgres(self) -> Path:
        """The embedded PostgreSQL's own folder."""
        return self.path / "postgres"


def open_data_folder(path: Path) -> DataFolder:
    """Make the folder where there is none. Raises DataFolderUnusable."""
    with _told(path):
        try:
            path.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            _require_private(path)
        if os.geteuid() == 0:
            # PostgreSQL does not run as root: its user must pass through to its own folder, and see nothing else.
            path.chmod(stat.S_IMODE(path.stat().st_mode) | stat.S_IXGRP | stat.S_IXOTH)
    if not os.access(path, os.W_OK | os.X_OK):
        raise DataFolderUnusable(
            f"The data folder {path} cannot be written to by this user. Name another by --data-dir."
        )
    return DataFolder(path)


def open_log(folder: DataFolder) -> None:
    """Send log lines to the file of the folder. Raises DataFolderUnusable."""
    with _told(folder.log):
        log_to_file(folder.log)


def write_file(path: Path, text: str, *, mode: int) -> None:
    """Write a file atomically with these permissions.

    After a power cut the file is complete or absent.
    """
    with _told(path):
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        unfinished.replace(path)


def make_secret(path: Path) -> str:
    """Create a secret in a file that only its owner may read.

    The old one becomes invalid.
    """
    secret = secrets.token_urlsafe(SECRET_BYTES)
    write_file(path, f"{secret}\n", mode=0o600)
    return secret


def keep_secret(path: Path) -> str:
    """Read the secret in the file, or make one.

    An incomplete secret is replaced.
    """
    with _told(path):
        secret = path.read_text(encoding="utf-8").strip() if path.exists() else ""
    return secret if len(secret) >= SECRET_BYTES else make_secret(path)


def keep_passwords(path: Path, addresses: Sequence[str]) -> dict[str, str]:
    """Return all passwords in the file by address.

    Missing passwords of `addresses` are made and added.
    """
    with _told(path):
        kept = _passwords(path, path.read_bytes()) if path.exists() else {}
    made = {address: secrets.token_urlsafe(_PASSWORD_BYTES) for address in addresses if address not in kept}
    if made:
        write_file(path, json.dumps(kept | made, indent=2, ensure_ascii=False) + "\n", mode=0o600)
    return kept | made


def _passwords(path: Path, content: bytes) -> dict[str, str]:
    try:
        return msgspec.json.decode(content, type=dict[str, str])
    except msgspec.MsgspecError as error:
        raise DataFolderUnusable(
            f"{path} is no JSON object of passwords by address. Remove it for new ones."
        ) from error


def _require_private(path: Path) -> None:
    found = path.stat()
    if not stat.S_ISDIR(found.st_mode) or found.st_mode & stat.S_IWOTH:
        raise DataFolderUnusable(f"{path} is no folder, or everybody can write to it. Name another by --data-dir.")


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataFolderUnusable(
            f"{path} cannot be made, read or written ({error.strerror}). Fix that, or name another --data-dir."
        ) from error
