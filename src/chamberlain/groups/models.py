"""Groups and teams: what is asked for, what is wanted of the directory, and what is found there."""

from collections.abc import Mapping

from chamberlain.core.ids import RequestId, TemplateId, UserId
from chamberlain.core.values import value
from chamberlain.directory.groups import MemberShipType, WantedGroup
from chamberlain.directory.models_mail_addresses import MailAddress
from chamberlain.templates.models import GroupTemplate, TemplateKind


@value(frozen=True, slots=True)
class GroupOrder:
    """The body of a group creation; None where nothing was sent."""

    display_name: str
    template_id: TemplateId
    description: str | None = None
    member_ship_type: MemberShipType | None = None
    owners: tuple[UserId, ...] = ()
    members: tuple[UserId, ...] = ()
    metadata: Mapping[str, str | bool] | None = None
    label_id: str | None = None


def wanted_group(
    order: GroupOrder,
    template: GroupTemplate,
    *,
    request_id: RequestId,
    caller: UserId,
    display_name: str,
    address: MailAddress,
    prefix: str,
) -> WantedGroup:
    """What an order brings about: at submission, in a dry run, and from what is stored whenever a worker runs it."""
    owners = owners_of(order, template, caller)
    follows_rule = is_dynamic(order, template)
    return WantedGroup(
        tenant_id=template.head.tenant_id,
        request_id=request_id,
        display_name=display_name,
        mail_nickname=address.mail_nickname,
        mail=address.mail,
        description=order.description,
        member_ship_type=member_ship_type_of(order, template),
        membership_rule=template.membership_rule if follows_rule else None,
        owners=owners,
        members=() if follows_rule else tuple(dict.fromkeys((*owners, *order.members, *template.members))),
        label_id=label_of(order, template),
        channels=template.channels if template.head.kind is TemplateKind.TEAM else None,
        extension=f"{prefix}_group",
        marks=marks_of(template, request_id),
    )


def owners_of(order: GroupOrder, template: GroupTemplate, caller: UserId) -> tuple[UserId, ...]:
    """The caller, those that were sent, those of the template, each once."""
    return tuple(dict.fromkeys((caller, *order.owners, *template.owners)))


def member_ship_type_of(order: GroupOrder, template: GroupTemplate) -> MemberShipType:
    """What was sent, else what the template says (it says 0 when its author said nothing)."""
    sent = order.member_ship_type
    return MemberShipType(template.member_ship_type) if sent is None else sent


def is_dynamic(order: GroupOrder, template: GroupTemplate) -> bool:
    """Whether the members follow a rule."""
    sent = order.member_ship_type
    return (template.member_ship_type if sent is None else sent) == MemberShipType.DYNAMIC


def label_of(order: GroupOrder, template: GroupTemplate) -> str | None:
    """The label that was sent, else the template's."""
    return template.label_id if order.label_id is None else order.label_id


def marks_of(template: GroupTemplate, request_id: RequestId) -> Mapping[str, str]:
    """What the group carries: the request that made it, and the guest template and policy that it is to get."""
    marks = {"requestId": str(request_id)}
    if template.guest_template_id is not None:
        marks["templateId"] = str(template.guest_template_id)
    if template.guest_policy_id is not None:
        marks["policyId"] = str(template.guest_policy_id)
    return marks
