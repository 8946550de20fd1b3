"""Those whom adoptions take, by name: what is reserved for each, and what has become of them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from chamberlain.adoptions import store
from chamberlain.adoptions.models import ItemState, Obstacle
from chamberlain.adoptions.models_adoption_records import AdoptionItem, AdoptionRecord, RefusedItem
from chamberlain.core.ids import RequestId
from chamberlain.database.transactions import Record, Transaction

# Rows that others may wait for come in the order of their keys.
INSERT: Final = """
INSERT INTO chamberlain.adoption_item (tenant_id, adoption_id, object_id, request_id, display_name, mail, held, state)
SELECT $1, $2, i.object_id, i.request_id, i.display_name, i.mail, i.held::json, 'pending'
FROM unnest($3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[])
    AS i (object_id, request_id, display_name, mail, held)
ORDER BY i.object_id ON CONFLICT DO NOTHING RETURNING object_id
"""
RESERVE: Final = """
INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id)
SELECT $1, r.kind, r.value, r.request_id
FROM unnest($2::text[], $3::text[], $4::uuid[]) AS r (kind, value, request_id)
ORDER BY r.kind, r.value ON CONFLICT DO NOTHING RETURNING value
"""
GIVE_BACK: Final = """
DELETE FROM chamberlain.reservation v
USING unnest($2::text[], $3::text[], $4::uuid[]) AS r (kind, value, request_id)
WHERE v.tenant_id = $1 AND v.kind = r.kind AND v.value = r.value AND v.request_id = r.request_id
"""

# Who was not tried yet comes first, and then who has waited longest.
FIND: Final = """
SELECT object_id, request_id, display_name, mail, held, waits_since FROM chamberlain.adoption_item
WHERE tenant_id = $1 AND adoption_id = $2 AND state = ANY ($3) AND object_id <> ALL ($5)
ORDER BY state, waits_since NULLS FIRST, object_id LIMIT $4
"""
REFUSED: Final = """
SELECT object_id, request_id, display_name, mail, held, code, detail, waits_since FROM chamberlain.adoption_item
WHERE tenant_id = $1 AND adoption_id = $2 AND state IN ('refused', 'released') AND code IS NOT NULL
ORDER BY object_id LIMIT $3
"""
LEFT_OF: Final = """
SELECT object_id FROM chamberlain.adoption_item
WHERE tenant_id = $1 AND adoption_id = $2 AND object_id = ANY ($3) AND state = ANY ($4)
"""
WAIT: Final = """
UPDATE chamberlain.adoption_item SET waits_since = coalesce(waits_since, $4)
WHERE tenant_id = $1 AND adoption_id = $2 AND object_id = ANY ($3)
"""
WAIT_ANEW: Final = """
UPDATE chamberlain.adoption_item SET waits_since = NULL
WHERE tenant_id = $1 AND adoption_id = $2 AND waits_since IS NOT NULL
"""
SETTLE: Final = """
UPDATE chamberlain.adoption_item t SET state = $3, code = i.code, detail = i.detail
FROM unnest($4::uuid[], $5::text[], $6::text[]) AS i (object_id, code, detail)
WHERE t.tenant_id = $1 AND t.adoption_id = $2 AND t.object_id = i.object_id
"""

_encode = msgspec.json.Encoder().encode
_decode_held = msgspec.json.Decoder(frozenset[tuple[str, str]]).decode


async def put_new(tx: Transaction, record: AdoptionRecord, items: Sequence[AdoptionItem]) -> bool:
    """Write down who is taken, and reserve what must be each one's own. False when somebody else has got some of it
    meanwhile; then the transaction must not be committed."""
    got = await tx.fetch(RESERVE, record.tenant_id, *_held(items))
    new = await tx.fetch(
        INSERT,
        record.tenant_id,
        record.id,
        [item.id for item in items],
        [item.request_id for item in items],
        [item.display_name for item in items],
        [item.mail for item in items],
        [_encode(sorted(item.held)).decode() for item in items],
    )
    return len(got) == sum(len(item.held) for item in items) and len(new) == len(items)


async def find(
    tx: Transaction, record: AdoptionRecord, states: Collection[ItemState], most: int, *, but: Collection[UUID] = ()
) -> Sequence[AdoptionItem]:
    """Some of those in these states, but not of these."""
    rows = await tx.fetch(FIND, record.tenant_id, record.id, list(states), most, list(but))
    return [_item(row) for row in rows]


async def find_refused(tx: Transaction, record: AdoptionRecord, most: int) -> Sequence[RefusedItem]:
    """Some of those that could not be taken, and why, and of those that were given back and keep their mark."""
    rows = await tx.fetch(REFUSED, record.tenant_id, record.id, most)
    return [RefusedItem(_item(row), Obstacle(row["code"], row["detail"])) for row in rows]


async def left_of(
    tx: Transaction, record: AdoptionRecord, items: Sequence[AdoptionItem], states: Collection[ItemState]
) -> frozenset[UUID]:
    """Those of these that are in one of these states still."""
    rows = await tx.fetch(LEFT_OF, record.tenant_id, record.id, [item.id for item in items], list(states))
    return frozenset([row["object_id"] for row in rows])


async def wait(tx: Transaction, record: AdoptionRecord, ids: Collection[UUID], *, at: datetime) -> None:
    """Remember since when the directory keeps these waiting."""
    if ids:
        await tx.execute(WAIT, record.tenant_id, record.id, list(ids), at)


async def wait_anew(tx: Transaction, record: AdoptionRecord) -> None:
    """Forget since when the directory has kept anybody waiting: something else is asked of it from now on."""
    await tx.execute(WAIT_ANEW, record.tenant_id, record.id)


async def take(tx: Transaction, record: AdoptionRecord, items: Sequence[AdoptionItem], *, at: datetime) -> None:
    """These are taken."""
    await _settle(tx, record, items, ItemState.ADOPTED)
    await store.count(tx, record, adopted=len(items), at=at)


async def refuse(tx: Transaction, record: AdoptionRecord, refused: Sequence[RefusedItem], *, at: datetime) -> None:
    """Let others have the names of those that cannot be taken, and keep why."""
    if refused:
        items = [each.item for each in refused]
        await _settle(tx, record, items, ItemState.REFUSED, [each.obstacle for each in refused])
        await _give_back(tx, record, items)
        await store.count(tx, record, refused=len(refused), at=at)


async def release(tx: Transaction, record: AdoptionRecord, items: Sequence[AdoptionItem], *, at: datetime) -> None:
    """Let others have the names of those that are given back."""
    await _settle(tx, record, items, ItemState.RELEASED)
    await _give_back(tx, record, items)
    await store.count(tx, record, released=len(items), at=at)


async def tell(tx: Transaction, record: AdoptionRecord, released: Sequence[RefusedItem]) -> None:
    """Keep what is to be said of some that were given back."""
    if released:
        items, obstacles = [each.item for each in released], [each.obstacle for each in released]
        await _settle(tx, record, items, ItemState.RELEASED, obstacles)


async def _settle(
    tx: Transaction,
    record: AdoptionRecord,
    items: Sequence[AdoptionItem],
    state: ItemState,
    obstacles: Sequence[Obstacle] = (),
) -> None:
    """Let these be in another state, with why, where that is to be said."""
    said: Sequence[tuple[str | None, str | None]] = [(each.code, each.detail) for each in obstacles]
    columns = zip(*(said or [(None, None)] * len(items)), strict=True)
    ids = [item.id for item in items]
    await tx.execute(SETTLE, record.tenant_id, record.id, state, ids, *map(list, columns))


async def _give_back(tx: Transaction, record: AdoptionRecord, items: Sequence[AdoptionItem]) -> None:
    """Let others have the names and addresses that are reserved for these."""
    await tx.execute(GIVE_BACK, record.tenant_id, *_held(items))


def _held(items: Sequence[AdoptionItem]) -> tuple[list[str], list[str], list[RequestId]]:
    """What is reserved for these, in columns: kind, value, and for which request."""
    held = [(kind, value, item.request_id) for item in items for kind, value in item.held]
    return [kind for kind, _, _ in held], [value for _, value, _ in held], [request_id for _, _, request_id in held]


def _item(row: Record) -> AdoptionItem:
    return AdoptionItem(
        id=row["object_id"],
        request_id=RequestId(row["request_id"]),
        display_name=row["display_name"],
        mail=row["mail"],
        held=_decode_held(row["held"]),
        waits_since=row["waits_since"],
    )
