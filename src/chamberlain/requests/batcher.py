"""The group commit: submissions that arrive together are written by one statement, which is one transaction.

A submission is answered only after the commit has returned. What one of them does wrong is its own affair: the batch
is halved until the guilty one is alone. Whoever wants a name that somebody holds and does not commit waits beside the
others.
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

from chamberlain.changes.records import audit_payload, event_data
from chamberlain.core.errors import BodyInvalid, Conflict, Fault, Unavailable
from chamberlain.core.ids import RequestId
from chamberlain.database.arrays import BETWEEN, NotJoinable, apart, joined
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

ACCEPT: Final = f"""
SELECT ordinal, outcome, request_id, approval_required, now() AS at
FROM chamberlain.accept_requests(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    origins => $21, request_ids => $22, digests => $23, event_ids => $24,
    display_names => {apart("$25")},
    mail_nicknames => {apart("$26")},
    addresses => {apart("$27")},
    second_nicknames => {apart("$28")},
    second_addresses => {apart("$29")},
    bodies => {apart("$30")},
    trace_ids => {apart("$31")},
    keys => {apart("$32")},
    audit_payloads => {apart("$33")},
    event_types => {apart("$34")},
    event_data => {apart("$35")},
    mailbox_items => $36, mailbox_ids => $37,
    mailbox_names => {apart("$38")},
    mailbox_name_keys => {apart("$39")},
    mailbox_aliases => {apart("$40")},
    mailbox_readers => {apart("$41")},
    mailbox_contents => {apart("$42")}{{held}}
)
"""  # noqa: S608 - text of ours alone.
# How the directory is asked for addresses by the write itself: those of drafts that want it, and which draft has each.
HELD: Final = r""",
    held => ARRAY(
        SELECT ($45::bigint[])[held.place] FROM unnest({function}($43, string_to_array($44, E'\x1f'))) AS held (place)
    )"""

_encode = msgspec.json.Encoder().encode


def columns_of(drafts: Sequence[Draft]) -> list[Sequence[object]]:
    """The parameters of the function. What drafts have in common is sent once: half of the columns, and of the time
    that sending them takes."""
    origins: dict[tuple[object, ...], int] = {}
    rows = [_row(draft, origins.setdefault(_origin(draft), len(origins) + 1)) for draft in drafts]
    texts = [_texts(draft) for draft in drafts]
    mailboxes = [(place, draft.mailbox) for place, draft in enumerate(drafts, start=1) if draft.mailbox]
    of_mailboxes = [_mailbox_texts(mailbox) for _, mailbox in mailboxes]
    return [
        *zip(*origins, strict=True),
        *map(_filled, zip(*rows, strict=True)),
        *map(joined, zip(*texts, strict=True)),
        [place for place, _ in mailboxes],
        [mailbox.id for _, mailbox in mailboxes],
        *(map(joined, zip(*of_mailboxes, strict=True)) if of_mailboxes else NO_MAILBOX_TEXTS),
    ]


def _filled(column: Sequence[object]) -> Sequence[object]:
    """A column in which nothing stands is not sent at all: the function reads what is not there as null."""
    return column if any(column) else ()


def asked_of(drafts: Sequence[Draft]) -> list[Sequence[object]]:
    """The addresses that the directory is to be asked for: the tenant of each, and whose it is."""
    asked = [
        (draft.change.tenant_id, address, place)
        for place, draft in enumerate(drafts, start=1)
        if draft.ask_addresses
        for address in _addresses(draft)
    ]
    tenants, addresses, places = zip(*asked, strict=True) if asked else ((), (), ())
    return [tenants, BETWEEN.join(addresses), places]


def _addresses(draft: Draft) -> Iterator[str]:
    yield draft.addresses[0].mail
    if draft.mailbox is not None and draft.mailbox.alias is not None:
        yield draft.mailbox.alias


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
    key, event = draft.idempotency, draft.change.event
    return (origin, draft.request_id, key.digest if key else None, event.id if event else None)


def _texts(draft: Draft) -> tuple[str | None, ...]:
    change = draft.change
    event = change.event
    first = draft.addresses[0] if draft.addresses else None
    second = draft.addresses[1] if len(draft.addresses) > 1 and not draft.ask_addresses else None
    return (
        draft.display_name,
        first.mail_nickname if first else None,
        first.mail if first else None,
        second.mail_nickname if second else None,
        second.mail if second else None,
        draft.body.decode(),
        change.trace_id,
        draft.idempotency.key if draft.idempotency else None,
        audit_payload(change),
        event.type if event else None,
        event_data(event) if event else None,
    )


def _mailbox_texts(mailbox: MailboxDraft) -> tuple[str | None, ...]:
    return (
        mailbox.order.name,
        mailbox.name_key,
        mailbox.alias,
        f"{{{','.join(map(str, sorted(mailbox.readers)))}}}",
        mailbox.content.decode(),
    )


# How those of no mailbox are sent.
NO_MAILBOX_TEXTS: Final = ("",) * 5


def verdicts_of(rows: Sequence[Record], number: int) -> list[Verdict]:
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


# How long a submission waits for another's uncommitted name or key before it is told so.
PATIENCE = timedelta(seconds=10)
# The function looks at the whole batch once for each tenant in it: with a tenant for each draft, 512 drafts take 0.6 s,
# and 128 a sixteenth of that.
MOST_TOGETHER = 128
# Of bodies in one statement. So many small ones are far below this; a larger one goes alone, and holds up nobody else.
MOST_BYTES = 256 * 1024
# Of bodies that wait to be written. In memory each is there several times.
MOST_BYTES_WAITING = 64 * 1024 * 1024
# While one commit waits for the disk, another one is made ready; PostgreSQL then writes both at once.
AT_ONCE = 2
# Of those who wait for a name, each with a connection while it looks. The others have theirs.
PATIENT_AT_ONCE = 2

# The first two tell of a NUL. The other character that no text can hold, half of a surrogate pair, does not pass as
# JSON.
NOT_STORABLE = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError, NotJoinable)

# The tenant, the kind of name, and the name: only one can have it.
_Claim: TypeAlias = tuple[UUID, str, str]


class Acceptor:
    """Writes drafts, many at a time.

    `patience` is how long a draft waits for somebody else who holds its name or key and has not committed yet.
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
        self._statement = ACCEPT.format(held=HELD.format(function=held_addresses) if held_addresses else "")
        self._database = database
        self._observe = observe
        self._patience = patience
        self._batcher: Batcher[Draft, Verdict] = Batcher(
            self._flush,
            divisible=(asyncpg.PostgresError, NotJoinable),
            causes=lambda draft, error: _claims(draft) if isinstance(error, asyncpg.LockNotAvailableError) else (),
            weigh=lambda draft: len(draft.body),
            # A number is looked up sooner than an id.
            owner=lambda draft: draft.change.tenant_id.int,
            most=MOST_TOGETHER,
            most_weight=MOST_BYTES,
            at_once=AT_ONCE,
            pending_weight_limit=MOST_BYTES_WAITING,
        )
        # What those who wait wait for, and how many of them.
        self._held: Counter[_Claim] = Counter()
        self._patient = asyncio.Semaphore(PATIENT_AT_ONCE)

    async def accept(self, draft: Draft) -> Verdict:
        """Write the draft with all its rows. Raises Unavailable when it could not be written, BodyInvalid when it
        cannot be, Conflict when somebody else holds its key uncommitted for too long."""
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
        """Wait for what is under way."""
        await self._batcher.close()

    async def _accept_patiently(self, draft: Draft) -> Verdict:
        # Alone and beside the others, so that nobody else waits for whoever holds this name.
        end = asyncio.get_running_loop().time() + self._patience.total_seconds()
        with self._waiting_for(_claims(draft)):
            while await self._has_turn(end):
                try:
                    return (await self._flush([draft]))[0]
                except asyncpg.LockNotAvailableError:
                    # Somebody else who waits looks next.
                    continue
                finally:
                    self._patient.release()
        if draft.idempotency is None:
            raise Unavailable("overloaded", "Another request holds this name and does not end. Send the request again.")
        raise Conflict.in_progress()

    async def _has_turn(self, end: float) -> bool:
        """Wait until it is time to look once more, and give the turn back then; False when the time is over."""
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
            # It leaves out what nobody waits for any more.
            self._held -= Counter(claims)

    async def _flush(self, drafts: Sequence[Draft]) -> Sequence[Verdict]:
        columns = columns_of(drafts)
        if self.asks_addresses:
            columns += asked_of(drafts)
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
    """What a draft may have to wait for while somebody else is just taking it. A key belongs to its client and caller;
    another one who has the same is taken along."""
    tenant_id, key, mailbox = draft.change.tenant_id, draft.idempotency, draft.mailbox
    names = [("address", address.mail) for address in draft.addresses]
    names += [("address", mailbox.alias)] if mailbox is not None and mailbox.alias is not None else []
    names += [] if mailbox is None else [("name", mailbox.name_key)]
    names += [] if key is None else [("key", key.key)]
    return [(tenant_id, kind, name) for kind, name in names]
