# SPDX-License-Identifier: Apache-2.0
"""The use cases of the audit trail, and changes that come onto it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from chamberlain.audit import records as audit_records
from chamberlain.audit.rules import AuditFault, AuditVerdict, FaultKind, Head
from chamberlain.audit.service import AuditVerifier
from chamberlain.auth.models import Actor, ActorType
from chamberlain.changes.models import Change, Subject
from chamberlain.changes.records import record_change
from chamberlain.core.ids import TenantId
from chamberlain.core.values import Json
from tests.databases import Databases
from tests.estates import ADA, CLIENT, ESTATE, TRACE
from tests.postgres import connected

TEMPLATE = UUID("7e000000-0000-4000-8000-0000000000aa")


def change(
    action: str = "template.replace",
    *,
    tenant_id: TenantId = ESTATE,
    actor: UUID = ADA,
    subject: UUID = TEMPLATE,
    before: Mapping[str, Json] | None = None,
    after: Mapping[str, Json] | None = None,
    client_address: str | None = None,
) -> Change:
    """Build the change of a template."""
    return Change(
        tenant_id=tenant_id,
        action=action,
        actor=Actor(ActorType.USER, actor, "Ada Achterberg"),
        client_id=CLIENT,
        subject=Subject("template", subject, "Room"),
        before=before,
        after=after,
        request_id=None,
        trace_id=TRACE,
        client_address=client_address,
    )


async def record(databases: Databases, *several: Change) -> None:
    """Put changes on record, each in a transaction of its own."""
    for each in several:
        async with databases.application.transaction(each.tenant_id) as tx:
            await record_change(tx, each)


async def seal(databases: Databases, tenant_id: TenantId = ESTATE, *, most: int = 1000) -> int:
    """One look, which may take several calls; gives the number of rows."""
    sealed = 0
    while True:
        async with databases.worker.across_tenants() as tx:
            number = await audit_records.seal(tx, tenant_id, most)
        sealed += number
        if number < most:
            return sealed


async def tamper(databases: Databases, statement: str, *values: object) -> None:
    """Run a statement as the owner of the tables."""
    async with connected(databases.addresses.owner) as owner:
        # The owner's name is in no policy; row-level security is nothing that holds an owner back.
        await owner.execute(statement, *values)


@dataclass
class AuditFixture:
    """Verifies the trail, and collects the faults."""

    databases: Databases
    told: list[tuple[TenantId, AuditFault]] = field(default_factory=list)

    @property
    def kinds(self) -> list[tuple[FaultKind, int | None]]:
        """The kind and the row of each fault."""
        return [(fault.kind, fault.sequence) for _, fault in self.told]

    async def verify(self, tenant_id: TenantId = ESTATE, kept: Head | None = None) -> AuditVerdict:
        """The verdict on one tenant."""
        self.told.clear()
        verifier = AuditVerifier(self.databases.worker, lambda tenant, fault: self.told.append((tenant, fault)))
        (verdict,) = await verifier.verify(tenant_id, kept)
        assert verdict.faults == len(self.told)
        return verdict
