# SPDX-License-Identifier: Apache-2.0
"""JSON of templates: complete for administrators, shortened for requesters."""

from typing import Any, Final, Literal, TypeVar
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType, to_builtins

from chamberlain.changes.models import format_time
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.models import Label
from chamberlain.http.wire import Actor, Time
from chamberlain.requests.schema import ApprovalShape
from chamberlain.requests.wire import RequestWarning, warning_reasons
from chamberlain.template_admin.documents import TemplateShape, decode_template
from chamberlain.template_admin.models import OfferedTemplate, TemplateRecord
from chamberlain.templates.models import FieldType
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

MailboxKind = Literal["shared", "equipment", "room"]
Encoded = TypeVar("Encoded", bound=Struct)
# A naming rule that changes nothing.
_AS_SENT: Final = "{input}"


class TemplateField(Struct, rename="camel", frozen=True):
    """A custom field; `choices` belong to fields of type choice."""

    key: str
    label: str
    type: FieldType
    required: bool
    choices: tuple[ChoiceShape, ...] | UnsetType = UNSET


class TemplateWebhook(Struct, rename="camel", frozen=True):
    """The webhook of a template.

    Only the answer to the call that created a secret contains it. `disabledReason` is set after the service has
    disabled the webhook. Send it with `active` to enable it again.
    """

    url: str
    active: bool
    has_secret: bool
    disabled_reason: str | None
    secret: str | UnsetType = UNSET


class MailboxTemplate(Struct, rename="camel", frozen=True):
    """A mailbox template."""

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


class GroupTemplate(Struct, rename="camel", frozen=True, kw_only=True, tag_field="kind", tag="group"):
    """A template of kind group.

    `warningReasons` are those of the change, in its answer only.
    """

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
    warning_reasons: tuple[RequestWarning, ...] | UnsetType = UNSET


class TeamTemplate(GroupTemplate, frozen=True, kw_only=True, tag="team"):
    """A template of kind team."""

    channels: tuple[str, ...]


class GuestTemplate(Struct, rename="camel", frozen=True, kw_only=True, tag_field="kind", tag="guest"):
    """A template of kind guest."""

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


class OfferedMailboxTemplate(Struct, rename="camel", frozen=True):
    """The part of a mailbox template that requesters need."""

    id: UUID
    kind: MailboxKind
    name: str
    description: str
    is_default: bool
    approval_required: bool
    custom_fields: tuple[TemplateField, ...]


class OfferedGroupTemplate(Struct, rename="camel", frozen=True, kw_only=True):
    """The part of a group or team template for requesters."""

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


class FormField(Struct, rename="camel", frozen=True, kw_only=True):
    """A custom field of a form.

    `choices` belong to fields of type choice. `default` is the value of a request that sends no metadata; null if there
    is none.
    """

    key: str
    label: str
    type: FieldType
    required: bool
    default: str | bool | None
    choices: tuple[ChoiceShape, ...] | UnsetType = UNSET


class OfferedLabel(Struct, rename="camel", frozen=True):
    """A sensitivity label of the tenant."""

    id: str
    display_name: str
    description: str | None


class MailboxTemplateForm(Struct, rename="camel", frozen=True, kw_only=True):
    """A mailbox template with all that a form for a request needs.

    Names stay as they are sent. `addressFollowsRule` says whether a naming rule changes the local part of the address.
    `domain` is the default of `domains`; it is null if the tenant has no domain. `defaults` are the properties of a
    request that does not send them.
    """

    id: UUID
    kind: MailboxKind
    name: str
    description: str
    is_default: bool
    approval_required: bool
    name_follows_rule: bool
    address_follows_rule: bool
    domain: str | None
    domains: tuple[str, ...]
    defaults: MailboxDefaultsShape
    custom_fields: tuple[FormField, ...]


class GroupTemplateForm(Struct, rename="camel", frozen=True, kw_only=True):
    """A group or team template with all that a form needs.

    `nameFollowsRule` says whether a naming rule changes the display name, `addressFollowsRule` whether the address has
    a rule of its own. The address is at `domain`; it is null if the tenant has no domain. `labels` are those that
    `labelId` may be; null if the directory does not answer. `labelId` is the default label.
    """

    id: UUID
    kind: Literal["group", "team"]
    name: str
    description: str
    is_default: bool
    approval_required: bool
    name_follows_rule: bool
    address_follows_rule: bool
    domain: str | None
    domains: tuple[str, ...]
    member_ship_type: MemberShipType
    member_ship_type_changeable: bool
    minimum_owners: int
    label_id: str | None
    labels: tuple[OfferedLabel, ...] | None
    custom_fields: tuple[FormField, ...]


def encode_mailbox_template(record: TemplateRecord) -> MailboxTemplate:
    """Encode a mailbox template for administrators."""
    return _encode(MailboxTemplate, decode_template(record.stored), record)


def encode_collab_template(record: TemplateRecord) -> dict[str, object]:
    """Encode a template of a group, a team or guests for administrators."""
    kind = record.stored.head.kind
    (encoded,) = [each for each in COLLAB_TEMPLATES if each.__struct_config__.tag == kind]
    # The id comes first. A tagged struct would write its kind first.
    return {"id": None, **to_builtins(_encode(encoded, decode_template(record.stored), record))}


def encode_offered_mailbox_template(record: TemplateRecord) -> OfferedMailboxTemplate:
    """Encode a mailbox template for requesters."""
    return _encode_offered(OfferedMailboxTemplate, decode_template(record.stored))


def encode_offered_group_template(record: TemplateRecord) -> OfferedGroupTemplate:
    """Encode a template of a group or team for requesters.

    None of them is a default template.
    """
    return _encode_offered(OfferedGroupTemplate, decode_template(record.stored), is_default=False)


def encode_mailbox_form(offered: OfferedTemplate) -> MailboxTemplateForm:
    """Encode a mailbox template with all that a form needs."""
    shape = decode_template(offered.stored)
    assert isinstance(shape, MailboxTemplateShape)  # noqa: S101 - the area has no other kinds.
    domain = shape.defaults.domain or shape.domain
    values = shape.defaults.metadata or {}
    members = _same_members(MailboxTemplateForm, shape) | {
        "domain": domain.lower() if domain else next(iter(offered.domains), None),
        "custom_fields": tuple(_encode_form_field(each, values.get(each.key)) for each in shape.custom_fields),
    }
    return MailboxTemplateForm(
        **members,
        approval_required=shape.approval is not None,
        name_follows_rule=False,
        address_follows_rule=shape.naming.address != _AS_SENT,
        domains=offered.domains,
    )


def encode_group_form(offered: OfferedTemplate) -> GroupTemplateForm:
    """Encode a group or team template with all that a form needs.

    Their requests have no default metadata, and addresses at the default domain of the tenant.
    """
    shape = decode_template(offered.stored)
    assert isinstance(shape, GroupTemplateShape)  # noqa: S101 - guest templates are not offered.
    domains = offered.domains[:1]
    labels = offered.labels
    members = _same_members(GroupTemplateForm, shape) | {
        "custom_fields": tuple(_encode_form_field(each, None) for each in shape.custom_fields)
    }
    return GroupTemplateForm(
        **members,
        is_default=False,
        approval_required=shape.approval is not None,
        name_follows_rule=shape.naming.display_name != _AS_SENT,
        address_follows_rule=shape.naming.mail_nickname is not None,
        domain=next(iter(domains), None),
        domains=domains,
        labels=None if labels is None else tuple(map(_encode_label, labels)),
    )


def encode_webhook(shape: TemplateShape, record: TemplateRecord) -> TemplateWebhook | None:
    """Encode the webhook of a template for administrators."""
    webhook = None if isinstance(shape, GuestTemplateShape) else shape.webhook
    if webhook is None:
        return None
    return TemplateWebhook(
        url=webhook.url,
        active=webhook.active and record.disabled_reason is None,
        has_secret=record.secret_number is not None,
        disabled_reason=record.disabled_reason,
        secret=UNSET if record.made_secret is None else record.made_secret,
    )


def _encode(encoded: type[Encoded], shape: TemplateShape, record: TemplateRecord) -> Encoded:
    members = _same_members(encoded, shape)
    if not isinstance(shape, GuestTemplateShape):
        members["webhook"] = encode_webhook(shape, record)
    if record.warnings:
        members["warning_reasons"] = warning_reasons(record.warnings)
    actor = record.created_by
    return encoded(
        **members,
        created_at=format_time(record.created_at),
        created_by=Actor(actor.type, actor.id, actor.display_name),
        updated_at=format_time(record.updated_at),
    )


def _encode_offered(encoded: type[Encoded], shape: TemplateShape, **more: object) -> Encoded:
    assert not isinstance(shape, GuestTemplateShape)  # noqa: S101 - guest templates are not offered.
    return encoded(**_same_members(encoded, shape), approval_required=shape.approval is not None, **more)


# Any: the members are of many types. Each goes to the member of the same name.
def _same_members(encoded: type[Struct], shape: TemplateShape) -> dict[str, Any]:
    names = [name for name in encoded.__struct_fields__ if name in shape.__struct_fields__]
    members = {name: getattr(shape, name) for name in names}
    if not isinstance(shape, GuestTemplateShape):
        members["custom_fields"] = tuple(map(_encode_field, shape.custom_fields))
    return members


def _encode_field(shape: CustomFieldShape) -> TemplateField:
    choices = UNSET if shape.choices is None else shape.choices
    return TemplateField(shape.key, shape.label, shape.type, shape.required, choices)


def _encode_form_field(shape: CustomFieldShape, default: str | bool | None) -> FormField:  # noqa: FBT001 - a value.
    choices = UNSET if shape.choices is None else shape.choices
    return FormField(
        key=shape.key, label=shape.label, type=shape.type, required=shape.required, default=default, choices=choices
    )


def _encode_label(label: Label) -> OfferedLabel:
    return OfferedLabel(label.id, label.display_name, label.description)
