"""The keys that seal what is stored, for whoever has the database and the keys file, beside the running service."""

import asyncio

import typer

from chamberlain.app.commands import keys_keys
from chamberlain.app.keys import KeyUse
from chamberlain.cli.errors import failed, told_faults
from chamberlain.cli.errors_exit_codes import ExitCode
from chamberlain.settings import Settings


def list_keys(settings: Settings) -> None:
    """Print one line for each; a key that something is sealed with and that is missing ends the command with 1."""
    with told_faults():
        uses = asyncio.run(keys_keys.list_keys(settings))
    for use in uses:
        print(f"{use.id:12}  {_state(use):7}  {_secrets(use.secrets)}")
    if any(not use.is_there for use in uses):
        raise failed(f"{settings.keys_file} lacks keys with which stored secrets are sealed. Put their lines back.")


def add(settings: Settings) -> None:
    """Make a key that opens and does not seal yet, and say what to do with it."""
    with told_faults():
        name = keys_keys.add_key(settings)
    print(f"{name} is in {settings.keys_file} and does not seal yet.")
    print(f"Copy the file to every machine of the installation, then: chamberlain keys rotate --to {name}")


def rotate(settings: Settings, key_id: str | None) -> None:
    """Have another key seal, and say what is left to do."""
    with told_faults():
        rotation = asyncio.run(keys_keys.rotate_keys(settings, key_id))
    print(f"{rotation.after} seals from now on; {_secrets(rotation.resealed)} sealed anew with it.")
    if rotation.after != rotation.before:
        print(f"{rotation.before} stays in {settings.keys_file}, and opens what backups of before hold.")
        print(f"When no backup and no cursor of before is needed: chamberlain keys drop {rotation.before}")
    if rotation.left:
        print(f"{_secrets(rotation.left)} left as before: no key of the file opens them. See `chamberlain keys list`.")
        raise typer.Exit(ExitCode.FAILED)


def drop(settings: Settings, key_id: str) -> None:
    """Take a key out of the file."""
    with told_faults():
        asyncio.run(keys_keys.drop_key(settings, key_id))
    print(f"{key_id} is no longer in {settings.keys_file}. Take it out of the files of other machines as well.")


def _state(use: KeyUse) -> str:
    if not use.is_there:
        return "missing"
    return "seals" if use.seals else "opens"


def _secrets(number: int) -> str:
    return "1 stored secret" if number == 1 else f"{number} stored secrets"
