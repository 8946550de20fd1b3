"""The keys that seal what is stored, for whoever has the database and the keys file, beside the running service."""

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
from chamberlain.http.calls import new_trace_id
from chamberlain.secrets.keyring import Keyring, KeysFile, KeysUnusable
from chamberlain.settings import Settings


class IdentityKeys:
    """The platform's own keys, as the worker's role sees them."""

    def __init__(self, database: Database) -> None:
        self._pool = database.pool

    async def count(self) -> Mapping[str, int]:
        """How many are sealed with which key. Raises Unavailable."""
        with identity_unavailable():
            return await signing_keys.sealing_keys(self._pool)

    async def reseal(self, keyring: Keyring) -> tuple[int, int]:
        """Seal all of them anew; gives how many were sealed and how many could not be opened. Raises Unavailable."""
        with identity_unavailable():
            return await signing_keys.reseal(self._pool, keyring, KeysUnusable)


async def read_keys(settings: Settings) -> Sequence[KeyUse]:
    """The keys, and what is sealed with each. Raises CannotStart."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await KeyService(database, _keys_file(settings), IdentityKeys(database)).list()


def add_in_file(settings: Settings) -> str:
    """The id of a new key that does not seal yet. Raises CannotStart."""
    with expected_faults():
        return app_keys.add_key(_keys_file(settings))


async def rotate_in_file(settings: Settings, key_id: str | None) -> Rotation:
    """Have this key, or a new one, seal from now on, and seal all that is stored anew. Raises CannotStart and
    NotFound."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            keys = KeyService(database, _keys_file(settings), IdentityKeys(database))
            return await keys.rotate(key_id, actor=command_line(), trace_id=new_trace_id())


async def drop_in_file(settings: Settings, key_id: str) -> None:
    """Take a key out of the file. Raises CannotStart, NotFound and Conflict."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            keys = KeyService(database, _keys_file(settings), IdentityKeys(database))
            await keys.drop(key_id, actor=command_line(), trace_id=new_trace_id())


def _keys_file(settings: Settings) -> KeysFile:
    """The file that there is: a command that makes one would hide that the right one was not named."""
    if not settings.keys_file.exists():
        raise KeysUnusable(
            f"There is no keys file {settings.keys_file}. Name the --data-dir of the service, or CHAMBERLAIN_KEYS_FILE."
        )
    return KeysFile(settings.keys_file)


def print_keys(settings: Settings) -> None:
    """Print one line for each; a key that something is sealed with and that is missing ends the command with 1."""
    with told_faults():
        uses = asyncio.run(read_keys(settings))
    for use in uses:
        print(f"{use.id:12}  {_state(use):7}  {_secrets(use.secrets)}")
    if any(not use.is_there for use in uses):
        raise failed(f"{settings.keys_file} lacks keys with which stored secrets are sealed. Put their lines back.")


def add(settings: Settings) -> None:
    """Make a key that opens and does not seal yet, and say what to do with it."""
    with told_faults():
        name = add_in_file(settings)
    print(f"{name} is in {settings.keys_file} and does not seal yet.")
    print(f"Copy the file to every machine of the installation, then: chamberlain keys rotate --to {name}")


def rotate(settings: Settings, key_id: str | None) -> None:
    """Have another key seal, and say what is left to do."""
    with told_faults():
        rotation = asyncio.run(rotate_in_file(settings, key_id))
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
        asyncio.run(drop_in_file(settings, key_id))
    print(f"{key_id} is no longer in {settings.keys_file}. Take it out of the files of other machines as well.")


def _state(use: KeyUse) -> str:
    if not use.is_there:
        return "missing"
    return "seals" if use.seals else "opens"


def _secrets(number: int) -> str:
    return "1 stored secret" if number == 1 else f"{number} stored secrets"


keys = typer.Typer()

KeyArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of the key, as `keys list` shows it.")]


@keys.command("list")
def list_keys(data_dir: DataDir = None) -> None:
    """Print the keys of the keys file, and how much is sealed with each. The exit code is 1 when one is missing."""

    print_keys(settings_of(data_dir=data_dir))


@keys.command("add")
def add_key(data_dir: DataDir = None) -> None:
    """Make a key that does not seal yet, to be brought to every machine first."""

    add(settings_of(data_dir=data_dir))


@keys.command("rotate")
def rotate_keys(
    to: Annotated[str | None, typer.Option(metavar="ID", help="A key of the file; without it a new one.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Have another key seal from now on, and seal what is stored anew with it, beside the running service."""

    rotate(settings_of(data_dir=data_dir), to)


@keys.command("drop")
def drop_key(key: KeyArgument, data_dir: DataDir = None) -> None:
    """Take a key out of the keys file. Refused while something is sealed with it."""

    drop(settings_of(data_dir=data_dir), key)
