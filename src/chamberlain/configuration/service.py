"""Plan, apply and export configuration files."""

from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.auth.models import Actor, Editor
from chamberlain.changes.records import record_change
from chamberlain.configuration import records
from chamberlain.configuration.documents import plan_configuration, present_picture, write_configuration
from chamberlain.configuration.files import Configuration, TenantEntry
from chamberlain.configuration.rules import Configured, Noun, Plan, PlannedChange, Verb, record_of
from chamberlain.core.errors import Conflict
from chamberlain.core.ids import PolicyId, TemplateId, TenantId, TraceId
from chamberlain.database.transactions import Database, Transaction
from chamberlain.events import outbox
from chamberlain.guests.policies import records as policy_records
from chamberlain.guests.policies.schema import stored_policy
from chamberlain.template_admin import webhook_secrets, webhook_state
from chamberlain.template_admin.documents import TemplateShape, stored_template
from chamberlain.templates import records as template_records
from chamberlain.templates.schema import GuestTemplateShape
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import tenant_unknown
from chamberlain.tenants.schema import to_issuers, to_tenant


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
            await records.look(tx)
            present = await records.find(tx, ids)
            in_use = await records.find_in_use(tx, ids, configuration.domains, configuration.issuers)
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
            await records.hold(tx, entries)
            present = await records.find(tx, entries)
            in_use = await records.find_in_use(tx, entries, configuration.domains, configuration.issuers)
            plan = plan_configuration(configuration, present, in_use)
            if agreed is not None:
                _require_agreed(plan, agreed)
            await _remove_issuers(tx, entries, present)
            for change in plan.changes:
                await _carry_out(tx, change, entries[change.tenant_id], actor)
                await record_change(tx, record_of(change, Editor(actor, None, trace_id, None)))
        return plan

    async def export(self, tenant_id: TenantId | None) -> str:
        """Export tenants as a configuration file.

        Without an id it has all tenants, the oldest first. Its plan is empty. Raises NotFound and
        ConfigurationTooLarge.
        """
        async with self.database.across_tenants() as tx:
            await records.look(tx)
            present = await records.find(tx, None if tenant_id is None else [tenant_id])
        if tenant_id is not None and not present:
            raise tenant_unknown(tenant_id)
        return write_configuration([present_picture(each) for each in present.values()])

    async def is_empty(self) -> bool:
        """Return whether the database has no tenant."""
        async with self.database.across_tenants() as tx:
            return not await tenant_records.any_tenant(tx)


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
                await tenant_records.remove_issuer(tx, issuer)


async def _carry_out(tx: Transaction, change: PlannedChange, entry: TenantEntry, actor: Actor) -> None:
    match change.noun:
        case Noun.TENANT:
            await tenant_records.put(tx, to_tenant(entry.tenant, revision=1, suspended=False))
            for issuer in to_issuers(entry.tenant):
                await tenant_records.put_issuer(tx, issuer)
        case Noun.TEMPLATE if change.verb is Verb.REMOVE:
            await outbox.cancel_pending(tx, change.tenant_id, TemplateId(change.id))
            await template_records.remove(tx, change.tenant_id, TemplateId(change.id))
        case Noun.TEMPLATE:
            (template,) = [each for each in entry.templates or () if each.id == change.id]
            await template_records.put(tx, stored_template(template, change.tenant_id), created_by=actor)
            await _settle_webhook(tx, change, template)
        case Noun.POLICY if change.verb is Verb.REMOVE:
            await policy_records.delete(tx, change.tenant_id, PolicyId(change.id))
        case Noun.POLICY:
            (policy,) = [each for each in entry.policies or () if each.id == change.id]
            kept = stored_policy(policy, change.tenant_id)
            await policy_records.save(
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
        await webhook_state.enable(tx, change.tenant_id, TemplateId(change.id))
