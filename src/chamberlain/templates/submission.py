# SPDX-License-Identifier: Apache-2.0
"""Submit requests: retry drafts from the cache until written or refused."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, Forbidden, KeyReused, LimitReached, NotPossible, Unavailable
from chamberlain.core.idempotency import Submission
from chamberlain.core.ids import TemplateId, TenantId
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

# Optimistic-lock retries. Ten conflicts in a row mean a bug or a hot row.
MOST_ROUNDS = 10

# The outcomes that the caller of `submit` handles.
Outcome: TypeAlias = Written | Replayed | NameTaken | AddressTaken


@value(frozen=True, slots=True)
class Basis:
    """The cached tenant and template of a draft.

    With `ask_addresses` the write asks for taken addresses.
    """

    entry: Entry
    ask_addresses: bool


MakeDraft: TypeAlias = Callable[[Basis], Awaitable[Draft]]


@dataclass(frozen=True, slots=True)
class Submitter:
    """Submit the drafts of groups and mailboxes.

    `is_elsewhere` tells whether the directory of a tenant is outside the database of the service. The write cannot ask
    such a directory for taken addresses.
    """

    database: Database
    catalog: Catalog
    acceptor: Acceptor
    notifier: Notifier
    is_elsewhere: Callable[[TenantId], bool] = lambda _: False

    async def submit(self, caller: Caller, choice: Choice, make_draft: MakeDraft) -> tuple[Draft, Outcome]:
        """Draft and write a request, and return the draft with its outcome.

        Raises the errors of drafting (NotPossible, Forbidden, Conflict), KeyReused, LimitReached and Unavailable.
        Nothing has changed then.
        """
        entry = await self.catalog.entry(caller.tenant_id, choice)
        ask_addresses = self.acceptor.asks_addresses and not self.is_elsewhere(caller.tenant_id)
        for _ in range(MOST_ROUNDS):
            try:
                draft = await make_draft(Basis(entry, ask_addresses))
            except (NotPossible, Forbidden, Conflict):
                # The cached template may be stale: read it again before refusing.
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
                    # Ask the directory for the owner and for other addresses.
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
        """Find the request of the submission's idempotency key.

        Raises KeyReused if its body was different. That request may be the cause of a conflict. Without a conflict, the
        write itself checks the key.
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
    """Return the answer to a replayed submission."""
    return Accepted(replayed.request_id, caller.tenant_id, replayed.approval_required, replayed=True)


async def next_number(tx: Transaction, template_id: TemplateId, rule: str) -> int:
    """Draw a new number for a naming rule of a template.

    It stays used after a rollback.
    """
    (row,) = await tx.fetch("SELECT chamberlain.next_number($1, $2) AS number", template_id, rule)
    return int(row["number"])
