"""Plans: the steps that lead from what the directory shows to what is wanted.

Which of them a mailbox has stands in mailbox_plans.py, and those of an assignment of guest rules in guest_plans.py.
"""

from collections.abc import Sequence

from chamberlain.core.ids import UserId
from chamberlain.directory.groups import WantedGroup
from chamberlain.directory.steps import GUEST_MARKS, Step
from chamberlain.groups.models import GroupOrder, is_dynamic, label_of, owners_of
from chamberlain.templates.models import GroupTemplate, TemplateKind


def plan_group(wanted: WantedGroup, *, people_checked: bool) -> tuple[Step, ...]:
    """The steps of a group or team in their order; those that do not apply to it are left out.

    It is asked in a dry run and by the worker. `people_checked` is False when the directory did not answer at
    submission.
    """
    has_guest_rules = any(mark in wanted.marks for mark in GUEST_MARKS)
    steps = _steps(wanted.owners, wanted.members, wanted.label_id, wanted.channels, has_guest_rules=has_guest_rules)
    return steps if people_checked else (Step.CHECK_PEOPLE, *steps)


def plan_order(order: GroupOrder, template: GroupTemplate, caller: UserId, *, people_checked: bool) -> tuple[Step, ...]:
    """The same at submission, of the order itself: the group that comes of it is costly to make up."""
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
    """What is to be done in the directory. A group is created with its first owner, who is the caller."""
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
