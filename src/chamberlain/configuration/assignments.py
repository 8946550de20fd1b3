# SPDX-License-Identifier: Apache-2.0
"""Plan the assignments of configuration files.

An entry is the whole assignment of its group or site. Groups and sites without an entry keep theirs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar
from uuid import UUID

from chamberlain.changes.models import Content, differences
from chamberlain.configuration.files import AssignmentEntry, TenantEntry
from chamberlain.configuration.rules import ChangeVerb, ConfigurationNoun, Picture, PlannedChange
from chamberlain.core.errors import Fault
from chamberlain.core.ids import WRITTEN_ID, GroupId, PolicyId, TemplateId, TenantId
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.assignments.models import Assign, AssignmentOrder, Clear, FieldChange, Keep, assignment_faults
from chamberlain.guests.assignments.rules import assignment_document
from chamberlain.guests.models import Assignment, to_assignment
from chamberlain.guests.policies.models import PolicyHead
from chamberlain.mailboxes.rules import comparison_form
from chamberlain.templates.models import TemplateHead, TemplateKind


@dataclass(frozen=True, slots=True)
class KnownSubject:
    """A group or site of a tenant with its current assignment.

    `addresses` are in lower case: the mail address, or the address of the site.
    """

    tenant_id: TenantId
    id: GroupId
    type: SubjectType
    display_name: str
    addresses: tuple[str, ...]
    assignment: Assignment


@dataclass(frozen=True, slots=True)
class SubjectNames:
    """The ids, names and addresses of groups and sites in an entry."""

    ids: tuple[UUID, ...]
    name_keys: tuple[str, ...]
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedAssignments:
    """Planned changes of assignments, and the faults of their entries.

    `left` counts how many groups and sites stop using each template and policy.
    """

    changes: tuple[PlannedChange, ...]
    faults: tuple[Fault, ...]
    left: Mapping[UUID, int]


Head = TypeVar("Head", TemplateHead, PolicyHead)


class _EntryInvalid(Exception):
    """An entry cannot be planned, for these faults."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__()
        self.faults = faults


def subject_names(entry: TenantEntry) -> SubjectNames:
    """List the groups and sites that the assignments of a tenant name."""
    written = [each.subject for each in entry.assignments]
    names = [each for each in written if not _is_id(each)]
    return SubjectNames(
        ids=tuple(UUID(each) for each in written if _is_id(each)),
        name_keys=tuple(comparison_form(each) for each in names if not _is_address(each)),
        addresses=tuple(_comparable(each) for each in names if _is_address(each)),
    )


def plan_assignments(
    entry: TenantEntry, wanted: Picture, before: Picture | None, subjects: Sequence[KnownSubject]
) -> PlannedAssignments:
    """Plan the changes of assignments after those of templates and policies."""
    templates = wanted.templates if wanted.templates is not None else (before.templates if before else None)
    policies = wanted.policies if wanted.policies is not None else (before.policies if before else None)
    choice = _make_choice(
        subjects,
        [_template_head(wanted.tenant_id, each) for each in templates or ()],
        [_policy_head(wanted.tenant_id, each) for each in policies or ()],
    )
    changes: list[PlannedChange] = []
    faults: list[Fault] = []
    left: dict[UUID, int] = {}
    first: dict[GroupId, str] = {}
    for each in entry.assignments:
        try:
            subject, after = choice.resolve(each)
            _require_first(each, subject, first)
        except _EntryInvalid as error:
            faults.extend(error.faults)
            continue
        if after != subject.assignment:
            changes.append(_planned(subject, after))
            for id_ in _ids(subject.assignment) - _ids(after):
                left[id_] = left.get(id_, 0) + 1
    return PlannedAssignments(tuple(changes), tuple(faults), left)


@dataclass(frozen=True, slots=True)
class _Heads(Generic[Head]):
    """Templates or policies by id, and the fitting ones by name."""

    by_id: Mapping[UUID, Head]
    by_name: Mapping[str, Sequence[Head]]


@dataclass(frozen=True, slots=True)
class _Choice:
    """The groups, sites, templates and policies that entries can name.

    Groups and sites are found by their id, name or address.
    """

    subjects: Mapping[object, Sequence[KnownSubject]]
    templates: _Heads[TemplateHead]
    policies: _Heads[PolicyHead]

    def resolve(self, entry: AssignmentEntry) -> tuple[KnownSubject, Assignment]:
        """Find the group or site and its assignment. Raises _EntryInvalid."""
        subject = self._subject(entry)
        template = _head(entry, "template", entry.template, self.templates)
        policy = _head(entry, "policy", entry.policy, self.policies)
        after = to_assignment(
            None if entry.template is None else TemplateId(_id_or_unknown(entry.template, template)),
            None if entry.policy is None else PolicyId(_id_or_unknown(entry.policy, policy)),
        )
        if faults := tuple(assignment_faults(subject.assignment, after, template=template, policy=policy)):
            raise _EntryInvalid(
                *(replace(each, pointer=f"{entry.pointer}{each.pointer.removesuffix('Id')}") for each in faults)
            )
        return subject, after

    def _subject(self, entry: AssignmentEntry) -> KnownSubject:
        pointer = f"{entry.pointer}/{entry.type}"
        found = self.subjects.get(_subject_key(entry.subject), ())
        fitting = [each for each in found if each.type is entry.type]
        if len(fitting) == 1:
            return fitting[0]
        if len(fitting) > 1:
            raise _EntryInvalid(_ambiguous(pointer, entry.subject, [each.id for each in fitting]))
        if found:
            sentence = '"{group}" is a {type}. Write {type}: instead of {wanted}:.'
            actual, wanted = str(found[0].type), str(entry.type)
            fault = Fault.build(pointer, "groupUnknown", sentence, group=entry.subject, type=actual, wanted=wanted)
            raise _EntryInvalid(fault)
        unknown = (
            'The service knows no {type} "{group}". Check the name. New groups of the directory are known after half a '
            "minute."
        )
        raise _EntryInvalid(Fault.build(pointer, "groupUnknown", unknown, type=str(entry.type), group=entry.subject))


def order_of(change: PlannedChange) -> AssignmentOrder:
    """Return the planned change as one of the API."""
    names = {*(change.before or {}), *(change.after or {})}
    after = change.after or {}
    template = _field(after.get("templateId")) if "templateId" in names else Keep()
    policy = _field(after.get("policyId")) if "policyId" in names else Keep()
    return AssignmentOrder(template, policy)


def _field(written: object) -> FieldChange:
    return Assign(UUID(written)) if isinstance(written, str) else Clear()


def _planned(subject: KnownSubject, after: Assignment) -> PlannedChange:
    had, has = subject.assignment != Assignment(), after != Assignment()
    old, new = assignment_document(subject.assignment), assignment_document(after)
    verb = ChangeVerb.CHANGE if had and has else ChangeVerb.CREATE if has else ChangeVerb.REMOVE
    changed_from, changed_to = differences(old, new)
    return PlannedChange(
        subject.tenant_id,
        verb,
        ConfigurationNoun.ASSIGNMENT,
        subject.id,
        subject.display_name,
        changed_from if had else None,
        changed_to if has else None,
    )


def _make_choice(
    subjects: Sequence[KnownSubject], templates: Sequence[TemplateHead], policies: Sequence[PolicyHead]
) -> _Choice:
    by_key: dict[object, list[KnownSubject]] = {}
    for each in subjects:
        for key in {each.id, comparison_form(each.display_name), *each.addresses}:
            by_key.setdefault(key, []).append(each)
    guests = [each for each in templates if each.kind is TemplateKind.GUEST]
    return _Choice(by_key, _heads(templates, guests), _heads(policies, policies))


def _heads(known: Sequence[Head], named: Sequence[Head]) -> _Heads[Head]:
    by_name: dict[str, list[Head]] = {}
    for each in named:
        by_name.setdefault(comparison_form(each.name), []).append(each)
    return _Heads({each.id: each for each in known}, by_name)


def _head(entry: AssignmentEntry, member: str, written: str | None, known: _Heads[Head]) -> Head | None:
    """Find a template or policy by id or name. Raises _EntryInvalid."""
    if written is None:
        return None
    if _is_id(written):
        return known.by_id.get(UUID(written))
    found = known.by_name.get(comparison_form(written), ())
    if len(found) > 1:
        raise _EntryInvalid(_ambiguous(f"{entry.pointer}/{member}", written, [each.id for each in found]))
    if not found:
        pointer = f"{entry.pointer}/{member}"
        if member == "template":
            sentence = 'The tenant has no guest template "{template}". Name one that it has, by name or id.'
            raise _EntryInvalid(Fault.build(pointer, "templateUnknown", sentence, template=written))
        sentence = 'The tenant has no policy "{policy}". Name one that it has, by name or id.'
        raise _EntryInvalid(Fault.build(pointer, "policyUnknown", sentence, policy=written))
    return found[0]


def _id_or_unknown(written: str, head: TemplateHead | PolicyHead | None) -> UUID:
    """Return the id of a head.

    Without a head it is the written id, which is a fault.
    """
    return UUID(written) if head is None else head.id


def _ambiguous(pointer: str, name: str, ids: Sequence[UUID]) -> Fault:
    sentence = '"{name}" is the name of several: {choices}. Write the id of one.'
    return Fault.build(pointer, "nameAmbiguous", sentence, name=name, choices=tuple(map(str, ids)))


def _require_first(entry: AssignmentEntry, subject: KnownSubject, first: dict[GroupId, str]) -> None:
    before = first.setdefault(subject.id, entry.pointer)
    if before != entry.pointer:
        sentence = "{value} ({id}) is in the list already, at {first}. Keep one of them."
        pointer, name, id_ = f"{entry.pointer}/{entry.type}", subject.display_name, str(subject.id)
        raise _EntryInvalid(Fault.build(pointer, "unknownValue", sentence, value=name, id=id_, first=before))


def _subject_key(written: str) -> object:
    """Return what an entry names: an id, an address or a name."""
    if _is_id(written):
        return UUID(written)
    return _comparable(written) if _is_address(written) else comparison_form(written)


def _is_id(written: str) -> bool:
    return WRITTEN_ID.fullmatch(written) is not None


def _is_address(written: str) -> bool:
    return "@" in written or "://" in written


def _comparable(address: str) -> str:
    return address.lower().rstrip("/")


def _ids(assignment: Assignment) -> frozenset[UUID]:
    return frozenset(each for each in (assignment.template_id, assignment.policy_id) if each is not None)


def _template_head(tenant_id: TenantId, template: Content) -> TemplateHead:
    return TemplateHead(
        tenant_id=tenant_id,
        id=TemplateId(UUID(str(template["id"]))),
        # Of no importance to a plan.
        revision=0,
        kind=TemplateKind(str(template["kind"])),
        name=str(template["name"]),
        active=bool(template["active"]),
    )


def _policy_head(tenant_id: TenantId, policy: Content) -> PolicyHead:
    return PolicyHead(
        tenant_id=tenant_id,
        id=PolicyId(UUID(str(policy["id"]))),
        revision=0,
        name=str(policy["name"]),
        active=bool(policy["active"]),
    )


def subjects_assigned(subjects: Sequence[KnownSubject]) -> Iterator[Content]:
    """Write assignments as entries of a file."""
    for each in subjects:
        assignment = assignment_document(each.assignment)
        yield {
            str(each.type): str(each.id),
            "template": assignment["templateId"],
            "policy": assignment["policyId"],
        }
