# SPDX-License-Identifier: Apache-2.0
"""Events and records of what policies do."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.changes.models import Change, Event, EventType, Subject
from chamberlain.core.ids import EventId
from chamberlain.guests.policies.events import POLICY, action_taken, reminded
from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.timers import PolicyRule, Timer
from tests.auth.editor_values import TRACE
from tests.groups.group_values import TENANT
from tests.guests.policies.policy_timeline import ASSIGNED_AT, GIL, SUBJECT
from tests.guests.policies.policy_timeline import POLICY as POLICY_ID

pytestmark = pytest.mark.pure

EVENT = EventId(UUID(int=9))
NOW = ASSIGNED_AT + timedelta(days=90)
CLOCK = Timer(
    rule=PolicyRule.EXPIRY,
    guest=GIL,
    policy_id=POLICY_ID,
    terms="90",
    action=PolicyAction.REMOVE,
    started_at=ASSIGNED_AT,
    action_at=NOW,
    next_at=None,
)
DATA = {
    "subject": {"type": "group", "id": "00000000-0000-0000-0000-000000000001", "displayName": "All staff"},
    "guest": {"id": "00000000-0000-0000-0000-000000000004", "mail": "gil@partner.example"},
    "policyId": "00000000-0000-0000-0000-000000000002",
    "rule": "expiry",
    "actionAt": "2027-02-18T09:30:00.000Z",
    "action": "remove",
}


def test_it_works_for_a_reminder() -> None:
    event = reminded(EVENT, SUBJECT, CLOCK, now=NOW)

    assert event == Event(EVENT, EventType.POLICY_REMINDER, NOW, TENANT, None, DATA)


def test_it_works_for_an_action() -> None:
    assert action_taken(EVENT, SUBJECT, CLOCK, TRACE, now=NOW) == Change(
        tenant_id=TENANT,
        action="policy.act",
        actor=POLICY,
        client_id=None,
        subject=Subject("group", SUBJECT.id, "All staff"),
        before=None,
        after={
            "policyId": "00000000-0000-0000-0000-000000000002",
            "rule": "expiry",
            "action": "remove",
            "guest": {
                "id": "00000000-0000-0000-0000-000000000004",
                "displayName": "Gil Hartmann",
                "mail": "gil@partner.example",
            },
        },
        request_id=None,
        trace_id=TRACE,
        event=Event(EVENT, EventType.POLICY_ACTION_TAKEN, NOW, TENANT, None, DATA),
    )


def test_the_rule_about_owners_is_about_no_guest() -> None:
    timer = replace(CLOCK, rule=PolicyRule.MINIMUM_OWNERS, guest=None, action=PolicyAction.NOTIFY, action_at=None)

    change = action_taken(EVENT, SUBJECT, timer, TRACE, now=NOW)

    assert change.after is not None
    assert change.after["guest"] is None
    assert reminded(EVENT, SUBJECT, timer, now=NOW).data == {
        **DATA,
        "guest": None,
        "rule": "minimumOwners",
        "actionAt": None,
        "action": "notify",
    }
