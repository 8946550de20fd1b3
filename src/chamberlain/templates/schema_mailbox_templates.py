"""Templates of the kinds shared, equipment and room."""

from collections.abc import Collection, Iterator
from typing import Literal
from uuid import UUID

from msgspec import convert, field

from chamberlain.core.constraints_shape import Shape
from chamberlain.core.errors import Fault
from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.core.validation_fields import Description, Domain, Id, Line, Metadata, Name
from chamberlain.directory.mailboxes import MailboxProperties, MailboxType
from chamberlain.requests.schema import ApprovalShape, approval_faults, to_approval_rule
from chamberlain.templates.mailbox_types import EQUIPMENT_TYPE, applicability_faults
from chamberlain.templates.models import TemplateHead, TemplateKind
from chamberlain.templates.models_mailbox_templates import MailboxTemplate
from chamberlain.templates.rules import default_faults
from chamberlain.templates.schema_audiences import AudienceShape, audience_faults, to_audience
from chamberlain.templates.schema_custom_fields import CustomFields, custom_field_faults, to_custom_field
from chamberlain.templates.schema_mailbox_properties import (
    AutomaticReply,
    BusinessPhones,
    Capacity,
    Notes,
    Permissions,
    Reason,
    RoomMailboxMetadataShape,
    State,
    Tags,
)
from chamberlain.templates.schema_naming_rules import naming_rule_faults
from chamberlain.templates.webhook import WebhookBody, WebhookShape, stored_webhook


class MailboxDefaultsShape(Shape, frozen=True, kw_only=True, omit_defaults=True):
    """What a mailbox gets where the request says nothing: every property but those that make it this one mailbox."""

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
    domain: Line | None = None
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


class MailboxNamingShape(Shape, frozen=True, kw_only=True):
    """How the local part of the address is made; names stay as they are sent."""

    address: Name = "{input}"


class MailboxTemplateMembers(Shape, frozen=True, kw_only=True):
    """What a template of a mailbox kind says, but for its webhook."""

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
    """A template of a mailbox kind as it is kept, without what the service adds beside its id."""

    webhook: WebhookShape | None = None
    id: UUID


def identified_mailbox_template(body: MailboxTemplateBody, template_id: TemplateId) -> MailboxTemplateShape:
    """The template that a body describes."""
    members = {name: getattr(body, name) for name in MailboxTemplateMembers.__struct_fields__}
    return MailboxTemplateShape(**members, webhook=stored_webhook(body.webhook), id=template_id)


def mailbox_template_faults(shape: MailboxTemplateShape, pointer: str = "") -> Iterator[Fault]:
    """Why a well-formed template cannot be used."""
    yield from naming_rule_faults(shape.naming.address, f"{pointer}/naming/address")
    yield from applicability_faults(_defaults(shape), MailboxType(shape.kind), f"{pointer}/defaults")
    yield from custom_field_faults(shape.custom_fields, f"{pointer}/customFields")
    yield from _impossible_fields(shape, f"{pointer}/customFields")
    yield from audience_faults(shape.audience, f"{pointer}/audience")
    yield from approval_faults(shape.approval, f"{pointer}/approval")
    fields = [to_custom_field(each) for each in shape.custom_fields]
    yield from default_faults(fields, shape.defaults.metadata, f"{pointer}/defaults")


def mailbox_domain_faults(shape: MailboxTemplateShape, domains: Collection[str], pointer: str = "") -> Iterator[Fault]:
    """A fault for each domain of it that is none of the tenant's; addresses are made in lower case."""
    for place, domain in (("domain", shape.domain), ("defaults/domain", shape.defaults.domain)):
        if domain and domain.lower() not in domains:
            detail = f"{domain} is no verified domain of this tenant. Choose another, or leave it out."
            yield Fault(f"{pointer}/{place}", "domainNotVerified", detail)


def to_mailbox_template(shape: MailboxTemplateShape, *, tenant_id: TenantId, revision: int) -> MailboxTemplate:
    """What the rules need of a template; its description, labels of choices and webhook are for others."""
    return MailboxTemplate(
        head=TemplateHead(
            tenant_id=tenant_id,
            id=TemplateId(shape.id),
            revision=revision,
            kind=TemplateKind(shape.kind),
            name=shape.name,
            active=shape.active,
        ),
        is_default=shape.is_default,
        audience=None if shape.audience is None else to_audience(shape.audience),
        domain=shape.domain,
        address_rule=shape.naming.address,
        defaults=_defaults(shape),
        custom_fields=tuple(to_custom_field(each) for each in shape.custom_fields),
        approval=None if shape.approval is None else to_approval_rule(shape.approval),
    )


def _impossible_fields(shape: MailboxTemplateShape, pointer: str) -> Iterator[Fault]:
    """A field that is demanded and that no mailbox of this kind may have: nobody could send the right body."""
    if shape.kind == "equipment":
        return
    for place, each in enumerate(shape.custom_fields):
        if each.key == EQUIPMENT_TYPE and each.required:
            detail = f"Only equipment has metadata.{EQUIPMENT_TYPE}, so it cannot be required here. Use another key."
            yield Fault(f"{pointer}/{place}/required", "ruleInvalid", detail)


def _defaults(shape: MailboxTemplateShape) -> MailboxProperties:
    """The rules' value of them, field by field of the same names."""
    return convert(shape.defaults, MailboxProperties, from_attributes=True)
