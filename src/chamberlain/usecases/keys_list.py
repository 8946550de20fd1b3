"""Show the keys of the keys file, and what is sealed with each."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from chamberlain.rules.keys import KeyUse, key_uses
from chamberlain.store import sealed_secrets
from chamberlain.store.database import Database
from chamberlain.store.keys_file import KeysFile


@dataclass(frozen=True, slots=True)
class ListKeys:
    """For whoever has the database, as the worker's role. `count_elsewhere` counts what is sealed beside our tables."""

    database: Database
    file: KeysFile
    count_elsewhere: Callable[[], Awaitable[Mapping[str, int]]]

    async def __call__(self) -> Sequence[KeyUse]:
        """The keys in the order of the file, then those that it lacks. Raises KeysUnusable."""
        keys = self.file.read()
        counts = Counter(await self.count_elsewhere())
        async with self.database.across_tenants() as tx:
            counts.update(await sealed_secrets.count(tx))
        return key_uses(list(keys.by_id), counts)
