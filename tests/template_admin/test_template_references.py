# SPDX-License-Identifier: Apache-2.0
"""Whom and what a template names, and which of that is not there."""

from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId, PolicyId, TemplateId, TenantId, UserId
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion, Person
from chamberlain.guests.policies.models import PolicyHead
from chamberlain.template_admin.models import TemplateReferences, directory_faults, guest_rule_faults, question_of
from chamberlain.templates.models import TemplateHead, TemplateKind

pytestmark = pytest.mark.pure

TENANT = TenantId(UUID(int=1))
ADA, GONE = UserId(UUID(int=2)), UserId(UUID(int=3))
STAFF, DISSOLVED = GroupId(UUID(int=4)), GroupId(UUID(int=5))
GUEST, POLICY = TemplateId(UUID(int=6)), PolicyId(UUID(int=7))
RULE, BAD_RULE = 'user.department -eq "Sales"', "everybody"
ANSWER = PeopleAnswer(
    people={ADA: Person(ADA, "Ada", None, has_team_license=True, properties={})},
    labels=frozenset({"Internal"}),
    known_groups=frozenset({STAFF}),
    rule_faults={BAD_RULE: "A property was expected."},
)
Named = list[tuple[str, str]]


@pytest.mark.parametrize(
    ("references", "faults"),
    [
        (TemplateReferences(), []),
        (TemplateReferences(users=(("/owners/0", ADA),)), []),
        (
            TemplateReferences(users=(("/owners/0", ADA), ("/members/3", GONE), ("/owners/1", GONE))),
            [("/members/3", "userUnknown"), ("/owners/1", "userUnknown")],
        ),
        (TemplateReferences(groups=(("/audience/groups/0", STAFF),)), []),
        (TemplateReferences(groups=(("/audience/groups/0", DISSOLVED),)), [("/audience/groups/0", "groupUnknown")]),
        (TemplateReferences(label="Internal"), []),
        (TemplateReferences(label="Secret"), [("/labelId", "labelUnknown")]),
        (TemplateReferences(membership_rule=RULE), []),
        (TemplateReferences(membership_rule=BAD_RULE), [("/membershipRule", "ruleInvalid")]),
    ],
)
def test_it_works(references: TemplateReferences, faults: Named) -> None:
    assert [(fault.pointer, fault.code) for fault in directory_faults(references, ANSWER)] == faults


def test_it_asks_for_all_of_it_at_once_and_not_at_all_for_nothing() -> None:
    references = TemplateReferences(
        users=(("/owners/0", ADA), ("/members/0", ADA)),
        groups=(("/audience/groups/0", STAFF),),
        label="Internal",
        membership_rule=RULE,
        guest_template_id=GUEST,
    )

    assert question_of(references, TENANT) == PeopleQuestion(
        TENANT,
        users=frozenset({ADA}),
        labels=frozenset({"Internal"}),
        named_groups=frozenset({STAFF}),
        membership_rules=frozenset({RULE}),
    )
    assert question_of(TemplateReferences(guest_template_id=GUEST), TENANT) is None


def template(kind: TemplateKind = TemplateKind.GUEST, *, active: bool = True) -> TemplateHead:
    return TemplateHead(TENANT, GUEST, 1, kind, "Partners", active)


def policy(*, active: bool = True) -> PolicyHead:
    return PolicyHead(TENANT, POLICY, 1, "90 days", active)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (template(), None),
        (None, "templateUnknown"),
        (template(TemplateKind.TEAM), "templateOfOtherKind"),
        (template(active=False), "templateInactive"),
    ],
)
def test_it_rejects_a_guest_template_that_cannot_be_given(found: TemplateHead | None, code: str | None) -> None:
    faults = list(guest_rule_faults(TemplateReferences(guest_template_id=GUEST), found, None))

    assert [(fault.pointer, fault.code) for fault in faults] == ([] if code is None else [("/guestTemplateId", code)])


@pytest.mark.parametrize(
    ("found", "code"), [(policy(), None), (None, "policyUnknown"), (policy(active=False), "policyInactive")]
)
def test_it_rejects_a_policy_that_cannot_be_given(found: PolicyHead | None, code: str | None) -> None:
    faults = list(guest_rule_faults(TemplateReferences(guest_policy_id=POLICY), None, found))

    assert [(fault.pointer, fault.code) for fault in faults] == ([] if code is None else [("/guestPolicyId", code)])
