"""Take a key out of the keys file, when nothing that is stored needs it any more."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from chamberlain.rules.callers import Actor
from chamberlain.rules.ids import TraceId
from chamberlain.rules.keys import change_of_keys, key_uses, require_droppable
from chamberlain.store import changes, sealed_secrets, tenants
from chamberlain.store.database import Database
from chamberlain.store.keys_file import KeysFile


@dataclass(frozen=True, slots=True)
class DropKey:
    """For whoever has the database, as the worker's role. `count_elsewhere` counts what is sealed beside our tables."""

    database: Database
    file: KeysFile
    count_elsewhere: Callable[[], Awaitable[Mapping[str, int]]]

    async def __call__(self, key_id: str, *, actor: Actor, trace_id: TraceId) -> None:
        """Raises NotFound, Conflict while something is sealed with it, and KeysUnusable."""
        with self.file.alone():
            keys = self.file.read()
            counts = Counter(await self.count_elsewhere())
            async with self.database.across_tenants() as tx:
                # What is just being written counts as well.
                await sealed_secrets.hold(tx)
                counts.update(await sealed_secrets.count(tx))
                require_droppable(key_id, key_uses(list(keys.by_id), counts))
                record = [
                    change_of_keys(each.id, "drop", key_id, actor=actor, trace_id=trace_id, before=None)
                    for each in await tenants.find_all(tx)
                ]
                await changes.record_all(tx, record)
                self.file.write(keys.without(key_id))
