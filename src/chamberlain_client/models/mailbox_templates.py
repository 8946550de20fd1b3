"""Templates of mailboxes."""

from datetime import datetime
from uuid import UUID

from msgspec import UNSET, UnsetType

from chamberlain_client.models.actors import Actor
from chamberlain_client.models.mailboxes import MailboxProperties
from chamberlain_client.models.model import Model, Versioned
from chamberlain_client.models.templates import ApprovalRule, Audience, CustomField, TemplateKind, TemplateWebhook


class MailboxNaming(Model, frozen=True, kw_only=True):
    """How the local part of an address is made."""

    address: str = "{input}"


class NewMailboxTemplate(Model, frozen=True, kw_only=True):
    """A template of mailboxes to be made, or what one is to be. What is `UNSET` is not sent."""

    kind: TemplateKind
    name: str
    description: str | UnsetType | None = UNSET
    active: bool | UnsetType | None = UNSET
    is_default: bool | UnsetType | None = UNSET
    audience: Audience | UnsetType | None = UNSET
    domain: str | UnsetType | None = UNSET
    naming: MailboxNaming | UnsetType | None = UNSET
    defaults: MailboxProperties | UnsetType | None = UNSET
    custom_fields: tuple[CustomField, ...] | UnsetType | None = UNSET
    approval: ApprovalRule | UnsetType | None = UNSET
    webhook: TemplateWebhook | UnsetType | None = UNSET


class MailboxTemplate(Versioned, frozen=True, kw_only=True):
    """A template of mailboxes, as administrators see it."""

    id: UUID
    kind: TemplateKind
    name: str
    description: str
    active: bool
    is_default: bool
    audience: Audience | None
    domain: str | None
    naming: MailboxNaming
    defaults: MailboxProperties
    custom_fields: tuple[CustomField, ...]
    approval: ApprovalRule | None
    webhook: TemplateWebhook | None
    created_at: datetime
    created_by: Actor
    updated_at: datetime


class OfferedMailboxTemplate(Model, frozen=True, kw_only=True):
    """A template of mailboxes, as far as those need it who ask for one."""

    id: UUID
    kind: TemplateKind
    name: str
    description: str
    is_default: bool
    approval_required: bool
    custom_fields: tuple[CustomField, ...]
