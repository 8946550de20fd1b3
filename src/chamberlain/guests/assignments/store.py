# SPDX-License-Identifier: Apache-2.0
"""Read and change assignments, batched for concurrent callers.

Both statements are functions of the database (sql/assignments.sql). A change is an optimistic write: after a conflict
it is decided again. A change of a locked group, template or policy is retried after a pause. Meanwhile it delays no
other change and holds no connection.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final
from uuid import UUID
from weakref import WeakValueDictionary

import asyncpg
import msgspec

from chamberlain.changes.records import audit_payload, encode_actor, event_data
from chamberlain.core.errors import Unavailable
from chamberlain.core.ids import EventId, GroupId, PolicyId, RequestId, TemplateId, TenantId
from chamberlain.database.batching import Batcher
from chamberlain.database.transactions import Connection, Database, Overtaken, Record, Transaction, repeat_if_stale
from chamberlain.guests.assignments.models import ALL_ZERO, Assign, AssignmentOrder, FieldChange, Keep
from chamberlain.guests.assignments.rules import (
    AssignmentContext,
    AssignmentDraft,
    NewGroup,
    NewGroupDraft,
    assignment_document,
    draft_for_group,
)
from chamberlain.guests.models import Assignment, Place
from chamberlain.guests.policies.models import PolicyHead
from chamberlain.guests.subjects import records as subject_records
from chamberlain.guests.subjects.records import to_record
from chamberlain.queries import load_queries
from chamberlain.templates.drafts import Moment
from chamberlain.templates.models import TemplateHead, TemplateKind

SQL = load_queries(__name__)
FIND: Final = SQL["find"]


@dataclass(frozen=True, slots=True)
class ContextQuery:
    """Of which group or site something is asked."""

    tenant_id: TenantId
    subject_id: GroupId
    order: AssignmentOrder


CHANGE: Final = SQL["change"]
# As many as a worker's batch: a transaction that holds more rows makes others wait for longer.
MAX_BATCH: Final = 128
# Timeout of a change of a locked group or site. A policy run over a large group takes seconds.
LOCK_TIMEOUT = timedelta(seconds=10)
# Backoff. Most locks last for some milliseconds.
MIN_PAUSE, MAX_PAUSE = timedelta(milliseconds=2), timedelta(milliseconds=100)
_encode = msgspec.json.Encoder().encode


class _Outcome(Enum):
    """The outcome of a change: written, overtaken or blocked by a lock."""

    WRITTEN = auto()
    OVERTAKEN = auto()
    LOCKED = auto()


@dataclass(slots=True, weakref_slot=True, eq=False)
class _SubjectLock:
    """Serializes the changes of a group or site within the process.

    `moved_at` is the end of the last one, `since` the start of the wait for a lock of others. Both are times of the
    event loop.
    """

    lock: asyncio.Lock
    moved_at: float = 0.0
    since: float = 0.0


class Assigner:
    """Read and change assignments for a process.

    `timeout` limits the wait for a locked group or site.
    """

    def __init__(self, database: Database, *, timeout: timedelta = LOCK_TIMEOUT) -> None:
        self._database = database
        self._patience = timeout
        self._queries = Batcher[ContextQuery, AssignmentContext | None](self._find, most=MAX_BATCH)
        self._changes = Batcher[AssignmentDraft, _Outcome](
            self._change, divisible=(asyncpg.PostgresError,), most=MAX_BATCH
        )
        # Those who change one group in this process come one after the other, so that none is overtaken for nothing.
        self._locks = WeakValueDictionary[Place, _SubjectLock]()

    @asynccontextmanager
    async def turn(self, tenant_id: TenantId, subject_id: GroupId) -> AsyncIterator[None]:
        """Serialize changes of a group or site within the process.

        A caller behind others who waited for the same lock shares their timeout.
        """
        clock = asyncio.get_running_loop().time
        came_at = clock()
        turn = self._locks.setdefault((tenant_id, subject_id), _SubjectLock(asyncio.Lock()))
        async with turn.lock:
            turn.since = max(came_at, turn.moved_at)
            yield
            turn.moved_at = clock()

    async def context(
        self, tenant_id: TenantId, subject_id: GroupId, order: AssignmentOrder
    ) -> AssignmentContext | None:
        """Read the state of a group or site, or None. Raises Unavailable."""
        return await self._queries.submit(ContextQuery(tenant_id, subject_id, order))

    async def change(self, draft: AssignmentDraft) -> bool:
        """Write a draft with all its rows.

        Returns False if it was overtaken. Raises Unavailable, also if the group or site stays locked.
        """
        turn = self._locks.get((draft.before.entry.tenant_id, draft.before.entry.id))
        since = asyncio.get_running_loop().time() if turn is None else turn.since
        end = since + self._patience.total_seconds()
        outcome, pause = await self._try(draft), MIN_PAUSE
        while outcome is _Outcome.LOCKED:
            if asyncio.get_running_loop().time() >= end:
                detail = (
                    "This group, or its new template or policy, is locked by another change. Send the request again."
                )
                raise Unavailable("overloaded", detail)
            await asyncio.sleep(pause.total_seconds())
            outcome, pause = await self._try(draft), min(2 * pause, MAX_PAUSE)
        return outcome is _Outcome.WRITTEN

    async def _try(self, draft: AssignmentDraft) -> _Outcome:
        try:
            return await self._changes.submit(draft)
        except asyncpg.DeadlockDetectedError as error:
            raise Overtaken from error

    async def close(self) -> None:
        """Wait for running statements."""
        await self._queries.close()
        await self._changes.close()

    async def _find(self, queries: Sequence[ContextQuery]) -> Sequence[AssignmentContext | None]:
        columns = to_parameters(queries)
        async with self._database.statement() as connection:
            rows = await repeat_if_stale(lambda: _fetch(connection, FIND, columns))
        return to_contexts(rows, queries)

    async def _change(self, drafts: Sequence[AssignmentDraft]) -> Sequence[_Outcome]:
        columns = _columns(drafts)
        try:
            async with self._database.statement() as connection:
                rows = await repeat_if_stale(lambda: _fetch(connection, CHANGE, columns))
        except asyncpg.LockNotAvailableError:
            # The statement waits for no row lock. So a table is locked, as in a migration, and all changes have to
            # wait.
            return [_Outcome.LOCKED] * len(drafts)
        told = {row["ordinal"] for row in rows}
        return [_outcome(ordinal, told) for ordinal in range(1, len(drafts) + 1)]


def to_parameters(queries: Sequence[ContextQuery]) -> Sequence[Sequence[object]]:
    """Convert queries to the parameters of FIND."""
    return (
        [each.tenant_id for each in queries],
        [each.subject_id for each in queries],
        [_wanted(each.order.template) for each in queries],
        [_wanted(each.order.policy) for each in queries],
    )


def to_contexts(rows: Sequence[Record], queries: Sequence[ContextQuery]) -> Sequence[AssignmentContext | None]:
    """Convert rows in the order of the queries. None means unknown."""
    found = {row["ordinal"]: row for row in rows}
    return [
        _context(found[ordinal], query) if ordinal in found else None for ordinal, query in enumerate(queries, start=1)
    ]


async def draft_new_groups(
    tx: Transaction, groups: Sequence[NewGroup], *, new_id: Callable[[], UUID], now: datetime
) -> Sequence[NewGroupDraft]:
    """Record new groups, and draft their assignments.

    Their templates and policies stay locked until the transaction ends, which has to write the drafts. Lists show the
    groups from then on, before discovery finds them.
    """
    assigned = [new for new in groups if new.assignment != Assignment()]
    if assigned:
        tenants = [new.entry.tenant_id for new in assigned]
        await tx.execute(SQL["lock_templates"], tenants, [new.assignment.template_id for new in assigned])
        await tx.execute(SQL["lock_policies"], tenants, [new.assignment.policy_id for new in assigned])
    await subject_records.observe(tx, [new.entry for new in groups])
    drafts = iter(await _draft_assigned(tx, assigned, new_id=new_id, now=now) if assigned else ())
    return [NewGroupDraft(None, ()) if new.assignment == Assignment() else next(drafts) for new in groups]


async def _draft_assigned(
    tx: Transaction, groups: Sequence[NewGroup], *, new_id: Callable[[], UUID], now: datetime
) -> Sequence[NewGroupDraft]:
    queries = [ContextQuery(new.entry.tenant_id, new.entry.id, new.order) for new in groups]
    contexts = to_contexts(await tx.fetch(FIND, *to_parameters(queries)), queries)
    return [
        NewGroupDraft(None, ())
        if context is None
        else draft_for_group(
            new,
            context,
            request_id=RequestId(new_id()),
            body=_encode(assignment_document(new.assignment)),
            moment=Moment(EventId(new_id()), now),
        )
        for new, context in zip(groups, contexts, strict=True)
    ]


async def write(tx: Transaction, drafts: Sequence[AssignmentDraft]) -> None:
    """Write drafts of new groups in the transaction that completes their requests.

    Raises Overtaken if a row is locked.
    """
    if any(ordinal < 0 for ordinal in await _change(tx, drafts)):
        raise Overtaken


async def find_contexts(tx: Transaction, queries: Sequence[ContextQuery]) -> Sequence[AssignmentContext | None]:
    """Read the states of groups and sites in a transaction, in order."""
    return to_contexts(await tx.fetch(FIND, *to_parameters(queries)), queries)


def encode_order(order: AssignmentOrder) -> bytes:
    """Encode a change as the body of a PATCH."""
    fields = (("templateId", order.template), ("policyId", order.policy))
    return _encode({name: _wanted(wish) or ALL_ZERO for name, wish in fields if wish != Keep()})


async def write_all(tx: Transaction, drafts: Sequence[AssignmentDraft]) -> None:
    """Write all drafts in a transaction.

    Raises Overtaken if a row is locked or has changed. The transaction must then be rolled back.
    """
    if await _change(tx, drafts) != set(range(1, len(drafts) + 1)):
        raise Overtaken


async def _change(tx: Transaction, drafts: Sequence[AssignmentDraft]) -> set[int]:
    """Write drafts and return the ordinals of the changed rows.

    They are counted from 1. Those of locked rows are negative.
    """
    if not drafts:
        return set()
    try:
        return {row["ordinal"] for row in await tx.fetch(CHANGE, *_columns(drafts))}
    except asyncpg.LockNotAvailableError as error:
        raise Overtaken from error


async def _fetch(connection: Connection, statement: str, columns: Sequence[Sequence[object]]) -> Sequence[Record]:
    return await connection.fetch(statement, *columns)


def _columns(drafts: Sequence[AssignmentDraft]) -> Sequence[Sequence[object]]:
    return list(zip(*map(_row, drafts), strict=True))


def _outcome(ordinal: int, told: Collection[int]) -> _Outcome:
    if ordinal in told:
        return _Outcome.WRITTEN
    return _Outcome.LOCKED if -ordinal in told else _Outcome.OVERTAKEN


def _wanted(wish: FieldChange) -> UUID | None:
    return wish.id if isinstance(wish, Assign) else None


def _context(row: Record, query: ContextQuery) -> AssignmentContext:
    tenant_id, order = query.tenant_id, query.order
    return AssignmentContext(
        record=to_record(row),
        template=_template(row, "", tenant_id, row["template_id"]),
        policy=_policy(row, "", tenant_id, row["policy_id"]),
        wanted_template=_template(row, "wanted_", tenant_id, _wanted(order.template)),
        wanted_policy=_policy(row, "wanted_", tenant_id, _wanted(order.policy)),
    )


def _row(draft: AssignmentDraft) -> tuple[object, ...]:
    change, entry, template = draft.change, draft.before.entry, draft.template
    event = change.event
    return (
        entry.tenant_id,
        entry.id,
        draft.before.generation,
        draft.after.template_id,
        draft.after.policy_id,
        draft.new_template_id,
        draft.new_policy_id,
        draft.at,
        encode_actor(change.actor),
        draft.request_id,
        entry.display_name,
        template and template.id,
        template and template.revision,
        template and template.name,
        draft.body.decode(),
        _encode(draft.steps).decode(),
        # Empty for the command line of an operator, which is no client of the API.
        change.client_id or "",
        change.actor.type,
        change.actor.id,
        change.actor.display_name,
        change.trace_id,
        change.action,
        audit_payload(change),
        event and event.id,
        event and event.type,
        event and event_data(event),
    )


def _template(row: Record, prefix: str, tenant_id: TenantId, template_id: UUID | None) -> TemplateHead | None:
    if template_id is None or row[f"{prefix}template_kind"] is None:
        return None
    return TemplateHead(
        tenant_id=tenant_id,
        id=TemplateId(template_id),
        revision=row[f"{prefix}template_revision"],
        kind=TemplateKind(row[f"{prefix}template_kind"]),
        name=row[f"{prefix}template_name"],
        active=row[f"{prefix}template_active"],
    )


def _policy(row: Record, prefix: str, tenant_id: TenantId, policy_id: UUID | None) -> PolicyHead | None:
    if policy_id is None or row[f"{prefix}policy_revision"] is None:
        return None
    return PolicyHead(
        tenant_id=tenant_id,
        id=PolicyId(policy_id),
        revision=row[f"{prefix}policy_revision"],
        name=row[f"{prefix}policy_name"],
        active=row[f"{prefix}policy_active"],
    )
