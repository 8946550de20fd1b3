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
from chamberlain.core.errors import Fault
from chamberlain.core.ids import TenantId
from chamberlain.core.values import Json
from chamberlain.guests.policies.models import StoredPolicy
from chamberlain.templates.models import StoredTemplate, TemplateKind
from chamberlain.tenants.models import Tenant

# Secrets of webhooks never appear in plans.
_SECRETS = frozenset({"secret"})


class Verb(StrEnum):
    """Kind of a change."""

    CREATE = "create"
    CHANGE = "change"
    REMOVE = "remove"


class Noun(StrEnum):
    """Nouns of configuration files."""

    TENANT = "tenant"
    TEMPLATE = "template"
    POLICY = "policy"


# Verbs of audit actions, the same as over HTTP.
_RECORDED: Mapping[Verb, str] = {Verb.CREATE: "create", Verb.CHANGE: "replace", Verb.REMOVE: "delete"}


@dataclass(frozen=True, slots=True)
class Configured:
    """The current configuration of a tenant."""

    tenant: Tenant
    issuers: tuple[Issuer, ...]
    templates: tuple[StoredTemplate, ...]
    policies: tuple[StoredPolicy, ...]


@dataclass(frozen=True, slots=True)
class InUse:
    """Possible conflicts with other tenants and with assignments.

    `domains` has the owners that are not in the files. `issuers` has the owners by issuer and tid.
    """

    domains: Mapping[str, TenantId]
    issuers: Mapping[tuple[str, str | None], TenantId]
    assigned: AbstractSet[tuple[TenantId, UUID]]


@dataclass(frozen=True, slots=True)
class Picture:
    """A tenant as a document: settings, templates and policies.

    In a desired document, missing issuers and lists of None are omitted, and stay.
    """

    tenant_id: TenantId
    settings: Content
    templates: tuple[Content, ...] | None
    policies: tuple[Content, ...] | None


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One planned change.

    `before` and `after` have only the changed properties; of a new or removed object, all of them.
    """

    tenant_id: TenantId
    verb: Verb
    noun: Noun
    id: UUID
    name: str
    before: Content | None
    after: Content | None

    @property
    def takes_away(self) -> bool:
        """Return whether the change removes an object or an issuer."""
        if self.verb is Verb.REMOVE:
            return True
        kept = [_issuer_key(each) for each in _entries(self.after, "issuers")]
        return any(_issuer_key(each) not in kept for each in _entries(self.before, "issuers"))


@dataclass(frozen=True, slots=True)
class Plan:
    """Planned changes in the order of their execution."""

    changes: tuple[PlannedChange, ...]

    @property
    def losses(self) -> tuple[PlannedChange, ...]:
        """Return the changes that remove something."""
        return tuple(each for each in self.changes if each.takes_away)

    def count(self, verb: Verb) -> int:
        """Count the changes of one kind."""
        return sum(each.verb is verb for each in self.changes)


def plan_tenant(wanted: Picture, present: Picture | None) -> tuple[PlannedChange, ...]:
    """Plan the changes of one tenant."""
    before = present or Picture(wanted.tenant_id, {}, (), ())
    return (
        *_plan_settings(wanted, present),
        *_plan_losses(wanted, Noun.TEMPLATE, wanted.templates, before.templates),
        *_plan_losses(wanted, Noun.POLICY, wanted.policies, before.policies),
        *_plan_things(wanted, Noun.POLICY, wanted.policies, before.policies),
        # Each kind has one default at a time: the old one is changed before the new one.
        *_plan_things(wanted, Noun.TEMPLATE, sorted(wanted.templates or (), key=is_default), before.templates),
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
        yield _planned(wanted, Noun.TENANT, None, wanted.settings)
        return
    before = {each: value for each, value in present.settings.items() if each in wanted.settings}
    if before != wanted.settings:
        yield _planned(wanted, Noun.TENANT, before, wanted.settings)


def _plan_losses(
    wanted: Picture, noun: Noun, things: Sequence[Content] | None, present: Sequence[Content] | None
) -> Iterator[PlannedChange]:
    if things is None:
        return
    kept = _by_id(things)
    for id_, before in _by_id(present).items():
        if id_ not in kept:
            yield _planned(wanted, noun, before, None)


def _plan_things(
    wanted: Picture, noun: Noun, things: Sequence[Content] | None, present: Sequence[Content] | None
) -> Iterator[PlannedChange]:
    there = _by_id(present)
    for id_, after in _by_id(things).items():
        if (before := there.get(id_)) != after:
            yield _planned(wanted, noun, before, after)


def _planned(wanted: Picture, noun: Noun, before: Content | None, after: Content | None) -> PlannedChange:
    verb = Verb.CREATE if before is None else Verb.REMOVE if after is None else Verb.CHANGE
    thing = after or before or {}
    if before is not None and after is not None:
        before, after = differences(before, after)
    return PlannedChange(
        wanted.tenant_id, verb, noun, UUID(str(thing["id"])), str(thing["name"]), _shown(before), _shown(after)
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
        detail = (
            f'This is the id of "{before["name"]}", which is of kind {before["kind"]} and stays so. '
            f"Choose another id for one of kind {template['kind']}."
        )
        yield Fault(f"{pointer}/kind", "templateOfOtherKind", detail)


def _unknown(template: Content, member: str, known: AbstractSet[str], pointer: str) -> Iterator[Fault]:
    id_ = template.get(member)
    if id_ is not None and id_ not in known:
        noun, code = (
            ("guest template", "templateUnknown") if member == "guestTemplateId" else ("policy", "policyUnknown")
        )
        yield Fault(pointer, code, f"The tenant has no {noun} {id_}. Name one that it has, or leave it out.")


def _left_behind(template: Content, policies: AbstractSet[str], domains: Sequence[Json]) -> Iterator[Fault]:
    """Report references of omitted templates that the change would break."""
    name = template["name"]
    policy = template.get("guestPolicyId")
    if policy is not None and policy not in policies:
        detail = f'The template "{name}" names policy {policy}. Keep that one, or change the template as well.'
        yield Fault("/policies", "policyUnknown", detail)
    defaults = template.get("defaults")
    for domain in (template.get("domain"), defaults.get("domain") if isinstance(defaults, dict) else None):
        if domain and str(domain).lower() not in domains:
            detail = f'The template "{name}" makes addresses at {domain}. Keep that domain, or change the template.'
            yield Fault("/domains", "domainNotVerified", detail)


def _by_id(things: Sequence[Content] | None) -> Mapping[str, Content]:
    return {str(each["id"]): each for each in things or ()}


def _entries(content: Content | None, member: str) -> Sequence[Json]:
    found = None if content is None else content.get(member)
    return found if isinstance(found, list) else ()


def _issuer_key(issuer: Json) -> tuple[Json, Json]:
    return (issuer["issuer"], issuer.get("tid")) if isinstance(issuer, dict) else (None, None)
