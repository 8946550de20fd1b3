"""Templates of kind group and team."""

from collections.abc import Iterator
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta

from chamberlain.core.constraints_doubles import doubled_words, doubles
from chamberlain.core.constraints_shape import Shape
from chamberlain.core.errors import Fault
from chamberlain.core.ids import PolicyId, TemplateId, TenantId, UserId
from chamberlain.core.validation_fields import Description, Name, lines, name
from chamberlain.directory.groups import MemberShipType
from chamberlain.requests.schema import ApprovalShape, approval_faults, to_approval_rule
from chamberlain.templates.models import GroupTemplate, TemplateHead, TemplateKind
from chamberlain.templates.schema_audiences import AudienceShape, audience_faults, to_audience
from chamberlain.templates.schema_custom_fields import CustomFields, custom_field_faults, to_custom_field
from chamberlain.templates.schema_naming_rules import naming_rule_faults
from chamberlain.templates.webhook import WebhookBody, WebhookShape, stored_webhook

# The bound of the suite for the name of a channel.
_Channel = Annotated[str, name(50)]
# The bound of the suite for a membership rule.
_MembershipRule = Annotated[str, lines(3072, minimum=1)]


class GroupNamingShape(Shape, frozen=True, kw_only=True):
    """How names are made; without a rule for the mail nickname it follows the display name."""

    display_name: Name = "{input}"
    mail_nickname: Name | None = None


class GroupTemplateMembers(Shape, frozen=True, kw_only=True):
    """What a template of kind group or team says, but for its webhook."""

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
    """A template of kind group or team as it is kept, without what the service adds beside its id."""

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
        detail = "A group has no channels; only a team has. Leave them out, or make the kind team."
        yield Fault(f"{pointer}/channels", "propertyNotApplicable", detail)
    if shape.member_ship_type is MemberShipType.DYNAMIC and shape.membership_rule is None:
        detail = "With memberShipType 2 the members follow a rule. Give a membershipRule, or another memberShipType."
        yield Fault(f"{pointer}/membershipRule", "dynamicRuleMissing", detail)
    if shape.member_ship_type is MemberShipType.DYNAMIC and shape.members:
        detail = "With memberShipType 2 the members follow the rule. Leave members out."
        yield Fault(f"{pointer}/members", "membersOfDynamicGroup", detail)
    yield from custom_field_faults(shape.custom_fields, f"{pointer}/customFields")
    yield from audience_faults(shape.audience, f"{pointer}/audience")
    yield from approval_faults(shape.approval, f"{pointer}/approval")
    yield from doubles(shape.owners, f"{pointer}/owners")
    yield from doubles(shape.members, f"{pointer}/members")
    yield from doubled_words(shape.channels, f"{pointer}/channels")


def to_group_template(shape: GroupTemplateShape, *, tenant_id: TenantId, revision: int) -> GroupTemplate:
    """What the rules need of a template; its description, labels of choices and webhook are for others."""
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
