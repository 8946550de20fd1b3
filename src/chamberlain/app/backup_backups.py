"""Backups of the embedded database, for whoever runs the service."""

import asyncio
from pathlib import Path

from chamberlain.app.backup import Backup, restore_backup, take_backup
from chamberlain.cli.errors import told_faults
from chamberlain.settings import Settings


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
