"""Bring tenants, their templates and policies to what a configuration file says, in one transaction.

What is not in the file stays. Ids are identity: a name that changed is a change, never a new thing.
"""

from dataclasses import dataclass

import msgspec

from chamberlain.rules.callers import Actor
from chamberlain.rules.changes import Change, Subject
from chamberlain.rules.edits import Editor
from chamberlain.rules.ids import PolicyId, TenantId, TraceId
from chamberlain.rules.template_records import default_lost
from chamberlain.rules.templates import StoredTemplate
from chamberlain.shapes.configuration import Configuration, TenantEntry
from chamberlain.shapes.templates import stored_template
from chamberlain.shapes.tenants import to_issuers, to_tenant
from chamberlain.store import changes, policies, templates, tenants
from chamberlain.store.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class ApplyConfiguration:
    """Writes as the worker's role, which sees every tenant."""

    database: Database

    async def __call__(self, configuration: Configuration, *, actor: Actor, trace_id: TraceId) -> None:
        """Every change is on the audit trail of its tenant."""
        async with self.database.across_tenants() as tx:
            for entry in configuration.tenants:
                await _apply_tenant(tx, entry, actor, trace_id)

    async def is_empty(self) -> bool:
        """Whether the database has no tenant at all."""
        async with self.database.across_tenants() as tx:
            return not await tenants.any_tenant(tx)


async def _apply_tenant(tx: Transaction, entry: TenantEntry, actor: Actor, trace_id: TraceId) -> None:
    tenant = to_tenant(entry.tenant, revision=1, suspended=False)
    if await tenants.put(tx, tenant):
        subject = Subject("tenant", tenant.id, tenant.name)
        await changes.record(tx, _change(tenant.id, "tenant.replace", subject, actor, trace_id))
    for issuer in to_issuers(entry.tenant):
        await tenants.put_issuer(tx, issuer)
    for template in entry.templates or ():
        await _apply_template(tx, stored_template(template, tenant.id), Editor(actor, None, trace_id))
    for policy in entry.policies or ():
        content = msgspec.json.encode(policy)
        policy_id = PolicyId(policy.id)
        if await policies.put(tx, tenant.id, policy_id, active=policy.active, content=content, created_by=actor):
            subject = Subject("policy", policy.id, policy.name)
            await changes.record(tx, _change(tenant.id, "policy.replace", subject, actor, trace_id))


async def _apply_template(tx: Transaction, template: StoredTemplate, editor: Editor) -> None:
    loser = await templates.losing_default(tx, template)
    if not await templates.put(tx, template, created_by=editor.actor):
        return
    head = template.head
    if loser is not None:
        await changes.record(tx, default_lost(loser.head, editor))
    subject = Subject("template", head.id, head.name)
    await changes.record(tx, _change(head.tenant_id, "template.replace", subject, editor.actor, editor.trace_id))


def _change(tenant_id: TenantId, action: str, subject: Subject, actor: Actor, trace_id: TraceId) -> Change:
    return Change(
        tenant_id=tenant_id,
        action=action,
        actor=actor,
        client_id=None,
        subject=subject,
        before=None,
        after={"name": subject.display_name},
        request_id=None,
        trace_id=trace_id,
    )
