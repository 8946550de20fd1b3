# SPDX-License-Identifier: Apache-2.0
"""Commands of encryption keys, for the machine with the keys file."""

from collections.abc import Mapping

import typer

from chamberlain.app import keys as app_keys
from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.errors import expected_faults, in_database
from chamberlain.app.identity import identity_unavailable
from chamberlain.app.keys import KeyService, KeyUse
from chamberlain.cli.errors import ExitCode, failed, reported_faults
from chamberlain.cli.formats import Output
from chamberlain.cli.output import Column
from chamberlain.database.transactions import Database
from chamberlain.embedded.identity import signing_keys
from chamberlain.observability.logs import new_trace_id
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
        """Encrypt all secrets again.

        Returns the numbers of encrypted and unreadable ones. Raises Unavailable.
        """
        with identity_unavailable():
            return await signing_keys.reseal(self._pool, keyring, KeysUnusable)


_COLUMNS = (Column("ID", "id"), Column("STATE", "state"), Column("STORED SECRETS", "secrets"))


def list_keys(settings: Settings, output: Output) -> None:
    """Print the keys and the number of secrets of each.

    Exits 1 if a key is missing.
    """
    uses = in_database(settings, lambda database: _key_service(settings, database).list())
    rows = [{"id": use.id, "state": _state(use), "secrets": use.secrets} for use in uses]
    output.show_records(rows, _COLUMNS, "keys")
    if any(not use.is_there for use in uses):
        raise failed(f"{settings.keys_file} lacks keys with which stored secrets are sealed. Put their lines back.")


def add_key(settings: Settings) -> None:
    """Add a key that does not encrypt yet."""
    with reported_faults(), expected_faults():
        name = app_keys.add_key(_keys_file(settings))
    print(f"{name} is in {settings.keys_file} and does not seal yet.")
    print(f"Copy the file to every machine of the installation, then: chamberlain keys rotate --to {name}")


def rotate_keys(settings: Settings, to: str | None) -> None:
    """Encrypt all stored secrets with another key; None is a new one."""
    rotation = in_database(
        settings,
        lambda database: _key_service(settings, database).rotate(to, actor=command_line(), trace_id=new_trace_id()),
    )
    print(f"{rotation.after} encrypts from now on; {_secrets(rotation.resealed)} encrypted again.")
    if rotation.after != rotation.before:
        print(f"{rotation.before} stays in {settings.keys_file}, and opens what backups of before hold.")
        print(f"When no backup and no cursor of before is needed: chamberlain keys drop {rotation.before}")
    if rotation.left:
        print(f"{_secrets(rotation.left)} left as before: no key of the file opens them. See `chamberlain keys list`.")
        raise typer.Exit(ExitCode.FAILED)


def drop_key(settings: Settings, key: str) -> None:
    """Remove a key from the keys file."""
    in_database(
        settings,
        lambda database: _key_service(settings, database).drop(key, actor=command_line(), trace_id=new_trace_id()),
    )
    print(f"{key} is no longer in {settings.keys_file}. Take it out of the files of other machines as well.")


def _key_service(settings: Settings, database: Database) -> KeyService:
    return KeyService(database, _keys_file(settings), IdentityKeys(database))


def _keys_file(settings: Settings) -> KeysFile:
    """Find the keys file.

    It is not created here, because a wrong path would go unnoticed.
    """
    if not settings.keys_file.exists():
        raise KeysUnusable(
            f"There is no keys file {settings.keys_file}. Name the --data-dir of the service, or CHAMBERLAIN_KEYS_FILE."
        )
    return KeysFile(settings.keys_file)


def _state(use: KeyUse) -> str:
    if not use.is_there:
        return "missing"
    return "seals" if use.seals else "opens"


def _secrets(number: int) -> str:
    return "1 stored secret" if number == 1 else f"{number} stored secrets"
