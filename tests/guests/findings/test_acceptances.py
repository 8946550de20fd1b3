# SPDX-License-Identifier: Apache-2.0
"""Acceptances of findings: who may accept which, how long one holds, and what the record shows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from chamberlain.auth.models import Actor, ActorType, Editor
from chamberlain.core.errors import Conflict
from chamberlain.core.ids import GroupId, TenantId, TraceId
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.findings.rules import (
    AcceptanceRequest,
    acceptance_change,
    accepted,
    has_ended,
    reopened,
    require_not_removed,
)
from chamberlain.guests.models import FindingKind, FindingRecord, FindingState, FindingSubject

pytestmark = pytest.mark.pure

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
TENANT = TenantId(UUID(int=1))
ADA = Editor(Actor(ActorType.USER, UUID(int=2), "Ada"), None, TraceId("0" * 32), "192.0.2.1")
FINDING = FindingRecord(
    id=UUID(int=3),
    kind=FindingKind.DRIFT,
    state=FindingState.OPEN,
    subject=FindingSubject(TENANT, GroupId(UUID(int=4)), SubjectType.GROUP, "Crew"),
    property="displayName",
    wanted="Crew",
    observed="Cruise",
    detail="",
    policy_id=None,
    action=None,
    action_at=None,
    first_seen_at=NOW,
    last_seen_at=NOW,
)


@pytest.mark.parametrize("state", FindingState)
def test_only_an_open_accepted_or_ignored_finding_can_be_accepted(state: FindingState) -> None:
    finding = replace(FINDING, state=state)

    if state in {FindingState.OPEN, FindingState.ACCEPTED, FindingState.IGNORED}:
        assert accepted(finding, AcceptanceRequest("Known", None), ADA, now=NOW).state is FindingState.ACCEPTED
    else:
        with pytest.raises(Conflict) as refused:
            accepted(finding, AcceptanceRequest("Known", None), ADA, now=NOW)
        assert refused.value.code == "stateDoesNotAllow"


@pytest.mark.parametrize(
    ("until", "ended"),
    [(timedelta(0), True), (timedelta(microseconds=1), False), (None, False)],
)
def test_an_acceptance_ends_at_its_moment(until: timedelta | None, ended: bool) -> None:  # noqa: FBT001 - a case.
    wanted = AcceptanceRequest("Known", None if until is None else NOW + until)
    finding = accepted(FINDING, wanted, ADA, now=NOW - timedelta(days=1))

    assert has_ended(finding, now=NOW) is ended
    assert not has_ended(reopened(finding), now=NOW)


@pytest.mark.parametrize("until", [None, NOW + timedelta(days=30)])
def test_the_record_shows_the_reason_and_the_end(until: datetime | None) -> None:
    after = accepted(FINDING, AcceptanceRequest("Known", until), ADA, now=NOW)

    change = acceptance_change(FINDING, after, ADA)

    assert (change.trace_id, change.client_address) == (ADA.trace_id, "192.0.2.1")
    assert change.before == {"state": "open"}
    assert change.after == {
        "state": "accepted",
        "reason": "Known",
        "until": None if until is None else "2026-12-20T09:30:00+00:00",
    }


@pytest.mark.parametrize("kind", [FindingKind.GUEST_AGAINST_RULE, FindingKind.GUEST_EXPIRED])
@pytest.mark.parametrize("action", [None, "remove"])
@pytest.mark.parametrize("is_applied", [False, True])
def test_a_guest_whom_a_template_removes_now_cannot_be_accepted(
    kind: FindingKind,
    action: str | None,
    is_applied: bool,  # noqa: FBT001 - a case of the table.
) -> None:
    finding = replace(FINDING, kind=kind, action=action)

    if kind is FindingKind.GUEST_AGAINST_RULE and action is not None and is_applied:
        with pytest.raises(Conflict) as refused:
            require_not_removed(finding, is_applied=is_applied)
        assert refused.value.code == "stateDoesNotAllow"
    else:
        require_not_removed(finding, is_applied=is_applied)
