"""Group commit: concurrent submissions are one statement and one transaction.

A submission is answered after the commit. A faulty one is isolated by halving the batch. A submission that needs a name
which another transaction holds waits beside the batches, so that it delays no other.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import timedelta
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar
from uuid import UUID

import asyncpg
import msgspec

from chamberlain.changes.records import audit_payload, event_data
from chamberlain.core.errors import BodyInvalid, Conflict, Fault, Unavailable
from chamberlain.core.ids import RequestId
from chamberlain.database.batching import Batcher
from chamberlain.database.transactions import Connection, Database, Overtaken, Record, repeat_if_stale
from chamberlain.directory.models import MailAddress
from chamberlain.requests.models import (
    AddressTaken,
    Again,
    Draft,
    LimitFull,
    MailboxDraft,
    NameTaken,
    Replayed,
    Reused,
    TemplateChanged,
    Verdict,
    Written,
    blocked_by,
)

Item = TypeVar("Item")


class Column(NamedTuple, Generic[Item]):
    """An array argument of accept_requests, and its value for one item."""

    name: str
    value: Callable[[Item], object]


# Drafts of one caller and template have the same origin, which is sent once: half of the columns.
ORIGIN_COLUMNS: Final[tuple[Column[Draft], ...]] = (
    Column("tenant_ids", lambda draft: draft.change.tenant_id),
    Column("tenant_revisions", lambda draft: draft.tenant_revision),
    Column("kinds", lambda draft: draft.kind),
    Column("states", lambda draft: draft.state),
    Column("template_ids", lambda draft: draft.template_id),
    Column("template_revisions", lambda draft: draft.template_revision),
    Column("template_names", lambda draft: draft.template_name),
    Column("approvals_required", lambda draft: draft.approval_required),
    Column("people_checked", lambda draft: draft.people_checked),
    Column("steps", lambda draft: _json(draft.steps)),
    Column("client_ids", lambda draft: draft.change.client_id),
    Column("actor_types", lambda draft: draft.change.actor.type),
    Column("actor_ids", lambda draft: draft.change.actor.id),
    Column("actor_names", lambda draft: draft.change.actor.display_name),
    Column("job_kinds", lambda draft: draft.job),
    Column("audit_actions", lambda draft: draft.change.action),
    Column("approvals", lambda draft: _json(draft.approvals) if draft.approvals else None),
    Column("blocked", lambda draft: blocked_by(draft.approvals)),
    Column("warnings", lambda draft: _json(draft.warnings) if draft.warnings else None),
    Column("template_sources", lambda draft: draft.mailbox.template_source if draft.mailbox else None),
)
DRAFT_COLUMNS: Final[tuple[Column[Draft], ...]] = (
    Column("request_ids", lambda draft: draft.request_id),
    Column("digests", lambda draft: draft.idempotency.digest if draft.idempotency else None),
    Column("event_ids", lambda draft: draft.change.event.id if draft.change.event else None),
    Column("display_names", lambda draft: draft.display_name),
    Column("mail_nicknames", lambda draft: draft.addresses[0].mail_nickname if draft.addresses else None),
    Column("addresses", lambda draft: draft.addresses[0].mail if draft.addresses else None),
    Column("second_nicknames", lambda draft: second.mail_nickname if (second := _second_address(draft)) else None),
    Column("second_addresses", lambda draft: second.mail if (second := _second_address(draft)) else None),
    Column("bodies", lambda draft: draft.body.decode()),
    Column("trace_ids", lambda draft: draft.change.trace_id),
    Column("keys", lambda draft: draft.idempotency.key if draft.idempotency else None),
    Column("audit_payloads", lambda draft: audit_payload(draft.change)),
    Column("event_types", lambda draft: draft.change.event.type if draft.change.event else None),
    Column("event_data", lambda draft: event_data(draft.change.event) if draft.change.event else None),
)
MAILBOX_COLUMNS: Final[tuple[Column[MailboxDraft], ...]] = (
    Column("mailbox_ids", lambda mailbox: mailbox.id),
    Column("mailbox_names", lambda mailbox: mailbox.order.name),
    Column("mailbox_name_keys", lambda mailbox: mailbox.name_key),
    Column("mailbox_aliases", lambda mailbox: mailbox.alias),
    Column("mailbox_readers", lambda mailbox: f"{{{','.join(map(str, sorted(mailbox.readers)))}}}"),
    Column("mailbox_contents", lambda mailbox: mailbox.content.decode()),
)

_encode = msgspec.json.Encoder().encode


def accept_statement(held_addresses: str | None) -> str:
    """Generate the call of accept_requests from the columns.

    `held_addresses` is the function in the same database that finds addresses in use in the directory.
    """
    names = [
        *(column.name for column in ORIGIN_COLUMNS),
        "origins",
        *(column.name for column in DRAFT_COLUMNS),
        "mailbox_items",
        *(column.name for column in MAILBOX_COLUMNS),
    ]
    arguments = [f"{name} => ${number}" for number, name in enumerate(names, start=1)]
    if held_addresses is not None:
        tenants, addresses, places = (f"${len(names) + each}" for each in (1, 2, 3))
        found = f"unnest({held_addresses}({tenants}, {addresses}::text[]))"
        held = f"SELECT ({places}::bigint[])[held.place] FROM {found} AS held (place)"  # noqa: S608 - text of ours alone.
        arguments.append(f"held => ARRAY({held})")
    result = "SELECT ordinal, outcome, request_id, approval_required, now() AS at"
    return f"{result} FROM chamberlain.accept_requests({', '.join(arguments)})"


def columns_of(drafts: Sequence[Draft]) -> list[Sequence[object]]:
    """Build the arguments of accept_requests, in the order of the statement."""
    origins: dict[tuple[object, ...], int] = {}
    numbers = [
        origins.setdefault(tuple([column.value(draft) for column in ORIGIN_COLUMNS]), len(origins) + 1)
        for draft in drafts
    ]
    items = [(item, draft.mailbox) for item, draft in enumerate(drafts, start=1) if draft.mailbox]
    mailboxes = [mailbox for _, mailbox in items]
    return [
        *zip(*origins, strict=True),
        numbers,
        *(_array(column, drafts) for column in DRAFT_COLUMNS),
        [item for item, _ in items],
        *(_array(column, mailboxes) for column in MAILBOX_COLUMNS),
    ]


def _array(column: Column[Item], items: Sequence[Item]) -> Sequence[object]:
    """Build one array.

    The function reads missing elements as null, so an array of nulls is sent empty.
    """
    values = [column.value(item) for item in items]
    return values if any(values) else ()


def _json(value: object) -> str:
    return _encode(value).decode()


def _second_address(draft: Draft) -> MailAddress | None:
    return draft.addresses[1] if len(draft.addresses) > 1 and not draft.ask_addresses else None


def directory_question(drafts: Sequence[Draft]) -> list[Sequence[object]]:
    """Build the arguments of `held_addresses`: tenants, addresses, and drafts."""
    asked = [
        (draft.change.tenant_id, address, item)
        for item, draft in enumerate(drafts, start=1)
        if draft.ask_addresses
        for address in _addresses(draft)
    ]
    return list(zip(*asked, strict=True)) if asked else [(), (), ()]


def _addresses(draft: Draft) -> Iterator[str]:
    yield draft.addresses[0].mail
    if draft.mailbox is not None and draft.mailbox.alias is not None:
        yield draft.mailbox.alias


def verdicts_of(rows: Sequence[Record], number: int) -> list[Verdict]:
    """Return the verdict of each draft, in order.

    A row reports a draft that was not written. The row without one has the time of the others.
    """
    at = next((row["at"] for row in rows if row["ordinal"] == 0), None)
    verdicts: list[Verdict] = [Written(at)] * number
    for row in rows:
        if row["ordinal"] > 0:
            verdicts[row["ordinal"] - 1] = _verdict(row)
    return verdicts


def _verdict(row: Record) -> Verdict:
    match row["outcome"]:
        case "replayed":
            return Replayed(RequestId(row["request_id"]), row["approval_required"])
        case "reused":
            return Reused()
        case "nameTaken":
            return NameTaken()
        case "addressTaken":
            return AddressTaken()
        case "templateChanged":
            return TemplateChanged()
        case "openRequests" | "requestsPerMinute" as limit:
            return LimitFull(limit)
        case "again":
            return Again()
        case other:
            raise RuntimeError(f"accept_requests knows an outcome that is not known here: {other}")


# How long a submission waits for another's uncommitted name or key before it is refused.
PATIENCE = timedelta(seconds=10)
# The function looks at the whole batch once for each tenant in it: with a tenant for each draft, 512 drafts take 0.6 s,
# and 128 a sixteenth of that.
MOST_TOGETHER = 128
# Of bodies in one statement. So many small ones are far below this; a larger one is written alone and delays no other.
MOST_BYTES = 256 * 1024
# Of bodies that wait to be written. In memory each is there several times.
MOST_BYTES_WAITING = 64 * 1024 * 1024
# While one commit waits for the disk, another one is made ready; PostgreSQL then writes both at once.
AT_ONCE = 2
# Of those who wait for a name, each with a connection while it looks. The others have theirs.
PATIENT_AT_ONCE = 2

# The first two tell of a NUL. The other character that no text can hold, half of a surrogate pair, does not pass as
# JSON.
NOT_STORABLE = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError)

# The tenant, the kind of name, and the name: only one can have it.
_Claim: TypeAlias = tuple[UUID, str, str]


class Acceptor:
    """Writes drafts, many at a time.

    `patience` is how long a draft waits for a transaction that holds its name or key and is not committed.
    `observe` gets the size of each batch. `held_addresses` is the function in the same database that tells which
    addresses the directory has given away, if it has one.
    """

    def __init__(
        self,
        database: Database,
        *,
        held_addresses: str | None = None,
        observe: Callable[[int], None] = lambda _: None,
        patience: timedelta = PATIENCE,
    ) -> None:
        self.asks_addresses = held_addresses is not None
        self._statement = accept_statement(held_addresses)
        self._database = database
        self._observe = observe
        self._patience = patience
        self._batcher: Batcher[Draft, Verdict] = Batcher(
            self._flush,
            divisible=(asyncpg.PostgresError,),
            causes=lambda draft, error: _claims(draft) if isinstance(error, asyncpg.LockNotAvailableError) else (),
            weigh=lambda draft: len(draft.body),
            # A number is looked up sooner than an id.
            owner=lambda draft: draft.change.tenant_id.int,
            most=MOST_TOGETHER,
            most_weight=MOST_BYTES,
            at_once=AT_ONCE,
            pending_weight_limit=MOST_BYTES_WAITING,
        )
        # Reserved names, with the number of waiting drafts.
        self._held: Counter[_Claim] = Counter()
        self._patient = asyncio.Semaphore(PATIENT_AT_ONCE)

    async def accept(self, draft: Draft) -> Verdict:
        """Write the draft with all its rows.

        Raises Unavailable when it was not written, BodyInvalid when it cannot be written, and Conflict when another
        transaction holds its key for too long.
        """
        try:
            # Together with others it would have all of them wait.
            if self._held and not self._held.keys().isdisjoint(_claims(draft)):
                return await self._accept_patiently(draft)
            try:
                return await self._batcher.submit(draft)
            except asyncpg.LockNotAvailableError:
                return await self._accept_patiently(draft)
        except asyncpg.DeadlockDetectedError as error:
            raise Overtaken from error
        except NOT_STORABLE as error:
            detail = "A text holds a character that cannot be stored, such as NUL. Leave it out."
            raise BodyInvalid([Fault("", "invalidText", detail)]) from error

    async def close(self) -> None:
        """Wait for open flushes."""
        await self._batcher.close()

    async def _accept_patiently(self, draft: Draft) -> Verdict:
        # Separate from the batches, so that no other draft waits for this name.
        end = asyncio.get_running_loop().time() + self._patience.total_seconds()
        with self._waiting_for(_claims(draft)):
            while await self._has_turn(end):
                try:
                    return (await self._flush([draft]))[0]
                except asyncpg.LockNotAvailableError:
                    # Another waiting draft is checked next.
                    continue
                finally:
                    self._patient.release()
        if draft.idempotency is None:
            raise Unavailable("overloaded", "Another request holds this name and does not end. Send the request again.")
        raise Conflict.in_progress()

    async def _has_turn(self, end: float) -> bool:
        """Wait for the next turn. Returns False after the timeout.

        The caller releases it.
        """
        if asyncio.get_running_loop().time() >= end:
            return False
        try:
            async with asyncio.timeout_at(end):
                await self._patient.acquire()
        except TimeoutError:
            return False
        return True

    @contextmanager
    def _waiting_for(self, claims: Collection[_Claim]) -> Iterator[None]:
        self._held.update(claims)
        try:
            yield
        finally:
            # Drafts of cancelled calls are left out.
            self._held -= Counter(claims)

    async def _flush(self, drafts: Sequence[Draft]) -> Sequence[Verdict]:
        columns = columns_of(drafts)
        if self.asks_addresses:
            columns += directory_question(drafts)
        # Few submissions tell anybody anything, and the others need no transaction around their statement.
        tells = self._database.notices and any(draft.change.event is not None for draft in drafts)
        statement = self._database.noticed_statement if tells else self._database.statement
        rows = await repeat_if_stale(lambda: self._write(statement, columns))
        self._observe(len(drafts))
        return verdicts_of(rows, len(drafts))

    async def _write(
        self, statement: Callable[[], AbstractAsyncContextManager[Connection]], columns: Sequence[Sequence[object]]
    ) -> Sequence[Record]:
        async with statement() as connection:
            return await connection.fetch(self._statement, *columns)


def _claims(draft: Draft) -> Collection[_Claim]:
    """Return the names and keys that another transaction may hold.

    A key belongs to its client and caller.
    """
    tenant_id, key, mailbox = draft.change.tenant_id, draft.idempotency, draft.mailbox
    names = [("address", address.mail) for address in draft.addresses]
    names += [("address", mailbox.alias)] if mailbox is not None and mailbox.alias is not None else []
    names += [] if mailbox is None else [("name", mailbox.name_key)]
    names += [] if key is None else [("key", key.key)]
    return [(tenant_id, kind, name) for kind, name in names]
