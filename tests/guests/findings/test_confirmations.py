# SPDX-License-Identifier: Apache-2.0
"""Confirmations of guests: who may confirm whom, which findings and when, and what becomes of the clock."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from chamberlain.auth.models import Actor, ActorType, Caller, Editor
from chamberlain.changes.models import Subject
from chamberlain.core.errors import Conflict, Forbidden, NotFound
from chamberlain.core.idempotency import Act
from chamberlain.core.ids import ClientId, TraceId
from chamberlain.directory.models import NamedPerson, Person
from chamberlain.guests.findings.rules import (
    confirmation_change,
    confirmed_finding,
    confirmed_timer,
    require_not_guest,
    require_not_self,
    require_open_review,
    require_owner,
    require_owner_review,
)
from chamberlain.guests.models import FindingKind, FindingRecord, FindingState
from chamberlain.guests.policies.evaluation import AssignedPolicy, PolicyTask
from chamberlain.guests.policies.models import ConfirmedBy, PolicyAction, PolicyRules, Review
from chamberlain.guests.policies.timers import PolicyRule, Timer, review_schedule, start_timer
from tests.groups.group_values import ADA, BEN, CLEO, TENANT
from tests.guests.policies.policy_timeline import GIL, HANA, NINETY_DAYS, NOTHING, POLICY, SUBJECT

pytestmark = pytest.mark.pure

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
REVIEW = Review(365, 14, ConfirmedBy.OWNERS, (7, 1), PolicyAction.DISABLE)
YEARLY = replace(NOTHING, review=REVIEW)
OBSERVED = {"id": str(GIL.id), "displayName": "Gil Hartmann", "mail": "gil@partner.example"}
FINDING = FindingRecord(
    id=UUID(int=3),
    kind=FindingKind.REVIEW_DUE,
    state=FindingState.OPEN,
    subject=SUBJECT,
    property="guests",
    wanted=None,
    observed={**OBSERVED},
    detail="",
    policy_id=POLICY,
    action="disable",
    action_at=NOW + timedelta(days=14),
    first_seen_at=NOW - timedelta(days=1),
    last_seen_at=NOW - timedelta(days=1),
    about=str(GIL.id),
)
OPENED = replace(
    start_timer(review_schedule(REVIEW), GIL, POLICY, at=NOW - timedelta(days=366)),
    action_at=NOW + timedelta(days=13),
    next_at=NOW + timedelta(days=6),
)
OF_HANA = replace(OPENED, guest=HANA)


def caller(user: UUID, *, of_type: ActorType = ActorType.USER) -> Caller:
    return Caller(TENANT, of_type, user, ClientId("cli"), frozenset(), NOW)


def task(rules: PolicyRules | None, *timers: Timer) -> PolicyTask:
    policy = None if rules is None else AssignedPolicy(POLICY, rules, NOW, is_begun=True, idle=None)
    return PolicyTask((TENANT, SUBJECT.id), SUBJECT, policy, timers)


def test_it_works() -> None:
    confirmed = confirmed_timer(FINDING, task(YEARLY, OF_HANA, OPENED), now=NOW)

    assert confirmed == replace(OPENED, started_at=NOW, next_at=NOW + timedelta(days=365), action_at=None, round=2)


@pytest.mark.parametrize(
    "found",
    [
        task(YEARLY),
        task(YEARLY, OF_HANA),
        # The policy asks for no review any more, or there is none.
        task(NINETY_DAYS, OPENED),
        task(None, OPENED),
        # No review is open, or its action is just being taken.
        task(YEARLY, replace(OPENED, action_at=None)),
        task(YEARLY, replace(OPENED, is_acting=True)),
        task(YEARLY, replace(OPENED, rule=PolicyRule.EXPIRY)),
    ],
)
def test_a_review_that_has_ended_is_not_confirmed(found: PolicyTask) -> None:
    with pytest.raises(Conflict) as refused:
        confirmed_timer(FINDING, found, now=NOW)

    assert refused.value.code == "stateDoesNotAllow"


@pytest.mark.parametrize("kind", FindingKind)
@pytest.mark.parametrize("state", FindingState)
def test_only_an_open_review_is_confirmed(kind: FindingKind, state: FindingState) -> None:
    record = replace(FINDING, kind=kind, state=state)

    if (kind, state) == (FindingKind.REVIEW_DUE, FindingState.OPEN):
        require_open_review(record)
    else:
        with pytest.raises(Conflict) as refused:
            require_open_review(record)
        assert refused.value.code == "stateDoesNotAllow"


def test_only_owners_confirm_and_others_find_nothing() -> None:
    owners = [NamedPerson(ADA, "Ada"), NamedPerson(BEN, "Ben")]

    require_owner(caller(BEN), owners)
    for other in (caller(CLEO), caller(BEN, of_type=ActorType.APPLICATION)):
        with pytest.raises(NotFound):
            require_owner(other, owners)


@pytest.mark.parametrize(
    ("found", "are_asked"),
    [
        (task(YEARLY), True),
        (task(replace(NOTHING, review=replace(REVIEW, confirmed_by=ConfirmedBy.ADMINISTRATORS))), False),
        (task(NINETY_DAYS), False),
        (task(None), False),
        (None, False),
    ],
)
def test_owners_are_asked_where_the_policy_says_so(found: PolicyTask | None, *, are_asked: bool) -> None:
    if are_asked:
        require_owner_review(found)
    else:
        with pytest.raises(NotFound):
            require_owner_review(found)


def test_nobody_confirms_their_own_stay() -> None:
    require_not_self(caller(ADA), FINDING)
    require_not_self(caller(GIL.id, of_type=ActorType.APPLICATION), FINDING)
    with pytest.raises(Forbidden) as refused:
        require_not_self(caller(GIL.id), FINDING)

    assert refused.value.code == "selfApproval"


def test_guests_confirm_nobody() -> None:
    require_not_guest(None)
    require_not_guest(Person(ADA, "Ada", None, has_team_license=True, properties={"userType": "Member"}))
    with pytest.raises(Forbidden) as refused:
        require_not_guest(Person(GIL.id, "Gil", None, has_team_license=False, properties={"userType": "Guest"}))

    assert refused.value.code == "selfApproval"


def test_a_confirmed_finding_is_gone_and_on_record() -> None:
    after = confirmed_finding(FINDING, now=NOW)
    editor = Editor(Actor(ActorType.USER, ADA, "Ada"), ClientId("cli"), TraceId("7" * 32), "192.0.2.1")

    change = confirmation_change(FINDING, after, editor, Act("Stays.", None, TraceId("7" * 32)))

    assert after == replace(FINDING, state=FindingState.GONE, last_seen_at=NOW)
    assert (change.tenant_id, change.action, change.request_id) == (TENANT, "finding.confirm", None)
    assert (change.actor, change.client_id) == (editor.actor, "cli")
    assert (change.trace_id, change.client_address) == ("7" * 32, "192.0.2.1")
    assert change.subject == Subject("finding", FINDING.id, "reviewDue: All staff")
    assert change.before == {"state": "open"}
    assert change.after == {"state": "gone", "guest": OBSERVED, "comment": "Stays."}
