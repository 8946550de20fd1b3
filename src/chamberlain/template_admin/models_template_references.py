"""References of a template: whom and what it names, and which of that the directory does not have."""

from collections.abc import Iterator
from dataclasses import dataclass

from chamberlain.core.errors import Fault
from chamberlain.core.ids import GroupId, PolicyId, TemplateId, TenantId, UserId
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion
from chamberlain.directory.models_named_people import unknown_people
from chamberlain.guests.policies.models import PolicyHead, policy_fault
from chamberlain.templates.models import TemplateHead, TemplateKind, template_fault


@dataclass(frozen=True, slots=True)
class TemplateReferences:
    """Whom and what a template names: people and groups with the pointers to where, a label, a membership rule, a guest
    template and a guest policy at most."""

    users: tuple[tuple[str, UserId], ...] = ()
    groups: tuple[tuple[str, GroupId], ...] = ()
    label: str | None = None
    membership_rule: str | None = None
    guest_template_id: TemplateId | None = None
    guest_policy_id: PolicyId | None = None


def question_of(references: TemplateReferences, tenant_id: TenantId) -> PeopleQuestion | None:
    """What the directory has to be asked; None when it need not be."""
    question = PeopleQuestion(
        tenant_id,
        users=frozenset(user for _, user in references.users),
        labels=frozenset(() if references.label is None else (references.label,)),
        named_groups=frozenset(group for _, group in references.groups),
        membership_rules=frozenset(() if references.membership_rule is None else (references.membership_rule,)),
    )
    return None if question == PeopleQuestion(tenant_id) else question


def directory_faults(references: TemplateReferences, answer: PeopleAnswer) -> Iterator[Fault]:
    """Users, groups and a label that the directory does not have, and a rule that it cannot follow."""
    yield from unknown_people(references.users, references.groups, answer)
    if references.label is not None and references.label not in answer.labels:
        detail = "This tenant has no such label. Leave it out, or choose a known one."
        yield Fault("/labelId", "labelUnknown", detail)
    rule = references.membership_rule
    if rule is not None and (wrong := answer.rule_faults.get(rule)) is not None:
        yield Fault("/membershipRule", "ruleInvalid", wrong)


def guest_rule_faults(
    references: TemplateReferences, template: TemplateHead | None, policy: PolicyHead | None
) -> Iterator[Fault]:
    """Why the guest template and the guest policy cannot be given to what is made; None where there is none of the
    id."""
    if references.guest_template_id is not None:
        fault = template_fault(template, {TemplateKind.GUEST}, "/guestTemplateId")
        yield from () if fault is None else (fault,)
    if references.guest_policy_id is not None:
        fault = policy_fault(policy, "/guestPolicyId")
        yield from () if fault is None else (fault,)
