"""Templates: predefined ways to create something, as they were at one moment (a revision)."""

from dataclasses import dataclass
from enum import StrEnum

from chamberlain.rules.approvals import ApprovalRule
from chamberlain.rules.ids import GroupId, PolicyId, TemplateId, TenantId, UserId


class TemplateKind(StrEnum):
    """What a template makes, or, for guests, says."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"
    GROUP = "group"
    TEAM = "team"
    GUEST = "guest"


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
