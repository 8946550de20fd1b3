"""Templates as they are sent: whole to those who administer them, in short to those who ask for something."""

from typing import Literal
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from chamberlain.core.json_stored import StoredDecoder
from chamberlain.http.wire import Actor, Time, time_of
from chamberlain.requests.schema import ApprovalShape
from chamberlain.template_admin.models import TemplateRecord
from chamberlain.templates.models import FieldType
from chamberlain.templates.schema_audiences import AudienceShape
from chamberlain.templates.schema_custom_fields import ChoiceShape, CustomFieldShape
from chamberlain.templates.schema_mailbox_templates import (
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
