# SPDX-License-Identifier: Apache-2.0
"""List, export and verify the audit trail.

Lists and exports are for administrators of the tenant and applications that configure it, the verification for the
command line.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from chamberlain.audit import records as audit_records
from chamberlain.audit import store
from chamberlain.audit.models import AuditFilter, AuditRecord, AuditRows, named
from chamberlain.audit.rules import (
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
from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller, ClientNames
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import NotFound, Unavailable
from chamberlain.core.ids import TenantId, TraceId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.database.transactions import Database, Transaction
from chamberlain.queue.models import JobKind

# Backoff of an export while the database is unavailable.
PAUSE = timedelta(seconds=1)


@dataclass(slots=True)
class AuditService:
    """List and export the audit trail of a tenant.

    Every method raises Forbidden for callers who are not administrators, and Unavailable.
    """

    database: Database
    authorization: Authorization
    client_names: ClientNames

    async def list(self, caller: Caller, wanted: AuditFilter, page: PageWanted) -> Page[AuditRecord]:
        """List rows, newest first."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        names = await self.client_names(caller.tenant_id)
        async with self.database.transaction(caller.tenant_id) as tx:
            found = await store.find_page(tx, wanted, page)
        return replace(found, items=[named(record, names) for record in found.items])

    async def export(self, caller: Caller, wanted: AuditFilter) -> AuditRows:
        """Export the rows that exist now, in batches.

        They are in the order of their sequence. Each batch is read in its own transaction, after the client has taken
        the previous one. So no transaction stays open while a client reads slowly. Reading a batch raises nothing: it
        waits until the database is available.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            last = await store.find_last(tx)
        return self._read_batches(caller, wanted, last)

    async def _read_batches(self, caller: Caller, wanted: AuditFilter, last: int | None) -> AuditRows:
        after: int | None = None if last is None else 0
        while after is not None and last is not None:
            try:
                names = await self.client_names(caller.tenant_id)
                async with self.database.transaction(caller.tenant_id) as tx:
                    records, end = await store.find_window(tx, wanted, after, last)
            except Unavailable:
                await asyncio.sleep(PAUSE.total_seconds())
                continue
            yield [named(record, names) for record in records]
            after = end


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
            tenants = await audit_records.sealed_tenants(tx)
        if tenant_id is not None and tenant_id not in tenants:
            raise NotFound(f"There is no tenant {tenant_id}.")
        return [await self._verify(each, kept) for each in tenants if tenant_id in {None, each}]

    async def _verify(self, tenant_id: TenantId, kept: Head | None) -> AuditVerdict:
        faults = _Faults(tenant_id, self.report)
        async with self.database.across_tenants() as tx:
            await audit_records.freeze(tx)
            found = _Found()
            last = await _verify_chain(tx, faults, found)
            faults.add(faults_of_end(last, await audit_records.find_head(tx, tenant_id)))
            if kept is not None:
                faults.add(faults_of_copy(kept, await audit_records.find_digest(tx, tenant_id, kept.position), last))
            sealed_erased = sum(map(len, found.erased.values()))
            waiting, since = await _verify_unsealed(tx, faults, found)
            records = await audit_records.erasures(tx, tenant_id)
            faults.add(faults_of_erasures(found.erased, [each for each in records if each.sequence not in found.bad]))
            faults.add(faults_of_sealer(await audit_records.find_held_reason(tx, tenant_id, JobKind.AUDIT_SEAL)))
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
    async for link in audit_records.links(tx, faults.tenant_id):
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
    async for row in audit_records.unsealed(tx, faults.tenant_id):
        if row.erasure is not None:
            found.erased[row.erasure].add(row.sequence)
        if row.is_suspect:
            found.bad.add(row.sequence)
            detail = f"Row {row.sequence} was inserted: it has no seal, and the service did not write it when it says."
            faults.add([AuditFault(FaultKind.INSERTED, row.sequence, detail)])
        else:
            times.append(row.at)
    return len(times), min(times, default=None)
