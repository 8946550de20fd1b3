# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from functools import partial
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamberlain.core.ids import GroupId, PolicyId
from chamberlain.directory.groups import MemberShipType, ObservedGroup, WantedGroup, remaining
from chamberlain.directory.models import MailAddress
from chamberlain.directory.steps import Step, title
from chamberlain.groups.models import GroupOrder
from chamberlain.groups.rules import plan_group, plan_order, wanted_group
from chamberlain.templates.models import GroupTemplate
from tests.groups.group_values import ADA, BEN, CLEO, GROUP_HEAD, LABEL, REQUEST, TEAM_HEAD, TEMPLATE, WANTED

pytestmark = pytest.mark.pure

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


PEOPLE = st.lists(st.sampled_from((ADA, BEN, CLEO)), max_size=3).map(tuple)


@given(
    order=st.builds(
        GroupOrder,
        display_name=st.just("Apollo"),
        template_id=st.just(TEMPLATE.head.id),
        member_ship_type=st.none() | st.sampled_from(MemberShipType),
        owners=PEOPLE,
        members=PEOPLE,
        label_id=st.none() | st.just(LABEL),
    ),
    template=st.builds(
        partial(replace, TEMPLATE),
        head=st.sampled_from((GROUP_HEAD, TEAM_HEAD)),
        member_ship_type=st.sampled_from((0, 1, 2)),
        owners=PEOPLE,
        members=PEOPLE,
        label_id=st.none() | st.just(LABEL),
        channels=st.sampled_from(((), ("General",))),
        guest_template_id=st.none() | st.just(TEMPLATE.head.id),
        guest_policy_id=st.none() | st.just(PolicyId(REQUEST)),
    ),
    people_checked=st.booleans(),
)
def test_an_order_is_planned_as_the_group_that_comes_of_it(
    order: GroupOrder, template: GroupTemplate, *, people_checked: bool
) -> None:
    address = MailAddress("apollo", "apollo@estate.example")
    wanted = wanted_group(
        order, template, request_id=REQUEST, caller=ADA, display_name="Apollo", address=address, prefix="chamberlain"
    )

    assert plan_order(order, template, ADA, people_checked=people_checked) == plan_group(
        wanted, people_checked=people_checked
    )


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


def test_the_api_shows_these_steps() -> None:
    assert [str(each) for each in Step] == [
        "checkPeople",
        "createGroup",
        "addOwners",
        "addMembers",
        "setLabel",
        "createTeam",
        "createChannels",
        "assignGuestRules",
        "setProperties",
        "createMailbox",
        "setAddressFields",
        "setPlace",
        "setBooking",
        "setAutomaticReply",
        "setQuota",
        "setCapacity",
        "setVisibility",
        "setAliases",
        "setPermissions",
        "setOwners",
        "markAssignment",
        "setGuestAccess",
        "setGuestDomains",
        "setSharingCapability",
        "repairDrift",
    ]
