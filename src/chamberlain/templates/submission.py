"""Submitting: drafts are made from what is remembered of tenant and template, until one is written or refused."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, Forbidden, KeyReused, LimitReached, NotPossible, Unavailable
from chamberlain.core.idempotency import Submission
from chamberlain.core.ids import TemplateId
from chamberlain.core.values import value
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Transaction
from chamberlain.requests import records as request_records
from chamberlain.requests.batcher import Acceptor
from chamberlain.requests.models import (
    Accepted,
    AddressTaken,
    Again,
    Draft,
    LimitFull,
    NameTaken,
    Replayed,
    Reused,
    TemplateChanged,
    Written,
)
from chamberlain.templates.cache import Catalog, Choice, Entry
from chamberlain.tenants.models import limit_full

# Each round is lost only to a change that somebody else makes meanwhile; so many in a row are no chance.
MOST_ROUNDS = 10

# What the one who asks has to answer; all else is settled here.
Outcome: TypeAlias = Written | Replayed | NameTaken | AddressTaken


@value(frozen=True, slots=True)
class Basis:
    """What a draft is made from: what is remembered of tenant and template. With `ask_addresses` the directory need not
    be asked for addresses, since the write asks."""

    entry: Entry
    ask_addresses: bool


MakeDraft: TypeAlias = Callable[[Basis], Awaitable[Draft]]


@dataclass(frozen=True, slots=True)
class Submitter:
    """Submits what use cases draft."""

    database: Database
    catalog: Catalog
    acceptor: Acceptor
    notifier: Notifier

    async def submit(self, caller: Caller, choice: Choice, make_draft: MakeDraft) -> tuple[Draft, Outcome]:
        """What came of it, and of which draft. Raises what making one raises (NotPossible, Forbidden, Conflict), and
        KeyReused, LimitReached and Unavailable; then nothing was changed."""
        entry = await self.catalog.entry(caller.tenant_id, choice)
        ask_addresses = self.acceptor.asks_addresses
        for _ in range(MOST_ROUNDS):
            try:
                draft = await make_draft(Basis(entry, ask_addresses))
            except (NotPossible, Forbidden, Conflict):
                # What is remembered may be stale, so nobody is refused by it before it was looked at anew.
                current = await self.catalog.refresh(entry, choice)
                if current is None:
                    raise
                entry = current
                continue
            verdict = await self.acceptor.accept(draft)
            match verdict:
                case Written():
                    self.notifier.flag()
                    return draft, verdict
                case AddressTaken() if draft.ask_addresses:
                    # By whom, and what else would do, is worth a closer look.
                    ask_addresses = False
                case Replayed() | NameTaken() | AddressTaken():
                    return draft, verdict
                case Reused() | LimitFull():
                    raise _refusal(verdict)
                case TemplateChanged():
                    entry = await self.catalog.refresh(entry, choice) or entry
                case Again():
                    pass
        raise Unavailable("overloaded", "The template changes faster than it can be read. Send the request again.")

    async def earlier(self, caller: Caller, submission: Submission) -> Replayed | None:
        """What was accepted under the key of a submission before. Raises KeyReused when that was something else.

        It may be just what stands in the way now. Where nothing does, the key is looked at by the write itself.
        """
        if submission.idempotency is None:
            return None
        async with self.database.transaction(caller.tenant_id) as tx:
            found = await request_records.find_by_key(tx, caller.client_id, caller.id, submission.idempotency)
        if found is None:
            return None
        replayed, is_same = found
        if not is_same:
            raise KeyReused
        return replayed


def _refusal(verdict: Reused | LimitFull) -> KeyReused | LimitReached:
    return KeyReused() if isinstance(verdict, Reused) else limit_full(verdict.limit)


def again(caller: Caller, replayed: Replayed) -> Accepted:
    """What is answered to somebody who has asked for it before."""
    return Accepted(replayed.request_id, caller.tenant_id, replayed.approval_required, replayed=True)


async def next_number(tx: Transaction, template_id: TemplateId, rule: str) -> int:
    """A number that this rule of this template never had before. It stays used even when the transaction is given
    up."""
    (row,) = await tx.fetch("SELECT chamberlain.next_number($1, $2) AS number", template_id, rule)
    return int(row["number"])
