# SPDX-License-Identifier: Apache-2.0
"""Revisions of templates of groups, teams, guests and mailboxes."""

from dataclasses import dataclass
from enum import StrEnum

from chamberlain.core.ids import GroupId, PolicyId, TemplateId, TenantId, UserId
from chamberlain.directory.mailboxes import MailboxProperties, MailboxType
from chamberlain.directory.subjects import GuestRules, PresentGuests
from chamberlain.requests.models import ApprovalRule


class TemplateKind(StrEnum):
    """The kind of object that a template creates, or guest rules."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"
    GROUP = "group"
    TEAM = "team"
    GUEST = "guest"


GROUP_KINDS = frozenset({TemplateKind.GROUP, TemplateKind.TEAM})


class FieldType(StrEnum):
    """The type of a custom field."""

    TEXT = "text"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Audience:
    """The users who may use a template, directly or by group.

    None instead of an audience is everyone.
    """

    users: frozenset[UserId]
    groups: frozenset[GroupId]


@dataclass(frozen=True, slots=True)
class CustomField:
    """A key of a request's metadata with a meaning for a template.

    `choices` are the values of a choice.
    """

    key: str
    label: str
    type: FieldType
    required: bool
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TemplateHead:
    """The properties that templates of all kinds have."""

    tenant_id: TenantId
    id: TemplateId
    revision: int
    kind: TemplateKind
    name: str
    active: bool


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A stored template: its head, and its JSON by kind."""

    head: TemplateHead
    content: bytes


@dataclass(frozen=True, slots=True)
class Input:
    """`{input}`: the name as it was sent."""


@dataclass(frozen=True, slots=True)
class MetadataValue:
    """`{metadata.<key>}`: the value of this key in the request."""

    key: str


@dataclass(frozen=True, slots=True)
class CallerProperty:
    """`{user.<property>}`: a property of the caller in the directory."""

    name: str


@dataclass(frozen=True, slots=True)
class Counter:
    """`{counter:N}`: a number with at least so many digits."""

    digits: int


Part = str | Input | MetadataValue | CallerProperty | Counter


@dataclass(frozen=True, slots=True)
class NamingRule:
    """A parsed rule, and the values that its expansion needs."""

    parts: tuple[Part, ...]
    needs_counter: bool
    needs_properties: bool


@dataclass(frozen=True, slots=True)
class GroupTemplate:
    """A template of kind group or team.

    Rules for names are texts with placeholders, see rules.py.
    """

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
    """A group template with parsed naming rules."""

    template: GroupTemplate
    display_name: NamingRule
    mail_nickname: NamingRule | None
    needs_numbers: bool
    needs_properties: bool


MAILBOX_KINDS = frozenset({TemplateKind.SHARED, TemplateKind.EQUIPMENT, TemplateKind.ROOM})


@dataclass(frozen=True, slots=True)
class MailboxTemplate:
    """A template of kind shared, equipment or room.

    The address rule makes the local part, see rules.py.
    """

    head: TemplateHead
    type: MailboxType
    is_default: bool
    audience: Audience | None
    domain: str | None
    address_rule: str
    defaults: MailboxProperties
    custom_fields: tuple[CustomField, ...]
    approval: ApprovalRule | None


@dataclass(frozen=True, slots=True)
class CompiledMailboxTemplate:
    """A mailbox template with a parsed naming rule."""

    template: MailboxTemplate
    address: NamingRule


@dataclass(frozen=True, slots=True)
class GuestTemplate:
    """The guest rules of a template, and the treatment of violations."""

    name: str
    rules: GuestRules
    present_guests: PresentGuests
