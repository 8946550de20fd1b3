"""The group commit: submissions that arrive together are written by one statement, which is one transaction.

A submission is answered only after the commit has returned. What one of them does wrong is its own affair: the batch
is halved until the guilty one is alone.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import timedelta
from typing import Final

import asyncpg
import msgspec

from chamberlain.batching import Batcher
from chamberlain.rules.approvals import blocked_by
from chamberlain.rules.errors import BodyInvalid, Conflict, Fault, Unavailable
from chamberlain.rules.ids import RequestId
from chamberlain.rules.submissions import (
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
)
from chamberlain.shapes.mailboxes import write_mailbox_order
from chamberlain.store.changes import audit_payload
from chamberlain.store.database import Connection, Database, Record, repeat_if_stale
from chamberlain.store.events import event_data

ACCEPT: Final = """
SELECT ordinal, outcome, request_id, approval_required, now() AS at
FROM chamberlain.accept_requests(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
    $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30,
    $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42
)
"""

# How long a submission waits for another's uncommitted name or key before it is told so.
PATIENCE = timedelta(seconds=10)
# The function looks at the whole batch once for each tenant in it: with a tenant for each draft, 512 drafts take 0.6 s,
# and 128 a sixteenth of that.
MOST_TOGETHER = 128

_encode = msgspec.json.Encoder().encode


# A NUL in a text. The other character that no text can hold, half of a surrogate pair, does not pass as JSON.
NOT_STORABLE = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError)


class Acceptor:
    """Writes drafts, many at a time. One flusher, on one connection: a second one is slower.

    `patience` is how long a draft waits for somebody else who holds its name or key and has not committed yet.
    `observe` gets the size of each batch.
    """

    def __init__(
        self, database: Database, *, observe: Callable[[int], None] = lambda _: None, patience: timedelta = PATIENCE
    ) -> None:
        self._database = database
        self._observe = observe
        self._patience = patience
        self._batcher: Batcher[Draft, Verdict] = Batcher(
            self._flush, divisible=(asyncpg.PostgresError,), most=MOST_TOGETHER
        )

    async def accept(self, draft: Draft) -> Verdict:
        """Write the draft with all its rows. Raises Unavailable when it could not be written, BodyInvalid when it
        cannot be, Conflict when somebody else holds its key uncommitted for too long."""
        try:
            try:
                return await self._batcher.submit(draft)
            except asyncpg.LockNotAvailableError:
                return await self._accept_patiently(draft)
        except asyncpg.DeadlockDetectedError as error:
            raise Unavailable("overloaded", "Two writes were in each other's way. Send the request again.") from error
        except NOT_STORABLE as error:
            detail = "A text holds a character that cannot be stored, such as NUL. Leave it out."
            raise BodyInvalid([Fault("", "invalidText", detail)]) from error

    async def close(self) -> None:
        """Wait for what is under way."""
        await self._batcher.close()

    async def _accept_patiently(self, draft: Draft) -> Verdict:
        # Alone and beside the others, so that nobody else waits for whoever holds this name.
        end = asyncio.get_running_loop().time() + self._patience.total_seconds()
        while asyncio.get_running_loop().time() < end:
            with suppress(asyncpg.LockNotAvailableError):
                return (await self._flush([draft]))[0]
        if draft.idempotency is None:
            raise Unavailable("overloaded", "Another request holds this name and does not end. Send the request again.")
        raise Conflict.in_progress()

    async def _flush(self, drafts: Sequence[Draft]) -> Sequence[Verdict]:
        columns = _columns(drafts)
        # Few submissions tell anybody anything, and the others need no transaction around their statement.
        tells = self._database.notices and any(draft.change.event is not None for draft in drafts)
        statement = self._database.noticed_statement if tells else self._database.statement
        rows = await repeat_if_stale(lambda: _accept(statement, columns))
        self._observe(len(drafts))
        return _verdicts(rows, len(drafts))


async def _accept(
    statement: Callable[[], AbstractAsyncContextManager[Connection]], columns: Sequence[Sequence[object]]
) -> Sequence[Record]:
    async with statement() as connection:
        return await connection.fetch(ACCEPT, *columns)


def _columns(drafts: Sequence[Draft]) -> Sequence[Sequence[object]]:
    """The parameters of the function. What drafts have in common is sent once: half of the columns, and of the time
    that sending them takes."""
    origins: dict[tuple[object, ...], int] = {}
    rows = [_row(draft, origins.setdefault(_origin(draft), len(origins) + 1)) for draft in drafts]
    mailboxes = [_mailbox(place, draft.mailbox) for place, draft in enumerate(drafts, start=1) if draft.mailbox]
    of_mailboxes = zip(*mailboxes, strict=True) if mailboxes else NO_MAILBOXES
    return [*zip(*origins, strict=True), *map(_filled, zip(*rows, strict=True)), *of_mailboxes]


def _filled(column: Sequence[object]) -> Sequence[object]:
    """A column in which nothing stands is not sent at all: the function reads what is not there as null."""
    return column if any(each is not None for each in column) else ()


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
        _encode(draft.steps).decode(),
        change.client_id,
        change.actor.type,
        change.actor.id,
        change.actor.display_name,
        draft.job,
        change.action,
        _encode(draft.approvals).decode() if draft.approvals else None,
        blocked_by(draft.approvals),
        _encode(draft.warnings).decode() if draft.warnings else None,
        draft.mailbox.template_source if draft.mailbox else None,
    )


def _row(draft: Draft, origin: int) -> tuple[object, ...]:
    change = draft.change
    event = change.event
    first = draft.addresses[0] if draft.addresses else None
    second = draft.addresses[1] if len(draft.addresses) > 1 else None
    key = draft.idempotency
    return (
        origin,
        draft.request_id,
        draft.display_name,
        first.mail_nickname if first else None,
        first.mail if first else None,
        second.mail_nickname if second else None,
        second.mail if second else None,
        draft.body.decode(),
        change.trace_id,
        key.key if key else None,
        key.digest if key else None,
        audit_payload(change),
        event.id if event else None,
        event.type if event else None,
        event_data(event) if event else None,
    )


def _mailbox(place: int, mailbox: MailboxDraft) -> tuple[object, ...]:
    return (
        place,
        mailbox.id,
        mailbox.order.name,
        mailbox.name_key,
        mailbox.alias,
        f"{{{','.join(map(str, sorted(mailbox.readers)))}}}",
        write_mailbox_order(mailbox.order).decode(),
    )


NO_MAILBOXES: Final = ((),) * 7


def _verdicts(rows: Sequence[Record], number: int) -> list[Verdict]:
    """What came of each, in its order. A row tells of one that was not written; the one about none of them says when
    the others were."""
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
