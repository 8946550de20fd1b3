"""The keys that seal what is stored, for whoever has the database and the keys file."""

from collections.abc import Sequence

from chamberlain.app import keys as app_keys
from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.commands.keys_sealed_keys import IdentityKeys
from chamberlain.app.databases import opened_at_hand
from chamberlain.app.errors import expected_faults
from chamberlain.app.keys import KeyService, KeyUse, Rotation
from chamberlain.http.calls import new_trace_id
from chamberlain.secrets.keyring import KeysUnusable
from chamberlain.secrets.keys_file import KeysFile
from chamberlain.settings import Settings


async def list_keys(settings: Settings) -> Sequence[KeyUse]:
    """The keys, and what is sealed with each. Raises CannotStart."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await KeyService(database, _keys_file(settings), IdentityKeys(database)).list()


def add_key(settings: Settings) -> str:
    """The id of a new key that does not seal yet. Raises CannotStart."""
    with expected_faults():
        return app_keys.add_key(_keys_file(settings))


async def rotate_keys(settings: Settings, key_id: str | None) -> Rotation:
    """Have this key, or a new one, seal from now on, and seal all that is stored anew. Raises CannotStart and
    NotFound."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            keys = KeyService(database, _keys_file(settings), IdentityKeys(database))
            return await keys.rotate(key_id, actor=command_line(), trace_id=new_trace_id())


async def drop_key(settings: Settings, key_id: str) -> None:
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
