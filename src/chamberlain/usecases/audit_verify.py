"""Verify the audit trail: whether every row is what was sealed, and which is not."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from chamberlain.rules.errors import NotFound
from chamberlain.rules.ids import TenantId, TraceId
from chamberlain.rules.jobs import JobKind
from chamberlain.rules.seals import (
    NO_DIGEST,
    AuditFault,
    AuditVerdict,
    FaultKind,
    Head,
    faults_of,
    faults_of_copy,
    faults_of_end,
    faults_of_erasures,
    faults_of_sealer,
)
from chamberlain.store import seals
from chamberlain.store.database import Database, Transaction

# Who is told of each fault as it is found.
Tell = Callable[[TenantId, AuditFault], None]


@dataclass(frozen=True, slots=True)
class VerifyAudit:
    """For whoever has the database, as the worker's role. It changes nothing."""

    database: Database
    tell: Tell

    async def __call__(self, tenant_id: TenantId | None, kept: Head | None) -> Sequence[AuditVerdict]:
        """The verdict on one tenant, or on each. `kept` is a head of that one tenant, as it was logged. Raises NotFound
        and Unavailable."""
        async with self.database.across_tenants() as tx:
            tenants = await seals.sealed_tenants(tx)
        if tenant_id is not None and tenant_id not in tenants:
            raise NotFound(f"There is no tenant {tenant_id}.")
        return [await self._verify(each, kept) for each in tenants if tenant_id in {None, each}]

    async def _verify(self, tenant_id: TenantId, kept: Head | None) -> AuditVerdict:
        told = _Told(tenant_id, self.tell)
        async with self.database.across_tenants() as tx:
            await seals.freeze(tx)
            found = _Found()
            last = await _walk(tx, told, found)
            told.all(faults_of_end(last, await seals.find_head(tx, tenant_id)))
            if kept is not None:
                told.all(faults_of_copy(kept, await seals.find_digest(tx, tenant_id, kept.position), last))
            sealed_erased = sum(map(len, found.erased.values()))
            waiting, since = await _look_at_unsealed(tx, told, found)
            records = await seals.erasures(tx, tenant_id)
            told.all(faults_of_erasures(found.erased, [each for each in records if each.sequence not in found.bad]))
            told.all(faults_of_sealer(await seals.find_held_reason(tx, tenant_id, JobKind.AUDIT_SEAL)))
        return AuditVerdict(tenant_id, last, sealed_erased, waiting, since, told.number)


@dataclass(slots=True)
class _Told:
    """Passes on the faults of one tenant, and counts them."""

    tenant_id: TenantId
    tell: Tell
    number: int = 0

    def all(self, faults: Iterable[AuditFault]) -> None:
        for fault in faults:
            self.number += 1
            self.tell(self.tenant_id, fault)


@dataclass(slots=True)
class _Found:
    """Rows that say that they were emptied, by the trace of the erasure that they name, and rows that nothing is taken
    from, because something is wrong with them."""

    erased: dict[TraceId, set[int]] = field(default_factory=lambda: defaultdict(set))
    bad: set[int] = field(default_factory=set)


async def _walk(tx: Transaction, told: _Told, found: _Found) -> Head:
    """Along the chain to its end, which is given."""
    last = Head(0, NO_DIGEST)
    async for link in seals.links(tx, told.tenant_id):
        faults = list(faults_of(told.tenant_id, link, last))
        told.all(faults)
        if any(fault.sequence is not None for fault in faults):
            found.bad.add(link.sequence)
        if link.facts is not None and link.facts.erasure is not None:
            found.erased[link.facts.erasure].add(link.sequence)
        last = Head(link.position, link.digest)
    return last


async def _look_at_unsealed(tx: Transaction, told: _Told, found: _Found) -> tuple[int, datetime | None]:
    """Gives the number of rows that wait for their seal, and the time of the oldest."""
    times: list[datetime] = []
    async for row in seals.unsealed(tx, told.tenant_id):
        if row.erasure is not None:
            found.erased[row.erasure].add(row.sequence)
        if row.is_suspect:
            found.bad.add(row.sequence)
            detail = f"Row {row.sequence} was inserted: it has no seal, and the service did not write it when it says."
            told.all([AuditFault(FaultKind.INSERTED, row.sequence, detail)])
        else:
            times.append(row.at)
    return len(times), min(times, default=None)
