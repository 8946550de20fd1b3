"""What the embedded identity platform has sealed with our keys, for the commands that look after them."""

from collections.abc import Mapping

from chamberlain.app.identity import identity_unavailable
from chamberlain.database.transactions import Database
from chamberlain.embedded.identity import signing_keys
from chamberlain.secrets.keyring import Keyring, KeysUnusable


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
