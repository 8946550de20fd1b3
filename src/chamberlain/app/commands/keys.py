"""Commands of encryption keys, for the machine with the keys file."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from chamberlain.app import keys as app_keys
from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.databases import opened_at_hand
from chamberlain.app.errors import expected_faults
from chamberlain.app.identity import identity_unavailable
from chamberlain.app.keys import KeyService, KeyUse, Rotation
from chamberlain.cli.errors import ExitCode, failed, told_faults
from chamberlain.cli.options import DataDir, settings_of
from chamberlain.database.transactions import Database
from chamberlain.embedded.identity import signing_keys
from chamberlain.http.request import new_trace_id
from chamberlain.secrets.keyring import Keyring, KeysFile, KeysUnusable
from chamberlain.settings import Settings


class IdentityKeys:
    """Secrets of the embedded identity platform, read as the worker's role."""

    def __init__(self, database: Database) -> None:
        self._pool = database.pool

    async def count(self) -> Mapping[str, int]:
        """Count the secrets of each key. Raises Unavailable."""
        with identity_unavailable():
            return await signing_keys.sealing_keys(self._pool)

    async def reseal(self, keyring: Keyring) -> tuple[int, int]:
        """Encrypt all secrets again. Raises Unavailable.

        Returns the numbers of encrypted and unreadable secrets.
        """
        with identity_unavailable():
            return await signing_keys.reseal(self._pool, keyring, KeysUnusable)


async def read_keys(settings: Settings) -> Sequence[KeyUse]:
    """List the keys and their uses. Raises CannotStart."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await KeyService(database, _keys_file(settings), IdentityKeys(database)).list()


def add_in_file(settings: Settings) -> str:
    """Add a decrypt-only key, and return its id. Raises CannotStart."""
    with expected_faults():
        return app_keys.add_key(_keys_file(settings))


async def rotate_in_file(settings: Settings, key_id: str | None) -> Rotation:
    """Encrypt all stored secrets with this key, or a new one.

    Raises CannotStart and NotFound.
    """
    with expected_faults():
        async with opened_at_hand(settings) as database:
            keys = KeyService(database, _keys_file(settings), IdentityKeys(database))
            return await keys.rotate(key_id, actor=command_line(), trace_id=new_trace_id())


async def drop_in_file(settings: Settings, key_id: str) -> None:
    """Remove a key from the file. Raises CannotStart, NotFound and Conflict."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            keys = KeyService(database, _keys_file(settings), IdentityKeys(database))
            await keys.drop(key_id, actor=command_line(), trace_id=new_trace_id())


def _keys_file(settings: Settings) -> KeysFile:
    """Find the keys file.

    It is not created here, because a wrong path would go unnoticed.
    """
    if not settings.keys_file.exists():
        raise KeysUnusable(
            f"There is no keys file {settings.keys_file}. Name the --data-dir of the service, or CHAMBERLAIN_KEYS_FILE."
        )
    return KeysFile(settings.keys_file)


def print_keys(settings: Settings) -> None:
    """Print one line per key.

    Exits 1 if a key in use is missing.
    """
    with told_faults():
        uses = asyncio.run(read_keys(settings))
    for use in uses:
        print(f"{use.id:12}  {_state(use):7}  {_secrets(use.secrets)}")
    if any(not use.is_there for use in uses):
        raise failed(f"{settings.keys_file} lacks keys with which stored secrets are sealed. Put their lines back.")


def add(settings: Settings) -> None:
    """Add a decrypt-only key, and print the next steps."""
    with told_faults():
        name = add_in_file(settings)
    print(f"{name} is in {settings.keys_file} and does not seal yet.")
    print(f"Copy the file to every machine of the installation, then: chamberlain keys rotate --to {name}")


def rotate(settings: Settings, key_id: str | None) -> None:
    """Rotate to another key, and print the next steps."""
    with told_faults():
        rotation = asyncio.run(rotate_in_file(settings, key_id))
    print(f"{rotation.after} encrypts from now on; {_secrets(rotation.resealed)} encrypted again.")
    if rotation.after != rotation.before:
        print(f"{rotation.before} stays in {settings.keys_file}, and opens what backups of before hold.")
        print(f"When no backup and no cursor of before is needed: chamberlain keys drop {rotation.before}")
    if rotation.left:
        print(f"{_secrets(rotation.left)} left as before: no key of the file opens them. See `chamberlain keys list`.")
        raise typer.Exit(ExitCode.FAILED)


def drop(settings: Settings, key_id: str) -> None:
    """Remove a key from the file."""
    with told_faults():
        asyncio.run(drop_in_file(settings, key_id))
    print(f"{key_id} is no longer in {settings.keys_file}. Take it out of the files of other machines as well.")


def _state(use: KeyUse) -> str:
    if not use.is_there:
        return "missing"
    return "seals" if use.seals else "opens"


def _secrets(number: int) -> str:
    return "1 stored secret" if number == 1 else f"{number} stored secrets"


keys = typer.Typer()

KeyArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as shown by `keys list`.")]


@keys.command("list")
def list_keys(data_dir: DataDir = None) -> None:
    """List the keys and the number of secrets of each.

    Exits 1 if a key is missing.
    """

    print_keys(settings_of(data_dir=data_dir))


@keys.command("add")
def add_key(data_dir: DataDir = None) -> None:
    """Add a key that does not encrypt yet.

    Copy it to every machine first.
    """

    add(settings_of(data_dir=data_dir))


@keys.command("rotate")
def rotate_keys(
    to: Annotated[str | None, typer.Option(metavar="ID", help="Key of the file. Default: a new key.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Encrypt all stored secrets with another key, while the service runs."""

    rotate(settings_of(data_dir=data_dir), to)


@keys.command("drop")
def drop_key(key: KeyArgument, data_dir: DataDir = None) -> None:
    """Remove a key from the keys file.

    Refused while a secret needs it.
    """

    drop(settings_of(data_dir=data_dir), key)
