from dataclasses import replace
from uuid import UUID

import pytest

from chamberlain.rules.groups import MemberShipType, ObservedGroup, WantedGroup
from chamberlain.rules.ids import GroupId
from chamberlain.rules.plans import Step, plan_group, remaining, title
from tests.rules.group_values import ADA, BEN, CLEO, LABEL, REQUEST, WANTED

EVERYTHING = replace(
    WANTED,
    owners=(ADA, BEN),
    members=(ADA, BEN, CLEO),
    label_id=LABEL,
    channels=("General", "Planning"),
    marks={"requestId": str(REQUEST), "templateId": "t", "policyId": "p"},
)
DONE = ObservedGroup(
    id=GroupId(UUID(int=1)),
    display_name="Apollo",
    mail="apollo@estate.example",
    mail_nickname="apollo",
    owners=frozenset({ADA, BEN}),
    members=frozenset({ADA, BEN, CLEO}),
    label_id=LABEL,
    channels=("General", "Planning", "Added by somebody"),
    marks={"requestId": str(REQUEST), "templateId": "t", "policyId": "p"},
)


def test_it_works() -> None:
    assert plan_group(EVERYTHING, people_checked=True) == (
        Step.CREATE_GROUP,
        Step.ADD_OWNERS,
        Step.ADD_MEMBERS,
        Step.SET_LABEL,
        Step.CREATE_TEAM,
        Step.CREATE_CHANNELS,
        Step.ASSIGN_GUEST_RULES,
    )


@pytest.mark.parametrize(
    ("wanted", "steps"),
    [
        (WANTED, []),
        (replace(WANTED, owners=(ADA, BEN), members=(ADA, BEN)), [Step.ADD_OWNERS]),
        (replace(WANTED, members=(ADA, BEN)), [Step.ADD_MEMBERS]),
        (replace(WANTED, member_ship_type=MemberShipType.DYNAMIC, membership_rule="rule", members=()), []),
        (replace(WANTED, label_id=LABEL), [Step.SET_LABEL]),
        (replace(WANTED, channels=()), [Step.CREATE_TEAM]),
        (replace(WANTED, channels=("General",)), [Step.CREATE_TEAM, Step.CREATE_CHANNELS]),
        (replace(WANTED, marks={"requestId": "r", "templateId": "t"}), [Step.ASSIGN_GUEST_RULES]),
        (replace(WANTED, marks={"requestId": "r", "policyId": "p"}), [Step.ASSIGN_GUEST_RULES]),
    ],
)
def test_it_leaves_out_steps_that_do_not_apply(wanted: WantedGroup, steps: list[Step]) -> None:
    assert plan_group(wanted, people_checked=True) == (Step.CREATE_GROUP, *steps)


def test_it_checks_people_first_when_nobody_did() -> None:
    assert plan_group(WANTED, people_checked=False) == (Step.CHECK_PEOPLE, Step.CREATE_GROUP)


@pytest.mark.parametrize(
    ("observed", "left"),
    [
        (DONE, []),
        (replace(DONE, owners=frozenset({ADA})), [Step.ADD_OWNERS]),
        (replace(DONE, members=frozenset({ADA, BEN})), [Step.ADD_MEMBERS]),
        (replace(DONE, label_id=None), [Step.SET_LABEL]),
        (replace(DONE, channels=None), [Step.CREATE_TEAM, Step.CREATE_CHANNELS]),
        (replace(DONE, channels=("General",)), [Step.CREATE_CHANNELS]),
        (replace(DONE, marks={"requestId": str(REQUEST), "templateId": "t"}), [Step.ASSIGN_GUEST_RULES]),
    ],
)
def test_it_knows_what_the_directory_does_not_show_yet(observed: ObservedGroup, left: list[Step]) -> None:
    steps = plan_group(EVERYTHING, people_checked=False)

    assert list(remaining(EVERYTHING, observed, steps)) == left


def test_it_leaves_everything_to_do_when_there_is_no_group() -> None:
    steps = plan_group(EVERYTHING, people_checked=False)

    assert remaining(EVERYTHING, None, steps) == steps


def test_it_looks_at_planned_steps_only() -> None:
    assert remaining(EVERYTHING, replace(DONE, label_id=None, channels=None), (Step.SET_LABEL,)) == (Step.SET_LABEL,)


@pytest.mark.parametrize("step", Step)
def test_it_has_a_title_for_every_step(step: Step) -> None:
    assert title(step)
