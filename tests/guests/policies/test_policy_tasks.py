# SPDX-License-Identifier: Apache-2.0
"""When a run need not look at the clocks: only when it could not bring anything to pass; and what stays due."""

from dataclasses import replace

import pytest

from chamberlain.core.ids import PolicyId
from chamberlain.guests.policies.evaluation import AssignedPolicy, Idle, Membership, PolicyTask, evaluate
from chamberlain.guests.policies.models import Expiry, MinimumOwners, PolicyAction
from chamberlain.guests.policies.timers import Timer, guest_schedules, start_timer
from tests.guests.policies.policy_timeline import (
    ASSIGNED_AT,
    GIL,
    HANA,
    INACTIVE,
    NINETY_DAYS,
    POLICY,
    SUBJECT,
    TWO_OWNERS,
    moment,
)

pytestmark = pytest.mark.pure

PRESENT = Membership((GIL,), 2)
BEGUN = AssignedPolicy(POLICY, NINETY_DAYS, ASSIGNED_AT, is_begun=True, idle=None)


def after_a_run(policy: AssignedPolicy = BEGUN, present: Membership = PRESENT, day: float = 0) -> AssignedPolicy:
    """The policy as it is kept after its first run on that day."""
    applied = replace(policy, is_begun=False).applied(now=moment(day))
    evaluation = evaluate(SUBJECT, applied, present, (), now=moment(day))
    return replace(policy, idle=policy.idle_after(present, evaluation))


def test_it_works() -> None:
    policy = after_a_run()

    assert policy.idle == Idle(policy.digest(PRESENT), moment(76))
    assert policy.is_idle(PRESENT, now=moment(75.9))
    assert not policy.is_idle(PRESENT, now=moment(76))
    assert not BEGUN.is_idle(PRESENT, now=moment(1))


OF_91_DAYS = replace(NINETY_DAYS, expiry=Expiry(91, (14, 7, 1), PolicyAction.REMOVE))


@pytest.mark.parametrize(
    ("policy", "idle"),
    [
        pytest.param(BEGUN, True, id="as it was"),
        pytest.param(replace(BEGUN, assigned_at=None), True, id="assigned before that was kept"),
        pytest.param(replace(BEGUN, rules=OF_91_DAYS), False, id="another period"),
        pytest.param(replace(BEGUN, id=PolicyId(GIL.id)), False, id="another policy"),
        pytest.param(replace(BEGUN, is_begun=False), False, id="assigned anew"),
        pytest.param(
            replace(BEGUN, rules=replace(NINETY_DAYS, minimum_owners=TWO_OWNERS.minimum_owners)), False, id="owners"
        ),
        pytest.param(
            replace(BEGUN, rules=replace(NINETY_DAYS, inactivity=INACTIVE.inactivity)), False, id="inactivity"
        ),
    ],
)
def test_a_policy_that_says_something_else_is_looked_at(
    policy: AssignedPolicy,
    idle: bool,  # noqa: FBT001 - a case of a table.
) -> None:
    assert replace(policy, idle=after_a_run().idle).is_idle(PRESENT, now=moment(1)) is idle


@pytest.mark.parametrize(
    ("present", "idle"),
    [
        (Membership((GIL,), 2), True),
        # Without a rule about owners or signs, those say nothing.
        (Membership((GIL,), 0), True),
        (Membership((replace(GIL, last_seen_at=moment(1)),), 2), True),
        (Membership((), 2), False),
        (Membership((HANA,), 2), False),
        (Membership((GIL, HANA), 2), False),
        (Membership((replace(GIL, display_name="Gil Huber"),), 2), False),
        (Membership((replace(GIL, mail=None),), 2), False),
    ],
)
def test_whoever_comes_goes_or_changes_is_looked_at(
    present: Membership,
    idle: bool,  # noqa: FBT001 - a case of a table.
) -> None:
    assert after_a_run().is_idle(present, now=moment(1)) is idle


def test_owners_and_signs_count_where_a_rule_asks_for_them() -> None:
    owners = after_a_run(replace(BEGUN, rules=TWO_OWNERS))
    signs = after_a_run(replace(BEGUN, rules=INACTIVE))

    assert owners.is_idle(PRESENT, now=moment(9))
    assert not owners.is_idle(Membership((GIL,), 1), now=moment(9))
    assert not signs.is_idle(Membership((replace(GIL, last_seen_at=moment(1)),), 2), now=moment(9))


def test_what_is_found_is_looked_at_every_time() -> None:
    few = replace(BEGUN, rules=replace(TWO_OWNERS, minimum_owners=MinimumOwners(3, (), PolicyAction.NOTIFY)))

    assert after_a_run(few).idle is None
    assert after_a_run(day=200).idle is not None


def test_nobody_there_is_quiet_for_good() -> None:
    policy = after_a_run(present=Membership((), 2))

    assert policy.idle is not None
    assert policy.idle.until is None
    assert policy.is_idle(Membership((), 2), now=moment(3000))


[COURSE] = guest_schedules(NINETY_DAYS)
DUE = replace(start_timer(COURSE, GIL, POLICY, at=moment(0)), is_acting=True)


@pytest.mark.parametrize(
    ("policy", "timer", "is_due"),
    [
        pytest.param(BEGUN, DUE, True, id="as it was"),
        pytest.param(BEGUN, None, False, id="somebody has seen to it"),
        pytest.param(BEGUN, replace(DUE, trouble="No."), False, id="refused to somebody else"),
        pytest.param(None, DUE, False, id="taken off"),
        pytest.param(replace(BEGUN, id=PolicyId(GIL.id)), DUE, False, id="another policy"),
        pytest.param(replace(BEGUN, is_begun=False), DUE, False, id="assigned anew"),
        pytest.param(replace(BEGUN, rules=OF_91_DAYS), DUE, False, id="another period"),
        pytest.param(replace(BEGUN, rules=TWO_OWNERS), DUE, False, id="without the rule"),
    ],
)
def test_an_action_stays_due_as_long_as_the_policy_asks_for_it(
    policy: AssignedPolicy | None,
    timer: Timer | None,
    is_due: bool,  # noqa: FBT001 - a case of a table.
) -> None:
    task = PolicyTask((SUBJECT.tenant_id, SUBJECT.id), SUBJECT, policy, () if timer is None else (timer,))

    assert task.still_due([DUE]) == ((DUE,) if is_due else ())
