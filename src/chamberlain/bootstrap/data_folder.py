"""The data folder: what a service keeps on its own machine beside the database, and who may read it."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path


class DataFolderUnusable(Exception):
    """The data folder cannot be used; the sentence says what to do."""


@dataclass(frozen=True, slots=True)
class DataFolder:
    """A folder that exists and that we may write to."""

    path: Path

    @property
    def local_secret(self) -> Path:
        """What `chamberlain token` shows the running service, as proof that it may read this folder."""
        return self.path / "local.secret"

    def client_secret(self, name: str) -> Path:
        """The secret of a program of the example estate, made when the estate is loaded."""
        return self.path / f"{name}.secret"

    @property
    def authority(self) -> Path:
        """The certificate of the throw-away authority behind the https listener; a new one at every start."""
        return self.path / "ca.pem"

    @property
    def postgres(self) -> Path:
        """The embedded PostgreSQL's own folder."""
        return self.path / "postgres"


def open_data_folder(path: Path) -> DataFolder:
    """Make the folder where there is none. Raises DataFolderUnusable."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.geteuid() == 0:
            # PostgreSQL does not run as root: its user must pass through to its own folder, and see nothing else.
            path.chmod(0o711)
    except OSError as error:
        raise DataFolderUnusable(
            f"The data folder {path} cannot be made or used ({error.strerror}). Name another by --data-dir."
        ) from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise DataFolderUnusable(f"The data folder {path} belongs to somebody else. Name another by --data-dir.")
    return DataFolder(path)


def write_secret(path: Path, text: str) -> None:
    """Write a file that only its owner may read; it is there whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    unfinished.replace(path)


def keep_secret(path: Path) -> str:
    """The secret in the file; a new one is made when there is none."""
    if path.exists():
        return path.read_text(encoding="utf-8").strip()
    secret = secrets.token_urlsafe(32)
    write_secret(path, f"{secret}\n")
    return secret
