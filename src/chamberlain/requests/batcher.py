# SPDX-License-Identifier: Apache-2.0
"""Group commit: concurrent submissions are one statement and one transaction.

A submission is answered after the commit. A faulty one is isolated by halving the batch. A submission that needs a name
which another transaction holds waits beside the batches, so that it delays no other.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import timedelta
from typing import Final, TypeAlias
from uuid import UUID

import asyncpg
import msgspec
from msgspec import Struct

from chamberlain.changes.records import audit_payload, event_data
from chamberlain.core.errors import BodyInvalid, Conflict, Fault, Unavailable
from chamberlain.core.ids import RequestId
from chamberlain.core.reasons import Cause, Reason, kept_causes
from chamberlain.database.batching import Batcher
from chamberlain.database.transactions import Connection, Database, Overtaken, Record, repeat_if_stale
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

# The array arguments of accept_requests. Each function below returns one element of each array, in this order. Drafts
# of one caller and template have the same origin, which is sent once: half of the columns.
ORIGIN_COLUMNS: Final = (
    *("tenant_ids", "tenant_revisions", "kinds", "states", "template_ids", "template_revisions", "template_names"),
    *("approvals_required", "people_checked", "steps", "client_ids", "actor_types", "actor_ids", "actor_names"),
    *("job_kinds", "audit_actions", "approvals", "blocked", "warnings", "template_sources"),
)
DRAFT_COLUMNS: Final = (
    *("request_ids", "digests", "event_ids", "display_names", "mail_nicknames", "addresses"),
    *("second_nicknames", "second_addresses", "bodies", "trace_ids", "keys"),
    *("audit_payloads", "event_types", "event_data"),
)
MAILBOX_COLUMNS: Final = (
    *("mailbox_ids", "mailbox_names", "mailbox_name_keys", "mailbox_aliases", "mailbox_readers", "mailbox_contents"),
)

_encode = msgspec.json.Encoder().encode


def accept_statement(held_addresses: str | None) -> str:
    """Generate the call of accept_requests from the columns.

    `held_addresses` is the function in the same database that finds addresses in use in the directory.
    """
    names = [*ORIGIN_COLUMNS, "origins", *DRAFT_COLUMNS, "mailbox_items", *MAILBOX_COLUMNS]
    arguments = [f"{name} => ${number}" for number, name in enumerate(names, start=1)]
    if held_addresses is not None:
        tenants, addresses, places = (f"${len(names) + each}" for each in (1, 2, 3))
        found = f"unnest({held_addresses}({tenants}, {addresses}::text[]))"
        held = f"SELECT ({places}::bigint[])[held.place] FROM {found} AS held (place)"  # noqa: S608 - text of ours alone.
        arguments.append(f"held => ARRAY({held})")
    result = "SELECT ordinal, outcome, request_id, approval_required, now() AS at"
    return f"{result} FROM chamberlain.accept_requests({', '.join(arguments)})"


def columns_of(drafts: Sequence[Draft]) -> list[Sequence[object] | None]:
    """Build the arguments of accept_requests, in the order of the statement."""
    origins: dict[tuple[object, ...], int] = {}
    numbers = [origins.setdefault(_origin(draft), len(origins) + 1) for draft in drafts]
    items = [(item, draft.mailbox) for item, draft in enumerate(drafts, start=1) if draft.mailbox]
    rows = [_mailbox_row(mailbox) for _, mailbox in items]
    # The function counts the aliases of mailboxes, so no aliases are an empty array.
    mailboxes: list[Sequence[object] | None] = [values if any(values) else () for values in zip(*rows, strict=True)]
    return [
        *_arrays([*origins]),
        numbers,
        *_arrays([_row(draft) for draft in drafts]),
        [item for item, _ in items] or None,
        *(mailboxes or [None] * len(MAILBOX_COLUMNS)),
    ]


def _origin(draft: Draft) -> tuple[object, ...]:
    change = draft.change
    return (
        change.tenant_id,
        draft.tenant_revision,
        draft.kind,
        draft.state,
        draft.template_id,
        draft.template_revision,
        draft.template_name,
        draft.approval_required,
        draft.people_checked,
        _json(draft.steps),
        change.client_id,
        change.actor.type,
        change.actor.id,
        change.actor.display_name,
        draft.job,
        change.action,
        _json(draft.approvals) if draft.approvals else None,
        blocked_by(draft.approvals),
        _json(_Warnings.of(draft.warnings)) if draft.warnings else None,
        draft.mailbox.template_source if draft.mailbox else None,
    )


class _Warnings(Struct, frozen=True):
    """Warnings of a draft, as accept_requests takes them."""

    sentences: tuple[str, ...]
    causes: tuple[Cause, ...]

    @classmethod
    def of(cls, warnings: Sequence[Reason]) -> "_Warnings":
        return cls(tuple([each.sentence for each in warnings]), kept_causes(warnings))


def _row(draft: Draft) -> tuple[object, ...]:
    key, event = draft.idempotency, draft.change.event
    first = draft.addresses[0] if draft.addresses else None
    second = draft.addresses[1] if len(draft.addresses) > 1 and not draft.ask_addresses else None
    return (
        draft.request_id,
        key.digest if key else None,
        event.id if event else None,
        draft.display_name,
        first.mail_nickname if first else None,
        first.mail if first else None,
        second.mail_nickname if second else None,
        second.mail if second else None,
        draft.body.decode(),
        draft.change.trace_id,
        key.key if key else None,
        audit_payload(draft.change),
        event.type if event else None,
        event_data(event) if event else None,
    )


def _mailbox_row(mailbox: MailboxDraft) -> tuple[object, ...]:
    return (
        mailbox.id,
        mailbox.order.name,
        mailbox.name_key,
        mailbox.alias,
        f"{{{','.join(map(str, sorted(mailbox.readers)))}}}",
        mailbox.content.decode(),
    )


def _arrays(rows: Sequence[tuple[object, ...]]) -> list[Sequence[object] | None]:
    """Build the array of each column. A column of nulls is null."""
    return [None if values.count(None) == len(values) else values for values in zip(*rows, strict=True)]


def _json(value: object) -> str:
    return _encode(value).decode()


def directory_question(drafts: Sequence[Draft]) -> Sequence[Sequence[object]]:
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
            sentence = "A text holds a character that cannot be stored, such as NUL. Leave it out."
            raise BodyInvalid([Fault.build("", "invalidText", sentence)]) from error

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
        self,
        statement: Callable[[], AbstractAsyncContextManager[Connection]],
        columns: Sequence[Sequence[object] | None],
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
