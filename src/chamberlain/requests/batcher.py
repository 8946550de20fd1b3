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
from typing import TypeAlias
from uuid import UUID

import asyncpg

from chamberlain.core.errors import BodyInvalid, Conflict, Fault, Unavailable
from chamberlain.database.batching import Batcher
from chamberlain.database.transactions import Connection, Database, Overtaken, Record, repeat_if_stale
from chamberlain.database.types import NotJoinable
from chamberlain.requests.batcher_drafts import ACCEPT, HELD, asked_of, columns_of, verdicts_of
from chamberlain.requests.models_submissions import Draft, Verdict

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
