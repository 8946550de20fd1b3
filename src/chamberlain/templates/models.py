"""Revisions of templates, their audiences, and webhook secrets."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from typing import Any

from chamberlain.core.errors import Fault, Forbidden, NotFound
from chamberlain.core.ids import GroupId, PolicyId, TemplateId, TenantId, UserId
from chamberlain.directory.mailboxes import MailboxOrder, MailboxProperties, MailboxType
from chamberlain.directory.subjects import GuestRules, PresentGuests
from chamberlain.requests.models import ApprovalRule
from chamberlain.templates.naming import NamingRule, parse_naming_rule


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
class GroupTemplate:
    """A template of kind group or team.

    Rules for names are texts with placeholders, see naming.py.
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

    @property
    def needs_numbers(self) -> bool:
        """Return whether a name needs a drawn number."""
        return self.display_name.needs_counter or (self.mail_nickname is not None and self.mail_nickname.needs_counter)

    @property
    def needs_properties(self) -> bool:
        """Return whether a name needs properties of the caller from the directory."""
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
    """Validate that a template exists, fits the kinds and is active.

    A head of None means that there is no such template.
    """
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
    """Return the error if the audience excludes the user."""
    if audience is None or user in audience.users or not audience.groups.isdisjoint(member_of):
        return None
    detail = "You may not use this template. Choose another, or ask an administrator to add you to its audience."
    return Forbidden("templateNotAllowed", detail)


MAILBOX_KINDS = frozenset({TemplateKind.SHARED, TemplateKind.EQUIPMENT, TemplateKind.ROOM})


@dataclass(frozen=True, slots=True)
class MailboxTemplate:
    """A template of kind shared, equipment or room.

    The address rule makes the local part, see naming.py.
    """

    head: TemplateHead
    is_default: bool
    audience: Audience | None
    domain: str | None
    address_rule: str
    defaults: MailboxProperties
    custom_fields: tuple[CustomField, ...]
    approval: ApprovalRule | None

    @property
    def type(self) -> MailboxType:
        """Return the type of the mailbox."""
        return MailboxType(self.head.kind)


@dataclass(frozen=True, slots=True)
class CompiledMailboxTemplate:
    """A mailbox template with a parsed naming rule."""

    template: MailboxTemplate
    address: NamingRule

    @property
    def needs_numbers(self) -> bool:
        """Return whether the address needs a drawn number."""
        return self.address.needs_counter

    @property
    def needs_properties(self) -> bool:
        """Return whether the address needs properties of the caller from the directory."""
        return self.address.needs_properties


def compile_mailbox_template(template: MailboxTemplate) -> CompiledMailboxTemplate:
    """Parse the rule of a template. Raises NamingRuleInvalid."""
    return CompiledMailboxTemplate(template, parse_naming_rule(template.address_rule))


def completed(order: MailboxOrder, template: MailboxTemplate) -> MailboxOrder:
    """Fill the missing properties of an order with the template's defaults.

    Permissions and metadata of the order replace the defaults as a whole, so that a caller can send fewer of them.
    """
    if template.defaults == NO_DEFAULTS:
        return order
    return replace(order, **_missing(order, template.defaults))


NO_DEFAULTS = MailboxProperties()
_PROPERTIES = tuple(field.name for field in fields(MailboxProperties))


# Any: the properties are of many types, and each goes from a field to the field of the same name.
def _missing(order: MailboxOrder, defaults: MailboxProperties) -> Mapping[str, Any]:
    return {name: getattr(defaults, name) for name in _PROPERTIES if getattr(order, name) is None}


@dataclass(frozen=True, slots=True)
class GuestTemplate:
    """The guest rules of a template, and the treatment of violations."""

    name: str
    rules: GuestRules
    present_guests: PresentGuests


# The previous secret also signs for this time (docs/reference/webhooks.md).
OVERLAP = timedelta(hours=24)


class SecretFate(Enum):
    """The effect of a template change on the secret of its webhook."""

    ABSENT = auto()
    KEPT = auto()
    GIVEN = auto()
    MADE = auto()
    REMOVED = auto()


@dataclass(frozen=True, slots=True)
class SettledSecret:
    """A secret after a template change.

    `was_there` says whether there was one before. `made` is a secret of the service; only one answer contains it.
    """

    fate: SecretFate
    was_there: bool
    made: str | None = field(default=None, repr=False)

    @property
    def is_new(self) -> bool:
        """Return whether there is a new secret."""
        return self.fate in {SecretFate.GIVEN, SecretFate.MADE}

    @property
    def has_changed(self) -> bool:
        """Return whether the secret is new or removed."""
        return self.is_new or self.fate is SecretFate.REMOVED


def fate_of(*, has_webhook: bool, sent: str | None, present: str | None) -> SecretFate:
    """Decide by the sent and the present secret."""
    if not has_webhook:
        return SecretFate.ABSENT if present is None else SecretFate.REMOVED
    if sent is not None:
        return SecretFate.KEPT if sent == present else SecretFate.GIVEN
    return SecretFate.MADE if present is None else SecretFate.KEPT


@dataclass(frozen=True, slots=True)
class SigningSecrets:
    """The secrets that sign a call, newest first.

    The previous one is included during the overlap. There are none if the keys can decrypt none.
    """

    values: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class RotatedSecret:
    """A new secret.

    The previous one also signs until `previous_until`; None without a previous one.
    """

    made: str = field(repr=False)
    previous_until: datetime | None


def overlap_end(now: datetime) -> datetime:
    """Return the end of the overlap for a replaced secret."""
    return now + OVERLAP


def no_webhook() -> NotFound:
    """Return the error for a template without a webhook."""
    return NotFound("This template has no webhook. Give it one first, by a PUT of the template.")


# The template that a webhook belongs to.
WebhookKey = tuple[TenantId, TemplateId]
