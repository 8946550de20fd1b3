# SPDX-License-Identifier: Apache-2.0
"""List, add, rotate and drop encryption keys, beside running services.

Processes with the same keys file load a new key when they encrypt, or meet a secret that it encrypts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chamberlain.auth.models import Actor
from chamberlain.changes.models import Change, Subject
from chamberlain.core.errors import Conflict, NotFound
from chamberlain.core.ids import TenantId, TraceId

if TYPE_CHECKING:
    from chamberlain.core.values import Json
from collections import Counter
from typing import Final, Protocol
from uuid import UUID

from chamberlain.changes.records import record_changes
from chamberlain.connections import records as connection_records
from chamberlain.console import records as console_records
from chamberlain.core.ids import TemplateId
from chamberlain.database.transactions import Database
from chamberlain.secrets.keyring import Keyring, KeysFile, load_keyring, new_key
from chamberlain.template_admin import webhook_secrets
from chamberlain.template_admin.models import WebhookKey
from chamberlain.tenants import records as tenant_records


@dataclass(frozen=True, slots=True)
class KeyUse:
    """The use of a key: in the file, encrypting, number of secrets."""

    id: str
    is_there: bool
    seals: bool
    secrets: int


@dataclass(frozen=True, slots=True)
class Rotation:
    """The result of a rotation: keys, and numbers of secrets.

    Secrets are encrypted again or unreadable.
    """

    before: str
    after: str
    resealed: int
    left: int


def key_uses(ids: Sequence[str], counts: Mapping[str, int]) -> Sequence[KeyUse]:
    """List the keys of a file, then missing keys in use."""
    there = [
        KeyUse(each, is_there=True, seals=place == 0, secrets=counts.get(each, 0)) for place, each in enumerate(ids)
    ]
    missing = sorted(counts.keys() - set(ids))
    return [*there, *(KeyUse(each, is_there=False, seals=False, secrets=counts[each]) for each in missing)]


def require_droppable(key_id: str, uses: Sequence[KeyUse]) -> None:
    """Check that a key can be dropped. Raises NotFound and Conflict."""
    found = next((each for each in uses if each.id == key_id), None)
    if found is None or not found.is_there:
        raise key_unknown(key_id)
    if found.seals:
        detail = f'"{key_id}" is the key that seals. Run `chamberlain keys rotate` first.'
        raise Conflict("inUse", detail)
    if found.secrets:
        secrets = "1 stored secret is" if found.secrets == 1 else f"{found.secrets} stored secrets are"
        detail = f'{secrets} sealed with "{key_id}". Run `chamberlain keys rotate`, on every machine that has keys.'
        raise Conflict("inUse", detail)


def key_unknown(key_id: str) -> NotFound:
    """Return the error for a key that the file does not have."""
    return NotFound(f'The keys file has no key "{key_id}". `chamberlain keys list` shows those that it has.')


def change_of_keys(
    tenant_id: TenantId, verb: str, key_id: str, *, actor: Actor, trace_id: TraceId, before: str | None
) -> Change:
    """Build the audit entry of a key change for one tenant.

    Keys themselves are never recorded.
    """
    after: Mapping[str, Json] | None = {"sealsWith": key_id} if verb == "rotate" else None
    return Change(
        tenant_id=tenant_id,
        action=f"keys.{verb}",
        actor=actor,
        client_id=None,
        subject=Subject("key", None, key_id),
        before=None if before is None else {"sealsWith": before},
        after=after,
        request_id=None,
        trace_id=trace_id,
    )


# Short enough that calls which store a secret meanwhile do not wait noticeably.
_BATCH: Final = 100
_FIRST: Final[WebhookKey] = (TenantId(UUID(int=0)), TemplateId(UUID(int=0)))


class OtherSecrets(Protocol):
    """Secrets that other products encrypt with the same keys."""

    async def count(self) -> Mapping[str, int]:
        """Count the secrets of each key. Raises Unavailable."""
        ...

    async def reseal(self, keyring: Keyring) -> tuple[int, int]:
        """Encrypt all secrets with the first key.

        Returns how many it encrypted and how many it could not decrypt. Raises Unavailable.
        """
        ...


def add_key(file: KeysFile) -> str:
    """Add a key that only decrypts for now, and return its id.

    It can be copied to every machine before it encrypts. Raises KeysUnusable.
    """
    with file.alone():
        name, key = new_key()
        file.write(file.read().with_last(name, key))
    return name


@dataclass(frozen=True, slots=True)
class KeyService:
    """Manage the keys of one installation.

    The database has the role of a worker.
    """

    database: Database
    file: KeysFile
    others: OtherSecrets

    async def list(self) -> Sequence[KeyUse]:
        """List keys and their uses.

        The keys of the file come first, in its order, then missing ones. Raises KeysUnusable.
        """
        keys = self.file.read()
        counts = Counter(await self.others.count())
        async with self.database.across_tenants() as tx:
            counts.update(await webhook_secrets.count(tx))
            counts.update(await connection_records.count(tx))
            counts.update(await console_records.count(tx))
        return key_uses(list(keys.by_id), counts)

    async def rotate(self, key_id: str | None, *, actor: Actor, trace_id: TraceId) -> Rotation:
        """Encrypt all stored secrets with this key, or a new one.

        It is the active key from then on. After an interruption, repeat it with the key that is the first by then.
        Raises NotFound and KeysUnusable.
        """
        with self.file.alone():
            before = self.file.read().first
            chosen = await self._put_first(key_id, actor=actor, trace_id=trace_id)
        keyring = load_keyring(self.file.path)
        done, left = await self.others.reseal(keyring)
        after: WebhookKey | None = _FIRST
        while after is not None:
            async with self.database.across_tenants() as tx:
                batch = await webhook_secrets.reseal(tx, keyring, after, _BATCH)
            done, left, after = done + batch.done, left + batch.left, batch.next
        tenant: TenantId | None = _FIRST[0]
        while tenant is not None:
            async with self.database.across_tenants() as tx:
                connections = await connection_records.reseal(tx, keyring, tenant, _BATCH)
            done, left, tenant = done + connections.done, left + connections.left, connections.next
        session: bytes | None = b""
        while session is not None:
            async with self.database.across_tenants() as tx:
                sessions = await console_records.reseal(tx, keyring, session, _BATCH)
            done, left, session = done + sessions.done, left + sessions.left, sessions.next
        return Rotation(before, chosen, done, left)

    async def drop(self, key_id: str, *, actor: Actor, trace_id: TraceId) -> None:
        """Remove a key that encrypts nothing any more.

        Raises NotFound, Conflict if a secret needs the key, and KeysUnusable.
        """
        with self.file.alone():
            keys = self.file.read()
            counts = Counter(await self.others.count())
            async with self.database.across_tenants() as tx:
                # Waits for secrets that are being written, and counts them.
                await webhook_secrets.hold(tx)
                await connection_records.hold(tx)
                await console_records.hold(tx)
                counts.update(await webhook_secrets.count(tx))
                counts.update(await connection_records.count(tx))
                counts.update(await console_records.count(tx))
                require_droppable(key_id, key_uses(list(keys.by_id), counts))
                record = [
                    change_of_keys(each.id, "drop", key_id, actor=actor, trace_id=trace_id, before=None)
                    for each in await tenant_records.find_all(tx)
                ]
                await record_changes(tx, record)
                self.file.write(keys.without(key_id))

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
                for each in await tenant_records.find_all(tx)
            ]
            await record_changes(tx, record)
            # Last, so that only the commit can fail after it.
            self.file.write(keys.with_first(name, key))
        return name
