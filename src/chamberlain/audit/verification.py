"""Verify the audit trail: find rows that differ from their seals.

For the command line. Writes nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from chamberlain.audit import sealing
from chamberlain.audit.seals import (
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
from chamberlain.core.errors import NotFound
from chamberlain.core.ids import TenantId, TraceId
from chamberlain.database.transactions import Database, Transaction
from chamberlain.queue.models import JobKind

# Gets each fault as it is found.
Report: TypeAlias = Callable[[TenantId, AuditFault], None]


@dataclass(frozen=True, slots=True)
class AuditVerifier:
    """Verify the audit trail of one tenant or of all.

    `database` has the worker's role. `report` gets each fault as it is found.
    """

    database: Database
    report: Report

    async def verify(self, tenant_id: TenantId | None, kept: Head | None) -> Sequence[AuditVerdict]:
        """Return the verdict on one tenant, or on each.

        `kept` is a head of that tenant from the log. Raises NotFound and Unavailable.
        """
        async with self.database.across_tenants() as tx:
            tenants = await sealing.sealed_tenants(tx)
        if tenant_id is not None and tenant_id not in tenants:
            raise NotFound(f"There is no tenant {tenant_id}.")
        return [await self._verify(each, kept) for each in tenants if tenant_id in {None, each}]

    async def _verify(self, tenant_id: TenantId, kept: Head | None) -> AuditVerdict:
        faults = _Faults(tenant_id, self.report)
        async with self.database.across_tenants() as tx:
            await sealing.freeze(tx)
            found = _Found()
            last = await _verify_chain(tx, faults, found)
            faults.add(faults_of_end(last, await sealing.find_head(tx, tenant_id)))
            if kept is not None:
                faults.add(faults_of_copy(kept, await sealing.find_digest(tx, tenant_id, kept.position), last))
            sealed_erased = sum(map(len, found.erased.values()))
            waiting, since = await _verify_unsealed(tx, faults, found)
            records = await sealing.erasures(tx, tenant_id)
            faults.add(faults_of_erasures(found.erased, [each for each in records if each.sequence not in found.bad]))
            faults.add(faults_of_sealer(await sealing.find_held_reason(tx, tenant_id, JobKind.AUDIT_SEAL)))
        return AuditVerdict(tenant_id, last, sealed_erased, waiting, since, faults.number)


@dataclass(slots=True)
class _Faults:
    """Report and count the faults of one tenant."""

    tenant_id: TenantId
    report: Report
    number: int = 0

    def add(self, faults: Iterable[AuditFault]) -> None:
        for fault in faults:
            self.number += 1
            self.report(self.tenant_id, fault)


@dataclass(slots=True)
class _Found:
    """Erased rows and rows with faults.

    `erased` has sequences by the trace id of the erasure, `bad` those of rows with faults. A row with a fault is no
    evidence of an erasure.
    """

    erased: dict[TraceId, set[int]] = field(default_factory=lambda: defaultdict(set))
    bad: set[int] = field(default_factory=set)


async def _verify_chain(tx: Transaction, faults: _Faults, found: _Found) -> Head:
    """Verify all links in order, and return the head of the chain."""
    last = Head(0, NO_DIGEST)
    async for link in sealing.links(tx, faults.tenant_id):
        of_link = list(faults_of(faults.tenant_id, link, last))
        faults.add(of_link)
        if any(fault.sequence is not None for fault in of_link):
            found.bad.add(link.sequence)
        if link.facts is not None and link.facts.erasure is not None:
            found.erased[link.facts.erasure].add(link.sequence)
        last = Head(link.position, link.digest)
    return last


async def _verify_unsealed(tx: Transaction, faults: _Faults, found: _Found) -> tuple[int, datetime | None]:
    """Return the number of unsealed rows, and the time of the oldest."""
    times: list[datetime] = []
    async for row in sealing.unsealed(tx, faults.tenant_id):
        if row.erasure is not None:
            found.erased[row.erasure].add(row.sequence)
        if row.is_suspect:
            found.bad.add(row.sequence)
            detail = f"Row {row.sequence} was inserted: it has no seal, and the service did not write it when it says."
            faults.add([AuditFault(FaultKind.INSERTED, row.sequence, detail)])
        else:
            times.append(row.at)
    return len(times), min(times, default=None)
