"""Put on record that a token was given out on this machine without a sign-in."""

from dataclasses import dataclass

from chamberlain.rules.changes import Change
from chamberlain.store import changes
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class RecordToken:
    """Writes the audit row of a local token."""

    database: Database

    async def __call__(self, change: Change) -> None:
        """Raises Unavailable; then the token is not to be handed out."""
        async with self.database.transaction(change.tenant_id) as tx:
            await changes.record(tx, change)
