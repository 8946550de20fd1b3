# SPDX-License-Identifier: Apache-2.0
"""Plan, apply and export configuration files."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import groupby
from uuid import UUID

import msgspec
from msgspec import UnsetType

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Actor, Caller, Editor
from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import announced
from chamberlain.changes.records import record_change
from chamberlain.configuration import records
from chamberlain.configuration.assignments import KnownSubject, order_of
from chamberlain.configuration.documents import plan_configuration, present_picture, write_configuration
from chamberlain.configuration.files import Configuration, ConfigurationFault, ConfigurationInvalid, TenantEntry, placed
from chamberlain.configuration.own import own_configuration
from chamberlain.configuration.rules import (
    ChangeVerb,
    ConfigurationNoun,
    Configured,
    InUse,
    Plan,
    PlannedChange,
    record_of,
)
from chamberlain.configuration.sent import SentDocument, read_sent, to_fault
from chamberlain.connections.service import ConnectionWriter
from chamberlain.core.errors import Conflict, Fault, NotPossible, TryAgain, Unavailable
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import EventId, GroupId, PolicyId, TemplateId, TenantId, TraceId, UserId
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Transaction
from chamberlain.directory.capabilities import Ability, Capabilities, Capable
from chamberlain.directory.port import People
from chamberlain.directory.subjects import SubjectType
from chamberlain.events import outbox
from chamberlain.guests.assignments.capabilities import capability_faults as assignment_faults
from chamberlain.guests.assignments.service import AssignmentWriter
from chamberlain.guests.policies import records as policy_records
from chamberlain.guests.policies.schema import PolicyShape, stored_policy
from chamberlain.http import idempotency
from chamberlain.template_admin import webhook_secrets, webhook_state
from chamberlain.template_admin.documents import (
    TemplateShape,
    capability_faults,
    checked_references,
    decode_template,
    stored_template,
)
from chamberlain.template_admin.models import directory_faults, question_of
from chamberlain.templates import records as template_records
from chamberlain.templates.capabilities import restricts_guests
from chamberlain.templates.models import MAILBOX_KINDS, GuestTemplate
from chamberlain.templates.schema import GuestTemplateShape, to_guest_template
from chamberlain.tenants import models as tenant_models
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant, TenantSettings, tenant_unknown
from chamberlain.tenants.schema import TenantShape, to_issuers, to_tenant


@dataclass(frozen=True, slots=True)
class ConfigurationService:
    """Plan, apply and export tenants with their templates, policies and assignments.

    For the command line. The database has the role of a worker, which sees every tenant. `capable` states the
    capabilities of their directories.
    """

    database: Database
    capable: Capable
    assignments: AssignmentWriter
    connections: ConnectionWriter

    async def plan(self, configuration: Configuration) -> Plan:
        """Compare a configuration with the database. Writes nothing.

        Raises ConfigurationInvalid with all errors.
        """
        async with self.database.across_tenants() as tx:
            await records.look(tx)
            compared = await _compare(tx, configuration, self.connections.hosts)
        _require_supported(compared, await self._capabilities(configuration))
        return compared.plan

    async def apply(
        self, configuration: Configuration, *, actor: Actor, trace_id: TraceId, agreed: Plan | None = None
    ) -> Plan:
        """Apply a configuration in one transaction.

        Returns the plan that was carried out. Objects are identified by id, and those that the files omit stay. Every
        change is audited. With an agreed plan, only its removals are carried out. Raises ConfigurationInvalid with all
        errors, and Conflict.
        """
        capabilities = await self._capabilities(configuration)
        async with self.database.across_tenants() as tx:
            await records.hold(tx, [TenantId(entry.tenant.id) for entry in configuration.tenants])
            compared = await _compare(tx, configuration, self.connections.hosts)
            _require_supported(compared, capabilities)
            if agreed is not None:
                _require_agreed(compared.plan, agreed)
            await _remove_issuers(tx, compared)
            await carry_out(tx, compared, Editor(actor, None, trace_id, None), self.assignments, self.connections)
        return compared.plan

    async def export(self, tenant_id: TenantId | None, *, with_assignments: bool = True) -> str:
        """Export tenants as a configuration file.

        Without an id it has all tenants, the oldest first. Its plan is empty. Raises NotFound and
        ConfigurationTooLarge.
        """
        async with self.database.across_tenants() as tx:
            await records.look(tx)
            present = await records.find(tx, None if tenant_id is None else [tenant_id])
            subjects = await records.find_assigned_subjects(tx, present) if with_assignments else ()
        if tenant_id is not None and not present:
            raise tenant_unknown(tenant_id)
        return write_configuration([present_picture(each) for each in present.values()], subjects)

    async def _capabilities(self, configuration: Configuration) -> Mapping[TenantId, Capabilities]:
        ids = [TenantId(entry.tenant.id) for entry in configuration.tenants]
        return {id_: await self.capable.capabilities(id_) for id_ in ids}

    async def is_empty(self) -> bool:
        """Return whether the database has no tenant."""
        async with self.database.across_tenants() as tx:
            return not await tenant_records.any_tenant(tx)


@dataclass(frozen=True, slots=True)
class Compared:
    """A plan, the configuration that it leads to, and the current one."""

    plan: Plan
    entries: Mapping[TenantId, TenantEntry]
    present: Mapping[TenantId, Configured]
    sites: frozenset[UUID]


async def _compare(tx: Transaction, configuration: Configuration, hosts: Collection[str]) -> Compared:
    """Plan the changes in a transaction that sees all tenants. Raises ConfigurationInvalid."""
    entries = {TenantId(entry.tenant.id): entry for entry in configuration.tenants}
    present = await records.find(tx, entries)
    in_use = await records.find_in_use(tx, entries, configuration.domains, configuration.issuers)
    in_use = replace(in_use, managing=await records.find_managing(tx, configuration.tenants))
    subjects = await records.find_named(tx, configuration.tenants)
    plan = plan_configuration(configuration, present, subjects, in_use, hosts=hosts)
    return Compared(plan, entries, present, _sites(subjects))


def _require_supported(compared: Compared, capabilities: Mapping[TenantId, Capabilities]) -> None:
    """Require templates and assignments that the directory of their tenant can follow.

    Raises ConfigurationInvalid with all errors.
    """
    faults: list[ConfigurationFault] = []
    for tenant_id, entry in compared.entries.items():
        changes = [each for each in compared.plan.changes if each.tenant_id == tenant_id]
        for place, template in _changed_templates(changes, entry):
            found = list(capability_faults(template, capabilities[tenant_id]))
            faults.extend(placed(_below_template(place, found), entry.place))
        faults.extend(placed(_assignment_faults(compared, tenant_id, capabilities[tenant_id]), entry.place))
    if faults:
        raise ConfigurationInvalid(faults)


def _assignment_faults(compared: Compared, tenant_id: TenantId, capabilities: Capabilities) -> list[Fault]:
    """List what the directory cannot do of the changed assignments."""
    if capabilities.can(Ability.SITES) and not restricts_guests(capabilities):
        return []
    templates = _guest_templates(compared, tenant_id)
    found: list[Fault] = []
    for change in compared.plan.changes:
        if change.tenant_id == tenant_id and change.noun is ConfigurationNoun.ASSIGNMENT:
            subject_type = SubjectType.SITE if change.id in compared.sites else SubjectType.GROUP
            template = templates.get(str((change.after or {}).get("templateId")))
            found.extend(assignment_faults(subject_type, template, capabilities))
    return [replace(each, pointer="/assignments") for each in found]


def _guest_templates(compared: Compared, tenant_id: TenantId) -> Mapping[str, GuestTemplate]:
    """Return the guest templates of a tenant after the plan, by id."""
    present = compared.present.get(tenant_id)
    shapes = compared.entries[tenant_id].templates
    if shapes is None:
        shapes = () if present is None else tuple([decode_template(each) for each in present.templates])
    return {str(each.id): to_guest_template(each) for each in shapes if isinstance(each, GuestTemplateShape)}


def _changed_templates(changes: Sequence[PlannedChange], entry: TenantEntry) -> Sequence[tuple[int, TemplateShape]]:
    """Return the changed templates of an entry with their places."""
    # A search of the list for each change takes seconds in one of thousands, and other calls wait.
    changed = {each.id for each in changes if each.noun is ConfigurationNoun.TEMPLATE}
    return [(place, each) for place, each in enumerate(entry.templates or ()) if each.id in changed]


def _below_template(place: int, faults: Iterable[Fault]) -> list[Fault]:
    return [replace(each, pointer=f"/templates/{place}{each.pointer}") for each in faults]


async def carry_out(
    tx: Transaction,
    compared: Compared,
    editor: Editor,
    assignments: AssignmentWriter,
    connections: ConnectionWriter,
) -> None:
    """Carry out a plan in its transaction.

    Each change is audited, and has its event.
    """
    for (tenant_id, noun), group in groupby(compared.plan.changes, key=lambda each: (each.tenant_id, each.noun)):
        changes = tuple(group)
        if noun is ConfigurationNoun.ASSIGNMENT:
            orders = {GroupId(change.id): order_of(change) for change in changes}
            await assignments.change(tx, tenant_id, orders, editor)
            continue
        entry, present = compared.entries[tenant_id], compared.present.get(tenant_id)
        if noun is ConfigurationNoun.CONNECTION and not isinstance(entry.connection, UnsetType):
            seen = None if present is None else present.connection
            await connections.write(tx, tenant_id, entry.connection, seen, editor)
            continue
        wanted = _wanted(entry)
        for change in changes:
            await _carry_out(tx, change, wanted, editor.actor)
            recorded = record_of(change, editor)
            # A new tenant has no reader of its events yet.
            if present is not None:
                event_id = EventId(assignments.new_id())
                recorded = announced(recorded, event_id, now=assignments.now(), kind=change.kind)
            await record_change(tx, recorded)


def _require_agreed(plan: Plan, agreed: Plan) -> None:
    if not all(loss in agreed.losses for loss in plan.losses):
        detail = "Something else would be removed by now than you have agreed to. Nothing was changed; look again."
        raise Conflict("stateDoesNotAllow", detail)


async def _remove_issuers(tx: Transaction, compared: Compared) -> None:
    """Remove issuers first, so that an issuer can move to another tenant.

    The changes of the tenants audit this.
    """
    for tenant_id, configured in compared.present.items():
        wanted = compared.entries[tenant_id].tenant
        kept = {(issuer.issuer, issuer.tid) for issuer in to_issuers(wanted)}
        for issuer in configured.issuers if wanted.issuers is not None else ():
            if (issuer.issuer, issuer.tid) not in kept:
                await tenant_records.remove_issuer(tx, issuer)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The wanted tenant, with its templates and policies by id."""

    tenant: TenantShape
    templates: Mapping[UUID, TemplateShape]
    policies: Mapping[UUID, PolicyShape]


def _wanted(entry: TenantEntry) -> _Wanted:
    templates = {each.id: each for each in entry.templates or ()}
    return _Wanted(entry.tenant, templates, {each.id: each for each in entry.policies or ()})


async def _carry_out(tx: Transaction, change: PlannedChange, wanted: _Wanted, actor: Actor) -> None:
    match change.noun:
        case ConfigurationNoun.TENANT:
            await tenant_records.put(tx, to_tenant(wanted.tenant, revision=1, suspended=False))
            for issuer in to_issuers(wanted.tenant):
                await tenant_records.put_issuer(tx, issuer)
        case ConfigurationNoun.TEMPLATE if change.verb is ChangeVerb.REMOVE:
            await outbox.cancel_pending(tx, change.tenant_id, TemplateId(change.id))
            await template_records.remove(tx, change.tenant_id, TemplateId(change.id))
        case ConfigurationNoun.TEMPLATE:
            template = wanted.templates[change.id]
            await template_records.put(tx, stored_template(template, change.tenant_id), created_by=actor)
            await _settle_webhook(tx, change, template)
        case ConfigurationNoun.POLICY if change.verb is ChangeVerb.REMOVE:
            await policy_records.delete(tx, change.tenant_id, PolicyId(change.id))
        case ConfigurationNoun.POLICY:
            kept = stored_policy(wanted.policies[change.id], change.tenant_id)
            await policy_records.save(
                tx,
                change.tenant_id,
                PolicyId(change.id),
                active=kept.head.active,
                content=kept.content,
                created_by=actor,
            )
        case ConfigurationNoun.ASSIGNMENT | ConfigurationNoun.CONNECTION:
            raise LookupError("Assignments and connections are changed by their own nouns.")


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


@dataclass(slots=True)
class TenantConfigurationService:
    """Plan and apply a document to the caller's tenant, over HTTP.

    Every method raises Forbidden for callers without the permission for a change, Malformed, BodyInvalid and
    NotPossible with all errors, and Unavailable. `capable` states the capabilities of the directory, `workers` are
    notified of new assignments.
    """

    database: Database
    people: People
    capable: Capable
    authorization: Authorization
    assignments: AssignmentWriter
    connections: ConnectionWriter
    workers: Notifier

    async def plan(self, caller: Caller, document: SentDocument) -> Plan:
        """Compare a document with the tenant. Writes nothing."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        configuration = await asyncio.to_thread(read_sent, document)
        async with self.database.transaction(caller.tenant_id) as tx:
            compared = await _compare_own(tx, caller.tenant_id, configuration, self.connections.hosts)
        await self._require_possible(caller, compared)
        return compared.plan

    async def apply(
        self, caller: Caller, document: SentDocument, digest: str, act: Act, render: Callable[[Plan], bytes]
    ) -> KeptAnswer:
        """Apply a document in one transaction, and return the rendered plan.

        Raises Conflict if the plan has another digest by now.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)
        configuration = await asyncio.to_thread(read_sent, document)
        async with self.database.transaction(caller.tenant_id) as tx:
            if (kept := await idempotency.find(tx, caller, act.idempotency)) is not None:
                return kept
            seen = await _compare_own(tx, caller.tenant_id, configuration, self.connections.hosts)
        _require_digest(seen.plan, digest)
        await self._require_possible(caller, seen)

        async def work() -> bytes:
            await records.hold_own(tx, caller.tenant_id)
            compared = await _compare_own(tx, caller.tenant_id, configuration, self.connections.hosts)
            _require_digest(compared.plan, digest)
            await carry_out(tx, compared, editor, self.assignments, self.connections)
            return render(compared.plan)

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer

    async def _require_possible(self, caller: Caller, compared: Compared) -> None:
        """Require the permission of each change, and known users and groups.

        No transaction may be open.
        """
        for operation in dict.fromkeys(map(operation_of, compared.plan.changes)):
            await self.authorization.require(caller, operation)
        faults: list[Fault] = []
        for tenant_id, entry in compared.entries.items():
            changes = [each for each in compared.plan.changes if each.tenant_id == tenant_id]
            found = [
                *await self._directory_faults(changes, entry, compared.present[tenant_id].tenant),
                *_assignment_faults(compared, tenant_id, await self.capable.capabilities(tenant_id)),
            ]
            faults.extend(map(to_fault, placed(found, entry.place)))
        if faults:
            raise NotPossible(faults)

    async def _directory_faults(
        self, changes: Sequence[PlannedChange], entry: TenantEntry, tenant: Tenant
    ) -> Sequence[Fault]:
        faults: list[Fault] = []
        try:
            if any(each.noun is ConfigurationNoun.TENANT for each in changes):
                faults.extend(await self._administrator_faults(entry, tenant))
            for place, template in _changed_templates(changes, entry):
                faults.extend(_below_template(place, await self._template_faults(template, tenant.id)))
        except TryAgain as error:
            detail = "The directory is unavailable, so users and groups cannot be checked. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        return faults

    async def _administrator_faults(self, entry: TenantEntry, tenant: Tenant) -> Sequence[Fault]:
        settings = _tenant_settings(entry.tenant)
        answer = await self.people.look_up(tenant_models.question_of(settings, tenant.id))
        further = tenant_models.members_question(answer, tenant.id)
        members = {} if further is None else (await self.people.look_up(further)).people
        return tuple(tenant_models.settings_faults(settings, tenant, answer, members))

    async def _template_faults(self, template: TemplateShape, tenant_id: TenantId) -> Sequence[Fault]:
        capabilities = await self.capable.capabilities(tenant_id)
        impossible = list(capability_faults(template, capabilities))
        references = checked_references(template, capabilities)
        question = question_of(references, tenant_id)
        if question is None:
            return impossible
        return [*impossible, *directory_faults(references, await self.people.look_up(question))]


async def _compare_own(
    tx: Transaction, tenant_id: TenantId, configuration: Configuration, hosts: Collection[str]
) -> Compared:
    """Plan the changes of one tenant. Raises NotFound and NotPossible."""
    present = await records.find(tx, [tenant_id])
    if tenant_id not in present:
        raise tenant_unknown(tenant_id)
    own, faults = own_configuration(configuration, present[tenant_id])
    if faults:
        raise NotPossible(map(to_fault, faults))
    entries = {TenantId(entry.tenant.id): entry for entry in own.tenants}
    assigned = await records.find_assigned(tx, [tenant_id])
    in_use = InUse({}, {}, assigned, await records.find_managing(tx, own.tenants))
    subjects = await records.find_named(tx, own.tenants)
    try:
        # A large document takes more than a second, and other calls must not wait.
        plan = await asyncio.to_thread(plan_configuration, own, present, subjects, in_use, hosts=hosts)
    except ConfigurationInvalid as error:
        raise NotPossible(map(to_fault, error.faults)) from error
    _require_few_assignments(own, plan)
    return Compared(plan, entries, present, _sites(subjects))


def _sites(subjects: Sequence[KnownSubject]) -> frozenset[UUID]:
    return frozenset(each.id for each in subjects if each.type is SubjectType.SITE)


# More take too long for one transaction of a call.
MOST_ASSIGNED = 5_000


def _require_few_assignments(configuration: Configuration, plan: Plan) -> None:
    count = sum(change.noun is ConfigurationNoun.ASSIGNMENT for change in plan.changes)
    if count > MOST_ASSIGNED:
        (entry,) = configuration.tenants
        sentence = "{count} assignments would change. One call changes at most {max}. Divide the list."
        place = entry.place.below("/assignments")
        fault = Fault.build(place.pointer, "outOfBounds", sentence, count=count, max=MOST_ASSIGNED)
        raise NotPossible([fault])


def digest_of(plan: Plan) -> str:
    """Return the digest of a plan, in hexadecimal digits."""
    return sha256(msgspec.json.encode(plan.changes, order="sorted")).hexdigest()


def _require_digest(plan: Plan, digest: str) -> None:
    if digest_of(plan) != digest:
        detail = "The document has another plan by now. Nothing was changed. Plan it again, and send the new digest."
        raise Conflict("previewChanged", detail)


def operation_of(change: PlannedChange) -> Operation:
    """Return the permission of the endpoint that makes such a change."""
    match change.noun:
        case ConfigurationNoun.TENANT | ConfigurationNoun.CONNECTION:
            return Operation.ADMINISTER_SERVICE
        case ConfigurationNoun.TEMPLATE if change.kind in MAILBOX_KINDS:
            return Operation.ADMINISTER_MAIL
        case ConfigurationNoun.TEMPLATE | ConfigurationNoun.POLICY:
            return Operation.ADMINISTER_COLLAB
        case ConfigurationNoun.ASSIGNMENT:
            return Operation.ASSIGN


def _tenant_settings(shape: TenantShape) -> TenantSettings:
    return TenantSettings(
        name=shape.name,
        default_domain=shape.domains[0],
        users=tuple(UserId(each) for each in shape.administrators.users),
        groups=tuple(GroupId(each) for each in shape.administrators.groups),
        repairs_drift=shape.repair.drift,
        repair_properties=shape.repair.properties,
        applicability=shape.applicability,
    )
