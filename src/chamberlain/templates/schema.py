# SPDX-License-Identifier: Apache-2.0
"""JSON models of templates: groups, teams, guest rules and mailboxes."""

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, convert, field

from chamberlain.core.errors import Fault
from chamberlain.core.fields import (
    Description,
    Domain,
    Id,
    Line,
    ManyIds,
    Metadata,
    Name,
    NotEmpty,
    Shape,
    line,
    lines,
    name,
    shaped,
    weighed_lines,
)
from chamberlain.core.ids import GroupId, PolicyId, TemplateId, TenantId, UserId
from chamberlain.core.validation import duplicate_faults, duplicate_word_faults, join_pointer
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.mailboxes import MailboxProperties, MailboxType, PermissionLevel
from chamberlain.directory.subjects import AddedBy, GuestRules, PresentGuests, Sharing
from chamberlain.requests.schema import ApprovalShape, approval_faults, to_approval_rule
from chamberlain.templates.mailbox_types import EQUIPMENT_TYPE, applicability_faults
from chamberlain.templates.models import (
    Audience,
    CustomField,
    FieldType,
    GroupTemplate,
    GuestTemplate,
    MailboxTemplate,
    TemplateHead,
    TemplateKind,
)
from chamberlain.templates.rules import NamingRuleInvalid, default_faults, parse_naming_rule
from chamberlain.templates.webhook import WebhookBody, WebhookShape, stored_webhook


def naming_rule_faults(text: str, pointer: str) -> Iterator[Fault]:
    """Validate a naming rule."""
    try:
        parse_naming_rule(text)
    except NamingRuleInvalid as error:
        sentence = error.template + " (Character {position}.)"
        yield Fault.build(pointer, "ruleInvalid", sentence, position=error.position + 1, **error.values)


class ChoiceShape(Shape, frozen=True, kw_only=True):
    """One choice: the value is sent and stored, the label is shown."""

    value: Annotated[str, name(1024)]
    label: Name


class CustomFieldShape(Shape, frozen=True, kw_only=True):
    """One field; `choices` belong to a field of type choice."""

    key: Annotated[str, name(128)]
    label: Name
    type: FieldType
    required: bool = False
    choices: Annotated[tuple[ChoiceShape, ...], Meta(max_length=200)] | None = None


CustomFields = Annotated[tuple[CustomFieldShape, ...], Meta(max_length=64)]


def custom_field_faults(fields: Sequence[CustomFieldShape], pointer: str) -> Iterator[Fault]:
    """Validate custom fields: unique keys and values, permitted choices."""
    seen: set[str] = set()
    for place, each in enumerate(fields):
        here = join_pointer(pointer, place)
        if each.key in seen:
            sentence = 'The key "{key}" is there twice. Give each field a key of its own.'
            yield Fault.build(join_pointer(here, "key"), "ruleInvalid", sentence, key=each.key)
        seen.add(each.key)
        if each.type is FieldType.CHOICE and not each.choices:
            yield Fault.build(join_pointer(here, "choices"), "ruleInvalid", "A field of type choice needs choices.")
        values = [choice.value for choice in each.choices or ()]
        yield from duplicate_faults(values, join_pointer(here, "choices"), member="value")
        if each.type is not FieldType.CHOICE and each.choices:
            sentence = "A field of type {type} has no choices. Leave them out, or make it a choice."
            yield Fault.build(join_pointer(here, "choices"), "ruleInvalid", sentence, type=str(each.type))


def to_custom_field(shape: CustomFieldShape) -> CustomField:
    """The rules' value of it, which knows no labels of choices."""
    return CustomField(
        key=shape.key,
        label=shape.label,
        type=shape.type,
        required=shape.required,
        choices=tuple(each.value for each in shape.choices or ()),
    )


class AudienceShape(Shape, frozen=True, kw_only=True):
    """These users, and the members of these groups.

    A template without an audience is for everyone.
    """

    users: ManyIds = ()
    groups: ManyIds = ()


def audience_faults(shape: AudienceShape | None, pointer: str) -> Iterator[Fault]:
    """Users and groups that are named twice."""
    if shape is not None:
        yield from duplicate_faults(shape.users, f"{pointer}/users")
        yield from duplicate_faults(shape.groups, f"{pointer}/groups")


def to_audience(shape: AudienceShape) -> Audience:
    """The rules' value of it."""
    return Audience(
        users=frozenset(UserId(each) for each in shape.users), groups=frozenset(GroupId(each) for each in shape.groups)
    )


# The bound of the suite for the name of a channel.
_Channel = Annotated[str, name(50)]
# The bound of the suite for a membership rule.
_MembershipRule = Annotated[str, lines(3072, minimum=1)]


class GroupNamingShape(Shape, frozen=True, kw_only=True):
    """The naming rules.

    Without a rule for the mail nickname it follows the display name.
    """

    display_name: Name = "{input}"
    mail_nickname: Name | None = None


class GroupTemplateMembers(Shape, frozen=True, kw_only=True):
    """Properties of a template of kind group or team, without its webhook."""

    kind: Literal["group", "team"]
    name: Name
    description: Description = ""
    active: bool = True
    audience: AudienceShape | None = None
    naming: GroupNamingShape = GroupNamingShape()
    member_ship_type: MemberShipType = MemberShipType.PRIVATE
    member_ship_type_changeable: bool = True
    membership_rule: _MembershipRule | None = None
    owners: Annotated[tuple[UUID, ...], Meta(max_length=100)] = ()
    members: Annotated[tuple[UUID, ...], Meta(max_length=10_000)] = ()
    minimum_owners: Annotated[int, Meta(ge=1, le=100)] = 1
    custom_fields: CustomFields = ()
    label_id: Name | None = None
    channels: Annotated[tuple[_Channel, ...], Meta(max_length=200)] = ()
    guest_template_id: UUID | None = None
    guest_policy_id: UUID | None = None
    approval: ApprovalShape | None = None


class GroupTemplateBody(GroupTemplateMembers, frozen=True, kw_only=True):
    """A template of kind group or team as it is sent."""

    webhook: WebhookBody | None = None


class GroupTemplateShape(GroupTemplateMembers, frozen=True, kw_only=True):
    """A stored template of kind group or team."""

    webhook: WebhookShape | None = None
    id: UUID


def identified_group_template(body: GroupTemplateBody, template_id: TemplateId) -> GroupTemplateShape:
    """The template that a body describes."""
    members = {name: getattr(body, name) for name in GroupTemplateMembers.__struct_fields__}
    return GroupTemplateShape(**members, webhook=stored_webhook(body.webhook), id=template_id)


def group_template_faults(shape: GroupTemplateShape, pointer: str = "") -> Iterator[Fault]:
    """Why a well-formed template cannot be used."""
    yield from naming_rule_faults(shape.naming.display_name, f"{pointer}/naming/displayName")
    if shape.naming.mail_nickname is not None:
        yield from naming_rule_faults(shape.naming.mail_nickname, f"{pointer}/naming/mailNickname")
    if shape.kind == "group" and shape.channels:
        sentence = "A template of kind {type} has no {property}. Leave it out, or make the kind {typeWithIt}."
        yield Fault.build(
            f"{pointer}/channels",
            "propertyNotApplicable",
            sentence,
            type="group",
            property="channels",
            typeWithIt="team",
        )
    if shape.member_ship_type is MemberShipType.DYNAMIC and shape.membership_rule is None:
        sentence = "With memberShipType 2 the members follow a rule. Give a membershipRule, or another memberShipType."
        yield Fault.build(f"{pointer}/membershipRule", "dynamicRuleMissing", sentence)
    if shape.member_ship_type is MemberShipType.DYNAMIC and shape.members:
        sentence = "With memberShipType 2 the members follow the rule. Leave members out."
        yield Fault.build(f"{pointer}/members", "membersOfDynamicGroup", sentence)
    yield from custom_field_faults(shape.custom_fields, f"{pointer}/customFields")
    yield from audience_faults(shape.audience, f"{pointer}/audience")
    yield from approval_faults(shape.approval, f"{pointer}/approval")
    yield from duplicate_faults(shape.owners, f"{pointer}/owners")
    yield from duplicate_faults(shape.members, f"{pointer}/members")
    yield from duplicate_word_faults(shape.channels, f"{pointer}/channels")


def to_group_template(shape: GroupTemplateShape, *, tenant_id: TenantId, revision: int) -> GroupTemplate:
    """Convert to the template that rules use.

    It has no description, labels of choices and webhook.
    """
    return GroupTemplate(
        head=TemplateHead(
            tenant_id=tenant_id,
            id=TemplateId(shape.id),
            revision=revision,
            kind=TemplateKind(shape.kind),
            name=shape.name,
            active=shape.active,
        ),
        audience=None if shape.audience is None else to_audience(shape.audience),
        display_name_rule=shape.naming.display_name,
        mail_nickname_rule=shape.naming.mail_nickname,
        member_ship_type=shape.member_ship_type,
        member_ship_type_changeable=shape.member_ship_type_changeable,
        membership_rule=shape.membership_rule,
        owners=tuple(UserId(each) for each in shape.owners),
        members=tuple(UserId(each) for each in shape.members),
        minimum_owners=shape.minimum_owners,
        custom_fields=tuple(to_custom_field(each) for each in shape.custom_fields),
        label_id=shape.label_id,
        channels=shape.channels,
        guest_template_id=None if shape.guest_template_id is None else TemplateId(shape.guest_template_id),
        guest_policy_id=None if shape.guest_policy_id is None else PolicyId(shape.guest_policy_id),
        approval=None if shape.approval is None else to_approval_rule(shape.approval),
    )


_Domains = Annotated[tuple[Domain, ...], Meta(max_length=1000)]


class GuestsShape(Shape, frozen=True, kw_only=True):
    """Users who may add guests, and domains of guests.

    No allowed domains means all but the blocked ones.
    """

    allowed: bool
    added_by: Literal["members", "owners", "administrators"] = "owners"
    allowed_domains: _Domains = ()
    blocked_domains: _Domains = ()


class GuestTemplateBody(Shape, frozen=True, kw_only=True):
    """A template of kind guest as it is sent."""

    kind: Literal["guest"]
    name: Name
    description: Description = ""
    active: bool = True
    guests: GuestsShape
    present_guests: Literal["keep", "remove"] = "keep"
    sharing_capability: Literal["disabled", "existingGuests", "newAndExistingGuests", "anyone"]


class GuestTemplateShape(GuestTemplateBody, frozen=True, kw_only=True):
    """A stored template of kind guest."""

    id: UUID


def identified_guest_template(body: GuestTemplateBody, template_id: TemplateId) -> GuestTemplateShape:
    """The template that a body describes."""
    members = {name: getattr(body, name) for name in body.__struct_fields__}
    return GuestTemplateShape(**members, id=template_id)


def guest_template_faults(shape: GuestTemplateShape, pointer: str = "") -> Iterator[Fault]:
    """Why a well-formed template cannot be used."""
    yield from duplicate_word_faults(shape.guests.allowed_domains, f"{pointer}/guests/allowedDomains")
    yield from duplicate_word_faults(shape.guests.blocked_domains, f"{pointer}/guests/blockedDomains")


def to_guest_template(shape: GuestTemplateShape) -> GuestTemplate:
    """The rules of the template."""
    guests = shape.guests
    rules = GuestRules(
        allowed=guests.allowed,
        added_by=AddedBy(guests.added_by),
        allowed_domains=guests.allowed_domains,
        blocked_domains=guests.blocked_domains,
        sharing=Sharing(shape.sharing_capability),
    )
    return GuestTemplate(shape.name, rules, PresentGuests(shape.present_guests))


# One id in two spellings would be one user with two levels; the keys are compared before they become ids.
Permissions = Annotated[
    dict[Id, PermissionLevel],
    Meta(max_length=500, extra={"ids": "users"}, description="Levels by the object ids of users."),
]
Capacity = Annotated[
    int, Meta(ge=0, le=2_147_483_647, description="MB of storage; of a room the people it holds; of equipment units.")
]
State = Annotated[str, line(64)]
BusinessPhones = Annotated[tuple[Line, ...], Meta(max_length=10)]
AutomaticReply = Annotated[str, weighed_lines(8)]
Tags = Annotated[tuple[Annotated[str, line(64), NotEmpty], ...], Meta(max_length=32)]
Notes = Annotated[str, lines(4096)]
Reason = Annotated[str, line(1024)]

# RFC 5321, 4.1.2: dot-atom, without the forms in quotation marks.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
Alias = Annotated[
    str,
    shaped(
        rf"{_ATOM}(?:\.{_ATOM})*",
        "must be the part before the @ of an address, such as info",
        64,
        extra={"rule": "localPart"},
    ),
]


class RoomMailboxMetadataShape(Shape, frozen=True, kw_only=True, omit_defaults=True):
    """Equipment of a room."""

    has_conference_phone: bool | None = None
    has_whiteboard: bool | None = None
    has_video_conferencing: bool | None = None


class MailboxPropertiesShape(Shape, frozen=True, kw_only=True, omit_defaults=True):
    """Properties of a mailbox that a request sends or a template gives."""

    permissions: Permissions | None = None
    metadata: Metadata | None = None
    capacity: Capacity | None = None
    state: State | None = None
    street_address: Line | None = None
    office_location: Line | None = None
    company_name: Line | None = None
    postal_code: Line | None = None
    city: Line | None = None
    country: Line | None = None
    phone: Line | None = None
    department: Line | None = None
    domain: Annotated[Line, NotEmpty] | None = None
    audio_device_name: Line | None = None
    display_device_name: Line | None = None
    video_device_name: Line | None = None
    business_phones: BusinessPhones | None = None
    primary_owner: Id | None = None
    secondary_owner: Id | None = None
    automatic_reply: AutomaticReply | None = None
    is_allow_automatic_reply_override: bool | None = None
    is_wheel_chair_accessible: bool | None = None
    # The API spells it so; "camel" would make hideFromGal of it.
    hide_from_gal: bool | None = field(default=None, name="hideFromGAL")
    auto_mapping: bool | None = None
    tags: Tags | None = None
    room_mailbox_metadata: RoomMailboxMetadataShape | None = None
    notes: Notes | None = None
    reason: Reason | None = None


class MailboxDefaultsShape(MailboxPropertiesShape, frozen=True, kw_only=True, omit_defaults=True):
    """Properties that a mailbox gets unless the request sends them."""


class MailboxNamingShape(Shape, frozen=True, kw_only=True):
    """The rule for the local part of the address.

    Names stay as they are sent.
    """

    address: Name = "{input}"


class MailboxTemplateMembers(Shape, frozen=True, kw_only=True):
    """Properties of a mailbox template, without its webhook."""

    kind: Literal["shared", "equipment", "room"]
    name: Name
    description: Description = ""
    active: bool = True
    is_default: bool = False
    audience: AudienceShape | None = None
    domain: Domain | None = None
    naming: MailboxNamingShape = MailboxNamingShape()
    defaults: MailboxDefaultsShape = MailboxDefaultsShape()
    custom_fields: CustomFields = ()
    approval: ApprovalShape | None = None


class MailboxTemplateBody(MailboxTemplateMembers, frozen=True, kw_only=True):
    """A template of a mailbox kind as it is sent."""

    webhook: WebhookBody | None = None


class MailboxTemplateShape(MailboxTemplateMembers, frozen=True, kw_only=True):
    """A stored mailbox template."""

    webhook: WebhookShape | None = None
    id: UUID


def identified_mailbox_template(body: MailboxTemplateBody, template_id: TemplateId) -> MailboxTemplateShape:
    """The template that a body describes."""
    members = {name: getattr(body, name) for name in MailboxTemplateMembers.__struct_fields__}
    return MailboxTemplateShape(**members, webhook=stored_webhook(body.webhook), id=template_id)


def mailbox_template_faults(shape: MailboxTemplateShape, pointer: str = "") -> Iterator[Fault]:
    """Why a well-formed template cannot be used."""
    yield from naming_rule_faults(shape.naming.address, f"{pointer}/naming/address")
    yield from applicability_faults(mailbox_defaults(shape), MailboxType(shape.kind), f"{pointer}/defaults")
    yield from custom_field_faults(shape.custom_fields, f"{pointer}/customFields")
    yield from _impossible_fields(shape, f"{pointer}/customFields")
    yield from audience_faults(shape.audience, f"{pointer}/audience")
    yield from approval_faults(shape.approval, f"{pointer}/approval")
    fields = [to_custom_field(each) for each in shape.custom_fields]
    yield from default_faults(fields, shape.defaults.metadata, f"{pointer}/defaults")


def mailbox_domain_faults(shape: MailboxTemplateShape, domains: Collection[str], pointer: str = "") -> Iterator[Fault]:
    """Yield a fault for each domain that is not the tenant's.

    Addresses are in lower case.
    """
    for place, domain in (("domain", shape.domain), ("defaults/domain", shape.defaults.domain)):
        if domain and domain.lower() not in domains:
            sentence = "{domain} is no verified domain of this tenant. Choose another, or leave it out."
            yield Fault.build(f"{pointer}/{place}", "domainNotVerified", sentence, domain=domain)


def to_mailbox_template(shape: MailboxTemplateShape, *, tenant_id: TenantId, revision: int) -> MailboxTemplate:
    """Convert to the template that rules use.

    It has no description, labels of choices and webhook.
    """
    return MailboxTemplate(
        head=TemplateHead(
            tenant_id=tenant_id,
            id=TemplateId(shape.id),
            revision=revision,
            kind=TemplateKind(shape.kind),
            name=shape.name,
            active=shape.active,
        ),
        type=MailboxType(shape.kind),
        is_default=shape.is_default,
        audience=None if shape.audience is None else to_audience(shape.audience),
        domain=shape.domain,
        address_rule=shape.naming.address,
        defaults=mailbox_defaults(shape),
        custom_fields=tuple(to_custom_field(each) for each in shape.custom_fields),
        approval=None if shape.approval is None else to_approval_rule(shape.approval),
    )


def _impossible_fields(shape: MailboxTemplateShape, pointer: str) -> Iterator[Fault]:
    """Find required fields that no mailbox of this kind may have.

    No body could satisfy them.
    """
    if shape.kind == "equipment":
        return
    for place, each in enumerate(shape.custom_fields):
        if each.key == EQUIPMENT_TYPE and each.required:
            sentence = "Only equipment has metadata.{key}, so it cannot be required here. Use another key."
            yield Fault.build(f"{pointer}/{place}/required", "ruleInvalid", sentence, key=EQUIPMENT_TYPE)


def mailbox_defaults(shape: MailboxTemplateShape) -> MailboxProperties:
    """Return the default properties of a template."""
    return convert(shape.defaults, MailboxProperties, from_attributes=True)
