"""Verify the audit trail: whether every row is what was sealed, and which is not."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from chamberlain.rules.errors import NotFound
from chamberlain.rules.ids import TenantId, TraceId
from chamberlain.rules.seals import (
    NO_DIGEST,
    AuditFault,
    AuditVerdict,
    FaultKind,
    Head,
    faults_of,
    faults_of_copy,
    faults_of_end,
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
            last, erased = await _walk(tx, told)
            told.all(faults_of_end(last, await seals.find_head(tx, tenant_id)))
            if kept is not None:
                told.all(faults_of_copy(kept, await seals.find_digest(tx, tenant_id, kept.position), last))
            await _compare_erasures(tx, told, erased)
            waiting = await _look_at_unsealed(tx, told)
        return AuditVerdict(tenant_id, last, erased.total(), waiting, told.number)


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


async def _walk(tx: Transaction, told: _Told) -> tuple[Head, Counter[TraceId]]:
    """Along the chain to its end; gives that, and how many rows each erasure has emptied."""
    last, erased = Head(0, NO_DIGEST), Counter[TraceId]()
    async for link in seals.links(tx, told.tenant_id):
        told.all(faults_of(told.tenant_id, link, last))
        if link.facts is not None and link.facts.erasure is not None:
            erased[link.facts.erasure] += 1
        last = Head(link.position, link.digest)
    return last, erased


async def _compare_erasures(tx: Transaction, told: _Told, erased: Counter[TraceId]) -> None:
    """Whoever empties a row without saying so on the trail has changed it. Emptied rows may lack a seal as yet."""
    on_record = await seals.erasures(tx, told.tenant_id)
    for trace_id, number in erased.items():
        if number > on_record.get(trace_id, 0):
            detail = (
                f"{number} rows say that they were emptied by the erasure of trace {trace_id}, which is on record for "
                f"{on_record.get(trace_id, 0)}."
            )
            told.all([AuditFault(FaultKind.CHANGED, None, detail)])


async def _look_at_unsealed(tx: Transaction, told: _Told) -> int:
    """Gives the number of rows that wait for their seal."""
    waiting = 0
    async for sequence, is_suspect in seals.unsealed(tx, told.tenant_id):
        if is_suspect:
            detail = f"Row {sequence} was inserted: it has no seal, and the service did not write it when it says."
            told.all([AuditFault(FaultKind.INSERTED, sequence, detail)])
        else:
            waiting += 1
    return waiting
