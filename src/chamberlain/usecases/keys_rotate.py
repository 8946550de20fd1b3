"""Have another key seal from now on, and seal with it what is stored, beside running services.

Whoever reads the same keys file learns of the key when they seal, or meet what was sealed with it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from chamberlain.rules.callers import Actor
from chamberlain.rules.ids import TemplateId, TenantId, TraceId
from chamberlain.rules.keys import Rotation, change_of_keys, key_unknown
from chamberlain.rules.webhooks import WebhookKey
from chamberlain.store import changes, sealed_secrets, tenants
from chamberlain.store.database import Database
from chamberlain.store.keyring import Keyring, load_keyring
from chamberlain.store.keys_file import KeysFile, new_key

# Short enough that nobody waits noticeably for a secret that is being sealed.
_BATCH: Final = 100
_BEGINNING: Final[WebhookKey] = (TenantId(UUID(int=0)), TemplateId(UUID(int=0)))


@dataclass(frozen=True, slots=True)
class RotateKeys:
    """For whoever has the database, as the worker's role. `reseal_elsewhere` seals anew what is sealed beside our
    tables, and says how many it was and how many do not open."""

    database: Database
    file: KeysFile
    reseal_elsewhere: Callable[[Keyring], Awaitable[tuple[int, int]]]

    async def __call__(self, key_id: str | None, *, actor: Actor, trace_id: TraceId) -> Rotation:
        """Take this key of the file, or make one. Cut short, it is done to its end by doing it again with the key that
        is the first by then. Raises NotFound and KeysUnusable."""
        with self.file.alone():
            before = self.file.read().first
            chosen = await self._put_first(key_id, actor=actor, trace_id=trace_id)
        keyring = load_keyring(self.file.path)
        done, left = await self.reseal_elsewhere(keyring)
        after: WebhookKey | None = _BEGINNING
        while after is not None:
            async with self.database.across_tenants() as tx:
                batch = await sealed_secrets.reseal(tx, keyring, after, _BATCH)
            done, left, after = done + batch.done, left + batch.left, batch.next
        return Rotation(before, chosen, done, left)

    async def _put_first(self, key_id: str | None, *, actor: Actor, trace_id: TraceId) -> str:
        keys = self.file.read()
        if key_id is not None and key_id not in keys.by_id:
            raise key_unknown(key_id)
        if key_id == keys.first:
            return key_id
        name, key = new_key() if key_id is None else (key_id, keys.by_id[key_id])
        async with self.database.across_tenants() as tx:
            record = [
                change_of_keys(each.id, "rotate", name, actor=actor, trace_id=trace_id, before=keys.first)
                for each in await tenants.find_all(tx)
            ]
            await changes.record_all(tx, record)
            # Last: behind it nothing can fail but the commit.
            self.file.write(keys.with_first(name, key))
        return name
