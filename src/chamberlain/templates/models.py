"""Templates: predefined ways to create something, as they were at one moment (a revision), and who may use which."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from chamberlain.core.errors import Fault, Forbidden
from chamberlain.core.ids import GroupId, PolicyId, TemplateId, TenantId, UserId
from chamberlain.requests.models_approvals import ApprovalRule
from chamberlain.templates.naming import NamingRule, parse_naming_rule


class TemplateKind(StrEnum):
    """What a template makes, or, for guests, says."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"
    GROUP = "group"
    TEAM = "team"
    GUEST = "guest"


GROUP_KINDS = frozenset({TemplateKind.GROUP, TemplateKind.TEAM})


class FieldType(StrEnum):
    """What a custom field holds."""

    TEXT = "text"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Audience:
    """The users who may use a template, named or as members of groups. No audience at all (None) is everyone."""

    users: frozenset[UserId]
    groups: frozenset[GroupId]


@dataclass(frozen=True, slots=True)
class CustomField:
    """A key of a request's metadata that a template gives a meaning. `choices` are the values of a choice."""

    key: str
    label: str
    type: FieldType
    required: bool
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TemplateHead:
    """What every kind of template has."""

    tenant_id: TenantId
    id: TemplateId
    revision: int
    kind: TemplateKind
    name: str
    active: bool


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A template as it is kept: what all kinds have, and the whole as JSON in the shape of its kind."""

    head: TemplateHead
    content: bytes


@dataclass(frozen=True, slots=True)
class GroupTemplate:
    """A template of kind group or team. Rules for names are texts with placeholders, see naming.py."""

    head: TemplateHead
    audience: Audience | None
    display_name_rule: str
    mail_nickname_rule: str | None
    member_ship_type: int
    member_ship_type_changeable: bool
    membership_rule: str | None
    owners: tuple[UserId, ...]
    members: tuple[UserId, ...]
    minimum_owners: int
    custom_fields: tuple[CustomField, ...]
    label_id: str | None
    channels: tuple[str, ...]
    guest_template_id: TemplateId | None
    guest_policy_id: PolicyId | None
    approval: ApprovalRule | None


@dataclass(frozen=True, slots=True)
class CompiledGroupTemplate:
    """A group template made ready for use: what is the same for every request is worked out once."""

    template: GroupTemplate
    display_name: NamingRule
    mail_nickname: NamingRule | None

    @property
    def needs_numbers(self) -> bool:
        """Whether a name has a number that must be drawn for each request."""
        return self.display_name.needs_counter or (self.mail_nickname is not None and self.mail_nickname.needs_counter)

    @property
    def needs_properties(self) -> bool:
        """Whether a name cannot be made before the directory has told what it knows of the caller."""
        return self.display_name.needs_properties or (
            self.mail_nickname is not None and self.mail_nickname.needs_properties
        )


def compile_group_template(template: GroupTemplate) -> CompiledGroupTemplate:
    """Parse the rules of a template. Raises NamingRuleInvalid."""
    nickname_rule = template.mail_nickname_rule
    return CompiledGroupTemplate(
        template=template,
        display_name=parse_naming_rule(template.display_name_rule),
        mail_nickname=None if nickname_rule is None else parse_naming_rule(nickname_rule),
    )


def template_fault(
    head: TemplateHead | None, kinds: AbstractSet[TemplateKind], pointer: str = "/templateId"
) -> Fault | None:
    """Why a template cannot make one of these kinds, if it cannot. A head of None: there is no such template."""
    if head is None:
        return Fault(pointer, "templateUnknown", "There is no such template. Choose one from the list.")
    if head.kind not in kinds:
        wanted = " or ".join(sorted(kinds))
        detail = f"This template is of kind {head.kind}; one of kind {wanted} is needed here."
        return Fault(pointer, "templateOfOtherKind", detail)
    if not head.active:
        detail = "This template is not in use at present. Choose another, or ask an administrator to activate it."
        return Fault(pointer, "templateInactive", detail)
    return None


def template_not_allowed(audience: Audience | None, user: UserId, member_of: AbstractSet[GroupId]) -> Forbidden | None:
    """Why a user may not use a template with this audience, if so. Applications are not held to it."""
    if audience is None or user in audience.users or not audience.groups.isdisjoint(member_of):
        return None
    detail = "You may not use this template. Choose another, or ask an administrator to add you to its audience."
    return Forbidden("templateNotAllowed", detail)
