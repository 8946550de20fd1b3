"""Plan, apply and export configuration files."""

from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.rules.callers import Actor
from chamberlain.rules.configurations import Configured, Noun, Plan, PlannedChange, Verb, record_of
from chamberlain.rules.edits import Editor
from chamberlain.rules.errors import Conflict
from chamberlain.rules.ids import PolicyId, TemplateId, TenantId, TraceId
from chamberlain.rules.suspensions import tenant_unknown
from chamberlain.shapes.configuration import Configuration, TenantEntry
from chamberlain.shapes.configuration_export import write_configuration
from chamberlain.shapes.configuration_pictures import present_picture
from chamberlain.shapes.configuration_plans import plan_configuration
from chamberlain.shapes.guest_templates import GuestTemplateShape
from chamberlain.shapes.policies import stored_policy
from chamberlain.shapes.templates import TemplateShape, stored_template
from chamberlain.shapes.tenants import to_issuers, to_tenant
from chamberlain.store import (
    changes,
    configuration_locks,
    configurations,
    outbox,
    policies,
    templates,
    tenants,
    webhook_secrets,
    webhook_states,
)
from chamberlain.store.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class ConfigurationService:
    """Plan, apply and export tenants with their templates and policies.

    For the command line. The database has the role of a worker, which sees every tenant.
    """

    database: Database

    async def plan(self, configuration: Configuration) -> Plan:
        """Compare a configuration with the database. Writes nothing.

        Raises ConfigurationInvalid with all errors.
        """
        ids = [TenantId(entry.tenant.id) for entry in configuration.tenants]
        async with self.database.across_tenants() as tx:
            await configuration_locks.look(tx)
            present = await configurations.find(tx, ids)
            in_use = await configurations.find_in_use(tx, ids, configuration.domains, configuration.issuers)
        return plan_configuration(configuration, present, in_use)

    async def apply(
        self, configuration: Configuration, *, actor: Actor, trace_id: TraceId, agreed: Plan | None = None
    ) -> Plan:
        """Apply a configuration in one transaction.

        Returns the plan that was carried out. Objects are identified by id, and those that the files omit stay. Every
        change is audited. With an agreed plan, only its removals are carried out. Raises ConfigurationInvalid with all
        errors, and Conflict.
        """
        entries = {TenantId(entry.tenant.id): entry for entry in configuration.tenants}
        async with self.database.across_tenants() as tx:
            await configuration_locks.hold(tx, entries)
            present = await configurations.find(tx, entries)
            in_use = await configurations.find_in_use(tx, entries, configuration.domains, configuration.issuers)
            plan = plan_configuration(configuration, present, in_use)
            if agreed is not None:
                _require_agreed(plan, agreed)
            await _remove_issuers(tx, entries, present)
            for change in plan.changes:
                await _carry_out(tx, change, entries[change.tenant_id], actor)
                await changes.record(tx, record_of(change, Editor(actor, None, trace_id, None)))
        return plan

    async def export(self, tenant_id: TenantId | None) -> str:
        """Export tenants as a configuration file.

        Without an id it has all tenants, the oldest first. Its plan is empty. Raises NotFound and
        ConfigurationTooLarge.
        """
        async with self.database.across_tenants() as tx:
            await configuration_locks.look(tx)
            present = await configurations.find(tx, None if tenant_id is None else [tenant_id])
        if tenant_id is not None and not present:
            raise tenant_unknown(tenant_id)
        return write_configuration([present_picture(each) for each in present.values()])

    async def is_empty(self) -> bool:
        """Return whether the database has no tenant."""
        async with self.database.across_tenants() as tx:
            return not await tenants.any_tenant(tx)


def _require_agreed(plan: Plan, agreed: Plan) -> None:
    if not all(loss in agreed.losses for loss in plan.losses):
        detail = "Something else would be removed by now than you have agreed to. Nothing was changed; look again."
        raise Conflict("stateDoesNotAllow", detail)


async def _remove_issuers(
    tx: Transaction, entries: Mapping[TenantId, TenantEntry], present: Mapping[TenantId, Configured]
) -> None:
    """Remove issuers first, so that an issuer can move to another tenant.

    The changes of the tenants audit this.
    """
    for tenant_id, configured in present.items():
        wanted = entries[tenant_id].tenant
        kept = {(issuer.issuer, issuer.tid) for issuer in to_issuers(wanted)}
        for issuer in configured.issuers if wanted.issuers is not None else ():
            if (issuer.issuer, issuer.tid) not in kept:
                await tenants.remove_issuer(tx, issuer)


async def _carry_out(tx: Transaction, change: PlannedChange, entry: TenantEntry, actor: Actor) -> None:
    match change.noun:
        case Noun.TENANT:
            await tenants.put(tx, to_tenant(entry.tenant, revision=1, suspended=False))
            for issuer in to_issuers(entry.tenant):
                await tenants.put_issuer(tx, issuer)
        case Noun.TEMPLATE if change.verb is Verb.REMOVE:
            await outbox.cancel_pending(tx, change.tenant_id, TemplateId(change.id))
            await templates.remove(tx, change.tenant_id, TemplateId(change.id))
        case Noun.TEMPLATE:
            (template,) = [each for each in entry.templates or () if each.id == change.id]
            await templates.put(tx, stored_template(template, change.tenant_id), created_by=actor)
            await _settle_webhook(tx, change, template)
        case Noun.POLICY if change.verb is Verb.REMOVE:
            await policies.remove(tx, change.tenant_id, PolicyId(change.id))
        case Noun.POLICY:
            (policy,) = [each for each in entry.policies or () if each.id == change.id]
            kept = stored_policy(policy, change.tenant_id)
            await policies.put(
                tx,
                change.tenant_id,
                PolicyId(change.id),
                active=kept.head.active,
                content=kept.content,
                created_by=actor,
            )


async def _settle_webhook(tx: Transaction, change: PlannedChange, template: TemplateShape) -> None:
    webhook = None if isinstance(template, GuestTemplateShape) else template.webhook
    # A webhook keeps its secret.
    if webhook is None:
        await webhook_secrets.forget(tx, change.tenant_id, TemplateId(change.id))
    if webhook is None or not webhook.active:
        await outbox.cancel_pending(tx, change.tenant_id, TemplateId(change.id))
    # A disabled webhook is enabled, as by a PUT.
    if webhook is None or webhook.active:
        await webhook_states.enable(tx, change.tenant_id, TemplateId(change.id))
