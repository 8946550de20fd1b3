# SPDX-License-Identifier: Apache-2.0
"""The steps of an assignment of guest rules, and what of them is left to do."""

from dataclasses import fields, replace
from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId, PolicyId, TemplateId, UserId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.steps import Step, title
from chamberlain.directory.subjects import (
    EFFECTS,
    AddedBy,
    Guest,
    GuestRules,
    ObservedRules,
    ObservedSite,
    ObservedSubject,
    Sharing,
    SubjectType,
    WantedGuestRules,
    is_done,
    plan_guest_rules,
    remaining_of_subject,
)
from chamberlain.requests.retries import ENDS
from tests.groups.group_values import TENANT

pytestmark = pytest.mark.pure

MARK, ACCESS = Step.MARK_ASSIGNMENT, Step.SET_GUEST_ACCESS
DOMAINS, SHARING = Step.SET_GUEST_DOMAINS, Step.SET_SHARING_CAPABILITY

GROUP = GroupId(UUID(int=1))
TEMPLATE, POLICY = TemplateId(UUID(int=2)), PolicyId(UUID(int=3))
GIL = Guest(UserId(UUID(int=4)), "gil@partner.example", "Gil")
HANA = Guest(UserId(UUID(int=5)), None, "Hana")
RULES = GuestRules(
    allowed=True,
    added_by=AddedBy.OWNERS,
    allowed_domains=("a.example", "b.example"),
    blocked_domains=("c.example",),
    sharing=Sharing.EXISTING_GUESTS,
)
WANTED = WantedGuestRules(TENANT, GROUP, "chamberlain_group", TEMPLATE, POLICY, RULES)
CLEARED = replace(WANTED, template_id=None, policy_id=None, rules=None)
SITE = ObservedSite("https://sites.estate.example/x", "X", Sharing.EXISTING_GUESTS, Sharing.ANYONE)
DONE = ObservedSubject(
    tenant_id=TENANT,
    id=GROUP,
    type=SubjectType.SITE,
    display_name="X",
    mail=None,
    is_team=False,
    member_ship_type=MemberShipType.PRIVATE,
    request_id=None,
    template_id=TEMPLATE,
    policy_id=POLICY,
    rules=RULES,
    site=SITE,
    guests=(GIL, HANA),
    owners=1,
)
NEW = replace(DONE, template_id=None, policy_id=None, rules=None, site=replace(SITE, sharing=Sharing.ANYONE))
GROUP_DONE = replace(DONE, type=SubjectType.GROUP, site=None, rules=replace(RULES, sharing=None))


@pytest.mark.parametrize(
    ("subject_type", "template_changes", "steps"),
    [
        (SubjectType.GROUP, True, (MARK, ACCESS, DOMAINS)),
        (SubjectType.SITE, True, (MARK, ACCESS, DOMAINS, SHARING)),
        (SubjectType.GROUP, False, (MARK,)),
        (SubjectType.SITE, False, (MARK,)),
    ],
)
def test_it_works(
    subject_type: SubjectType,
    template_changes: bool,  # noqa: FBT001 - a case of a table.
    steps: tuple[Step, ...],
) -> None:
    assert plan_guest_rules(subject_type, template_changes=template_changes) == steps


@pytest.mark.parametrize(
    ("wanted", "observed", "left"),
    [
        (WANTED, None, (MARK, ACCESS, DOMAINS, SHARING)),
        (WANTED, NEW, (MARK, ACCESS, DOMAINS, SHARING)),
        (WANTED, DONE, ()),
        (WANTED, GROUP_DONE, ()),
        (CLEARED, NEW, ()),
        (CLEARED, DONE, (MARK, ACCESS, DOMAINS, SHARING)),
        (CLEARED, GROUP_DONE, (MARK, ACCESS, DOMAINS)),
        (replace(WANTED, template_id=None), DONE, (MARK,)),
        (WANTED, replace(DONE, policy_id=None), (MARK,)),
        (WANTED, replace(DONE, rules=replace(RULES, allowed=False)), (ACCESS,)),
        (WANTED, replace(DONE, rules=replace(RULES, added_by=AddedBy.MEMBERS)), (ACCESS,)),
        (WANTED, replace(DONE, rules=replace(RULES, blocked_domains=())), (DOMAINS,)),
        (WANTED, replace(DONE, rules=replace(RULES, allowed_domains=("b.example", "A.example"))), ()),
        (WANTED, replace(DONE, rules=replace(RULES, allowed_domains=("b.example",))), (DOMAINS,)),
        (WANTED, replace(DONE, site=replace(SITE, sharing=Sharing.DISABLED)), (SHARING,)),
        # A group's rules say nothing of sharing, and a template that does not either leaves a site as it was.
        (replace(WANTED, rules=replace(RULES, sharing=None)), DONE, (SHARING,)),
        (replace(WANTED, rules=replace(RULES, sharing=None)), replace(DONE, site=NEW.site), ()),
        (replace(WANTED, remove_guests=(GIL.id,)), DONE, (ACCESS,)),
        (replace(WANTED, remove_guests=(GIL.id,)), replace(DONE, guests=(HANA,)), ()),
        (replace(CLEARED, remove_guests=(GIL.id,)), NEW, (ACCESS,)),
    ],
)
def test_it_leaves_what_is_not_shown_yet(
    wanted: WantedGuestRules, observed: ObservedSubject | None, left: tuple[Step, ...]
) -> None:
    assert remaining_of_subject(wanted, observed, (MARK, ACCESS, DOMAINS, SHARING)) == left


def test_it_keeps_to_the_steps_that_it_was_given() -> None:
    assert remaining_of_subject(WANTED, NEW, (DOMAINS, MARK)) == (DOMAINS, MARK)


def test_it_rejects_a_step_of_something_else() -> None:
    with pytest.raises(ValueError, match="createTeam"):
        is_done(Step.CREATE_TEAM, WANTED, DONE)


def test_every_step_has_a_title_and_an_end_of_its_wait() -> None:
    assert set(EFFECTS) == {MARK, ACCESS, DOMAINS, SHARING}
    assert all(title(step) and ENDS[step] for step in EFFECTS)


@pytest.mark.parametrize(
    ("unreported", "step"),
    [({"added_by": None}, ACCESS), ({"allowed_domains": None}, DOMAINS), ({"blocked_domains": None}, DOMAINS)],
)
def test_an_unreported_rule_is_set_again_and_is_not_wrong(unreported: dict[str, None], step: Step) -> None:
    values = {each.name: getattr(RULES, each.name) for each in fields(RULES)}
    hidden = replace(DONE, rules=ObservedRules(**{**values, **unreported}))

    assert remaining_of_subject(WANTED, hidden, EFFECTS) == (step,)
    assert is_done(step, WANTED, hidden)
    assert remaining_of_subject(CLEARED, replace(hidden, rules=None), [ACCESS, DOMAINS]) == ()
