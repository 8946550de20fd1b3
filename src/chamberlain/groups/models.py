"""Orders of groups and teams, their desired state, and the steps of provisioning."""

from collections.abc import Mapping, Sequence

from chamberlain.core.ids import RequestId, TemplateId, UserId
from chamberlain.core.values import value
from chamberlain.directory.groups import GUEST_MARKS, MemberShipType, WantedGroup
from chamberlain.directory.models import MailAddress
from chamberlain.directory.steps import Step
from chamberlain.templates.models import GroupTemplate, TemplateKind


@value(frozen=True, slots=True)
class GroupOrder:
    """The body of a group request; None for a property that was not sent."""

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
    """Return the desired state of an order: at submission, in a dry run, and on each run of the worker."""
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
    """Return the caller, the owners of the order and those of the template, deduplicated."""
    return tuple(dict.fromkeys((caller, *order.owners, *template.owners)))


def member_ship_type_of(order: GroupOrder, template: GroupTemplate) -> MemberShipType:
    """Return the membership type of the order, else of the template."""
    sent = order.member_ship_type
    return MemberShipType(template.member_ship_type) if sent is None else sent


def is_dynamic(order: GroupOrder, template: GroupTemplate) -> bool:
    """Return whether the members follow a rule."""
    sent = order.member_ship_type
    return (template.member_ship_type if sent is None else sent) == MemberShipType.DYNAMIC


def label_of(order: GroupOrder, template: GroupTemplate) -> str | None:
    """Return the label of the order, else of the template."""
    return template.label_id if order.label_id is None else order.label_id


def marks_of(template: GroupTemplate, request_id: RequestId) -> Mapping[str, str]:
    """Return the marks of the group: its request, guest template and guest policy."""
    marks = {"requestId": str(request_id)}
    if template.guest_template_id is not None:
        marks["templateId"] = str(template.guest_template_id)
    if template.guest_policy_id is not None:
        marks["policyId"] = str(template.guest_policy_id)
    return marks


def plan_group(wanted: WantedGroup, *, people_checked: bool) -> tuple[Step, ...]:
    """Return the steps to provision a group or team, in order, for a dry run and the worker.

    `people_checked` is False if the directory did not answer at submission.
    """
    has_guest_rules = any(mark in wanted.marks for mark in GUEST_MARKS)
    steps = _steps(wanted.owners, wanted.members, wanted.label_id, wanted.channels, has_guest_rules=has_guest_rules)
    return steps if people_checked else (Step.CHECK_PEOPLE, *steps)


def plan_order(order: GroupOrder, template: GroupTemplate, caller: UserId, *, people_checked: bool) -> tuple[Step, ...]:
    """Return the same steps at submission. The order is enough; its desired state is costly to compute."""
    steps = _steps(
        owners_of(order, template, caller),
        () if is_dynamic(order, template) else (*order.members, *template.members),
        label_of(order, template),
        template.channels if template.head.kind is TemplateKind.TEAM else None,
        has_guest_rules=template.guest_template_id is not None or template.guest_policy_id is not None,
    )
    return steps if people_checked else (Step.CHECK_PEOPLE, *steps)


def _steps(
    owners: Sequence[UserId],
    members: Sequence[UserId],
    label: str | None,
    channels: Sequence[str] | None,
    *,
    has_guest_rules: bool,
) -> tuple[Step, ...]:
    """Return the steps in the directory. A group is created with its first owner, the caller."""
    steps = [Step.CREATE_GROUP]
    if len(owners) > 1:
        steps.append(Step.ADD_OWNERS)
    if not set(members).issubset(owners):
        steps.append(Step.ADD_MEMBERS)
    if label is not None:
        steps.append(Step.SET_LABEL)
    if channels is not None:
        steps.append(Step.CREATE_TEAM)
    if channels:
        steps.append(Step.CREATE_CHANNELS)
    if has_guest_rules:
        steps.append(Step.ASSIGN_GUEST_RULES)
    return tuple(steps)
