"""Templates as they are sent: whole to those who administer them, in short to those who ask for something."""

from collections.abc import Mapping
from typing import Any, Literal
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType, to_builtins

from chamberlain.auth.models import Actor as KnownActor
from chamberlain.core.json import StoredDecoder
from chamberlain.directory.groups import MemberShipType
from chamberlain.http.wire import Actor, Time, time_of
from chamberlain.requests.schema import ApprovalShape
from chamberlain.template_admin.models import TemplateRecord
from chamberlain.templates.models import FieldType, TemplateKind
from chamberlain.templates.schema import (
    AudienceShape,
    ChoiceShape,
    CustomFieldShape,
    GroupNamingShape,
    GroupTemplateShape,
    GuestsShape,
    GuestTemplateShape,
    MailboxDefaultsShape,
    MailboxNamingShape,
    MailboxTemplateShape,
)
from chamberlain.templates.webhook import WebhookShape

MailboxKind = Literal["shared", "equipment", "room"]


class TemplateField(Struct, rename="camel", frozen=True):
    """A key of `metadata` that the template gives a meaning; `choices` of a choice alone."""

    key: str
    label: str
    type: FieldType
    required: bool
    choices: tuple[ChoiceShape, ...] | UnsetType = UNSET


class TemplateWebhook(Struct, rename="camel", frozen=True):
    """Where a template's events go. A secret that the service has made is in the one answer that tells of it.
    `disabledReason` says why one that was active is not called any more; to put it as active has it called again."""

    url: str
    active: bool
    has_secret: bool
    disabled_reason: str | None
    secret: str | UnsetType = UNSET


class MailboxTemplate(Struct, rename="camel", frozen=True):
    """A template of a mailbox kind, whole."""

    id: UUID
    kind: MailboxKind
    name: str
    description: str
    active: bool
    is_default: bool
    audience: AudienceShape | None
    domain: str | None
    naming: MailboxNamingShape
    defaults: MailboxDefaultsShape
    custom_fields: tuple[TemplateField, ...]
    approval: ApprovalShape | None
    webhook: TemplateWebhook | None
    created_at: Time
    created_by: Actor
    updated_at: Time


class OfferedMailboxTemplate(Struct, rename="camel", frozen=True):
    """A template of a mailbox kind, as far as those need it who ask for a mailbox."""

    id: UUID
    kind: MailboxKind
    name: str
    description: str
    is_default: bool
    approval_required: bool
    custom_fields: tuple[TemplateField, ...]


def mailbox_template_of(record: TemplateRecord) -> MailboxTemplate:
    """What administrators are sent."""
    shape = _decode(record.stored.content)
    return MailboxTemplate(
        id=shape.id,
        kind=shape.kind,
        name=shape.name,
        description=shape.description,
        active=shape.active,
        is_default=shape.is_default,
        audience=shape.audience,
        domain=shape.domain,
        naming=shape.naming,
        defaults=shape.defaults,
        custom_fields=tuple(map(field_of, shape.custom_fields)),
        approval=shape.approval,
        webhook=None if shape.webhook is None else webhook_of(shape.webhook, record),
        created_at=time_of(record.created_at),
        created_by=Actor(record.created_by.type, record.created_by.id, record.created_by.display_name),
        updated_at=time_of(record.updated_at),
    )


def offered_mailbox_template_of(record: TemplateRecord) -> OfferedMailboxTemplate:
    """What those are sent who ask for a mailbox."""
    shape = _decode(record.stored.content)
    return OfferedMailboxTemplate(
        id=shape.id,
        kind=shape.kind,
        name=shape.name,
        description=shape.description,
        is_default=shape.is_default,
        approval_required=shape.approval is not None,
        custom_fields=tuple(map(field_of, shape.custom_fields)),
    )


def field_of(shape: CustomFieldShape) -> TemplateField:
    """A custom field as it is sent."""
    choices = UNSET if shape.choices is None else shape.choices
    return TemplateField(shape.key, shape.label, shape.type, shape.required, choices)


def webhook_of(shape: WebhookShape, record: TemplateRecord) -> TemplateWebhook:
    """A webhook as administrators are sent it."""
    return TemplateWebhook(
        url=shape.url,
        active=shape.active and record.disabled_reason is None,
        has_secret=record.secret_number is not None,
        disabled_reason=record.disabled_reason,
        secret=UNSET if record.made_secret is None else record.made_secret,
    )


_decode = StoredDecoder(MailboxTemplateShape).decode


class GroupTemplate(Struct, rename="camel", frozen=True, kw_only=True, tag_field="kind", tag="group"):
    """A template of kind group, whole."""

    id: UUID
    name: str
    description: str
    active: bool
    audience: AudienceShape | None
    naming: GroupNamingShape
    member_ship_type: MemberShipType
    member_ship_type_changeable: bool
    membership_rule: str | None
    owners: tuple[UUID, ...]
    members: tuple[UUID, ...]
    minimum_owners: int
    custom_fields: tuple[TemplateField, ...]
    label_id: str | None
    guest_template_id: UUID | None
    guest_policy_id: UUID | None
    approval: ApprovalShape | None
    webhook: TemplateWebhook | None
    created_at: Time
    created_by: Actor
    updated_at: Time


class TeamTemplate(GroupTemplate, frozen=True, kw_only=True, tag="team"):
    """A template of kind team, whole."""

    channels: tuple[str, ...]


class GuestTemplate(Struct, rename="camel", frozen=True, kw_only=True, tag_field="kind", tag="guest"):
    """A template of kind guest, whole."""

    id: UUID
    name: str
    description: str
    active: bool
    guests: GuestsShape
    present_guests: Literal["keep", "remove"]
    sharing_capability: Literal["disabled", "existingGuests", "newAndExistingGuests", "anyone"]
    created_at: Time
    created_by: Actor
    updated_at: Time


CollabTemplate = GroupTemplate | TeamTemplate | GuestTemplate
COLLAB_TEMPLATES: tuple[type[Struct], ...] = (GroupTemplate, TeamTemplate, GuestTemplate)


class OfferedGroupTemplate(Struct, rename="camel", frozen=True, kw_only=True):
    """A template of kind group or team, as far as those need it who ask for one."""

    id: UUID
    kind: Literal["group", "team"]
    name: str
    description: str
    is_default: bool
    approval_required: bool
    member_ship_type: MemberShipType
    member_ship_type_changeable: bool
    minimum_owners: int
    custom_fields: tuple[TemplateField, ...]


def collab_template_of(record: TemplateRecord) -> CollabTemplate:
    """What administrators are sent."""
    if record.stored.head.kind is TemplateKind.GUEST:
        return _guest_template(record)
    return _group_template(record)


def written_collab_template(record: TemplateRecord) -> Mapping[str, object]:
    """The same as JSON has it, with the id first: what tells types apart is written before all else otherwise."""
    return {"id": None, **to_builtins(collab_template_of(record))}


def offered_group_template_of(record: TemplateRecord) -> OfferedGroupTemplate:
    """What those are sent who ask for a group or team. No template is the default one: each is chosen."""
    shape = _decode_group(record.stored.content)
    return OfferedGroupTemplate(
        id=shape.id,
        kind=shape.kind,
        name=shape.name,
        description=shape.description,
        is_default=False,
        approval_required=shape.approval is not None,
        member_ship_type=shape.member_ship_type,
        member_ship_type_changeable=shape.member_ship_type_changeable,
        minimum_owners=shape.minimum_owners,
        custom_fields=tuple(map(field_of, shape.custom_fields)),
    )


def _group_template(record: TemplateRecord) -> GroupTemplate:
    shape = _decode_group(record.stored.content)
    # Any: the members are of many types, and each goes to the member of the same name.
    members: dict[str, Any] = {name: getattr(shape, name) for name in _SHARED}
    members |= {
        "custom_fields": tuple(map(field_of, shape.custom_fields)),
        "webhook": None if shape.webhook is None else webhook_of(shape.webhook, record),
        "created_at": time_of(record.created_at),
        "created_by": _named(record.created_by),
        "updated_at": time_of(record.updated_at),
    }
    return TeamTemplate(**members, channels=shape.channels) if shape.kind == "team" else GroupTemplate(**members)


def _guest_template(record: TemplateRecord) -> GuestTemplate:
    shape = _decode_guest(record.stored.content)
    return GuestTemplate(
        id=shape.id,
        name=shape.name,
        description=shape.description,
        active=shape.active,
        guests=shape.guests,
        present_guests=shape.present_guests,
        sharing_capability=shape.sharing_capability,
        created_at=time_of(record.created_at),
        created_by=_named(record.created_by),
        updated_at=time_of(record.updated_at),
    )


def _named(actor: KnownActor) -> Actor:
    return Actor(actor.type, actor.id, actor.display_name)


_decode_group = StoredDecoder(GroupTemplateShape).decode
_decode_guest = StoredDecoder(GuestTemplateShape).decode
# What is sent as it is kept.
_SHARED = tuple(
    name
    for name in GroupTemplate.__struct_fields__
    if name in GroupTemplateShape.__struct_fields__ and name not in {"custom_fields", "webhook"}
)
