# SPDX-License-Identifier: Apache-2.0
"""Plan the changes to the desired configuration, and find conflicts.

Objects are identified by id, never by name. Omitted lists stay; a given list is complete.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from chamberlain.auth.models import Editor, Issuer
from chamberlain.changes.models import Change, Content, Subject, differences
from chamberlain.connections.models import Connection
from chamberlain.core.errors import Fault
from chamberlain.core.ids import TenantId
from chamberlain.core.values import Json
from chamberlain.guests.policies.models import StoredPolicy
from chamberlain.templates.models import StoredTemplate, TemplateKind
from chamberlain.tenants.models import Tenant

# Secrets of webhooks never appear in plans.
_SECRETS = frozenset({"secret"})


class ChangeVerb(StrEnum):
    """Kind of a change."""

    CREATE = "create"
    CHANGE = "change"
    REMOVE = "remove"


class ConfigurationNoun(StrEnum):
    """Nouns of configuration files."""

    TENANT = "tenant"
    TEMPLATE = "template"
    POLICY = "policy"
    ASSIGNMENT = "assignment"
    CONNECTION = "connection"


# Verbs of audit actions, the same as over HTTP.
_RECORDED: Mapping[ChangeVerb, str] = {
    ChangeVerb.CREATE: "create",
    ChangeVerb.CHANGE: "replace",
    ChangeVerb.REMOVE: "delete",
}


@dataclass(frozen=True, slots=True)
class Configured:
    """The current configuration of a tenant."""

    tenant: Tenant
    issuers: tuple[Issuer, ...]
    templates: tuple[StoredTemplate, ...]
    policies: tuple[StoredPolicy, ...]
    connection: Connection | None = None


@dataclass(frozen=True, slots=True)
class InUse:
    """Possible conflicts with other tenants and with assignments.

    `domains` has the owners that are not in the files. `issuers` has the owners by issuer and tid. `assigned` counts
    the groups and sites of templates and policies. `managing` has the tenants with managed objects, of those whose
    connection is in the files.
    """

    domains: Mapping[str, TenantId]
    issuers: Mapping[tuple[str, str | None], TenantId]
    assigned: Mapping[tuple[TenantId, UUID], int]
    managing: AbstractSet[TenantId] = frozenset()


@dataclass(frozen=True, slots=True)
class Picture:
    """A tenant as a document: settings, templates and policies.

    In a desired document, missing issuers and lists of None are omitted, and stay. Only a current one has the
    connection.
    """

    tenant_id: TenantId
    settings: Content
    templates: tuple[Content, ...] | None
    policies: tuple[Content, ...] | None
    connection: Content | None = None


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One planned change.

    `before` and `after` have only the changed properties; of a new or removed object, all of them. `kind` is that of a
    template.
    """

    tenant_id: TenantId
    verb: ChangeVerb
    noun: ConfigurationNoun
    id: UUID
    name: str
    before: Content | None
    after: Content | None
    kind: TemplateKind | None = None

    @property
    def takes_away(self) -> bool:
        """Return whether the change removes something.

        That is an object, an issuer, or the address or credential of a connection.
        """
        if self.verb is ChangeVerb.REMOVE or self.lost_parts:
            return True
        kept = [_issuer_key(each) for each in _entries(self.after, "issuers")]
        return any(_issuer_key(each) not in kept for each in _entries(self.before, "issuers"))

    @property
    def lost_parts(self) -> tuple[str, ...]:
        """Return the parts that a changed connection loses for good."""
        if self.noun is not ConfigurationNoun.CONNECTION or self.before is None or self.after is None:
            return ()
        return tuple(
            name for name in ("address", "credential") if self.before.get(name) and self.after.get(name) is None
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Planned changes in the order of their execution."""

    changes: tuple[PlannedChange, ...]

    @property
    def losses(self) -> tuple[PlannedChange, ...]:
        """Return the changes that remove something."""
        return tuple(each for each in self.changes if each.takes_away)

    def count(self, verb: ChangeVerb) -> int:
        """Count the changes of one kind."""
        return sum(each.verb is verb for each in self.changes)


def plan_tenant(wanted: Picture, present: Picture | None) -> tuple[PlannedChange, ...]:
    """Plan the changes of one tenant."""
    before = present or Picture(wanted.tenant_id, {}, (), ())
    return (
        *_plan_settings(wanted, present),
        *_plan_losses(wanted, ConfigurationNoun.TEMPLATE, wanted.templates, before.templates),
        *_plan_losses(wanted, ConfigurationNoun.POLICY, wanted.policies, before.policies),
        *_plan_things(wanted, ConfigurationNoun.POLICY, wanted.policies, before.policies),
        # Each kind has one default at a time: the old one is changed before the new one.
        *_plan_things(
            wanted, ConfigurationNoun.TEMPLATE, sorted(wanted.templates or (), key=is_default), before.templates
        ),
    )


def picture_faults(wanted: Picture, present: Picture | None) -> Iterator[Fault]:
    """Validate the desired state of a tenant.

    Pointers are relative to the tenant's entry.
    """
    before = present or Picture(wanted.tenant_id, {}, (), ())
    templates = _by_id(wanted.templates if wanted.templates is not None else before.templates)
    policies = _by_id(wanted.policies if wanted.policies is not None else before.policies)
    guest_templates = {id_ for id_, each in templates.items() if each["kind"] == TemplateKind.GUEST}
    for place, template in enumerate(wanted.templates or ()):
        pointer = f"/templates/{place}"
        yield from _kind_faults(template, _by_id(before.templates), pointer)
        yield from _unknown(template, "guestTemplateId", guest_templates, f"{pointer}/guestTemplateId")
        yield from _unknown(template, "guestPolicyId", policies.keys(), f"{pointer}/guestPolicyId")
    if wanted.templates is None:
        for template in before.templates or ():
            yield from _left_behind(template, policies.keys(), _entries(wanted.settings, "domains"))


def is_default(template: Content) -> bool:
    """Return whether a template is the active default of its kind."""
    return bool(template.get("isDefault") and template.get("active"))


def record_of(change: PlannedChange, editor: Editor) -> Change:
    """Return the audit record of a change."""
    return Change(
        tenant_id=change.tenant_id,
        action=f"{change.noun}.{_RECORDED[change.verb]}",
        actor=editor.actor,
        client_id=editor.client_id,
        subject=Subject(change.noun, change.id, change.name),
        before=change.before,
        after=change.after,
        request_id=None,
        trace_id=editor.trace_id,
        client_address=editor.client_address,
    )


def _plan_settings(wanted: Picture, present: Picture | None) -> Iterator[PlannedChange]:
    if present is None:
        yield _planned(wanted, ConfigurationNoun.TENANT, None, wanted.settings)
        return
    before = {each: value for each, value in present.settings.items() if each in wanted.settings}
    if before != wanted.settings:
        yield _planned(wanted, ConfigurationNoun.TENANT, before, wanted.settings)


def _plan_losses(
    wanted: Picture, noun: ConfigurationNoun, things: Sequence[Content] | None, present: Sequence[Content] | None
) -> Iterator[PlannedChange]:
    if things is None:
        return
    kept = _by_id(things)
    for id_, before in _by_id(present).items():
        if id_ not in kept:
            yield _planned(wanted, noun, before, None)


def _plan_things(
    wanted: Picture, noun: ConfigurationNoun, things: Sequence[Content] | None, present: Sequence[Content] | None
) -> Iterator[PlannedChange]:
    there = _by_id(present)
    for id_, after in _by_id(things).items():
        if (before := there.get(id_)) != after:
            yield _planned(wanted, noun, before, after)


def _planned(wanted: Picture, noun: ConfigurationNoun, before: Content | None, after: Content | None) -> PlannedChange:
    verb = ChangeVerb.CREATE if before is None else ChangeVerb.REMOVE if after is None else ChangeVerb.CHANGE
    thing = after or before or {}
    kind = TemplateKind(str(thing["kind"])) if noun is ConfigurationNoun.TEMPLATE else None
    if before is not None and after is not None:
        before, after = differences(before, after)
    return PlannedChange(
        wanted.tenant_id, verb, noun, UUID(str(thing["id"])), str(thing["name"]), _shown(before), _shown(after), kind
    )


def _shown(content: Content | None) -> Content | None:
    """Remove the id, which is a separate property, and mask secrets."""
    return None if content is None else {name: _masked(name, each) for name, each in content.items() if name != "id"}


def _masked(name: str, value: Json) -> Json:
    if name in _SECRETS:
        return "***"
    if isinstance(value, dict):
        return {inner: _masked(inner, each) for inner, each in value.items()}
    return [_masked("", each) for each in value] if isinstance(value, list) else value


def _kind_faults(template: Content, present: Mapping[str, Content], pointer: str) -> Iterator[Fault]:
    before = present.get(str(template["id"]))
    if before is not None and before["kind"] != template["kind"]:
        sentence = (
            'This is the id of "{name}", which is of kind {kind} and stays so. '
            "Choose another id for one of kind {wanted}."
        )
        name, kind, wanted = str(before["name"]), str(before["kind"]), str(template["kind"])
        yield Fault.build(f"{pointer}/kind", "templateOfOtherKind", sentence, name=name, kind=kind, wanted=wanted)


def _unknown(template: Content, member: str, known: AbstractSet[str], pointer: str) -> Iterator[Fault]:
    id_ = template.get(member)
    if id_ is not None and id_ not in known:
        if member == "guestTemplateId":
            sentence = "The tenant has no guest template {template}. Name one that it has, or leave it out."
            yield Fault.build(pointer, "templateUnknown", sentence, template=str(id_))
        else:
            sentence = "The tenant has no policy {policy}. Name one that it has, or leave it out."
            yield Fault.build(pointer, "policyUnknown", sentence, policy=str(id_))


def _left_behind(template: Content, policies: AbstractSet[str], domains: Sequence[Json]) -> Iterator[Fault]:
    """Report references of omitted templates that the change would break."""
    name = str(template["name"])
    policy = template.get("guestPolicyId")
    if policy is not None and policy not in policies:
        sentence = 'The template "{template}" names policy {policy}. Keep that one, or change the template as well.'
        yield Fault.build("/policies", "policyUnknown", sentence, template=name, policy=str(policy))
    defaults = template.get("defaults")
    for domain in (template.get("domain"), defaults.get("domain") if isinstance(defaults, dict) else None):
        if domain and str(domain).lower() not in domains:
            sentence = (
                'The template "{template}" makes addresses at {domain}. Keep that domain, or change the template.'
            )
            yield Fault.build("/domains", "domainNotVerified", sentence, template=name, domain=str(domain))


def _by_id(things: Sequence[Content] | None) -> Mapping[str, Content]:
    return {str(each["id"]): each for each in things or ()}


def _entries(content: Content | None, member: str) -> Sequence[Json]:
    found = None if content is None else content.get(member)
    return found if isinstance(found, list) else ()


def _issuer_key(issuer: Json) -> tuple[Json, Json]:
    return (issuer["issuer"], issuer.get("tid")) if isinstance(issuer, dict) else (None, None)
