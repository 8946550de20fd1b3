from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.rules.callers import Actor, ActorType
from chamberlain.rules.events import Event, EventType, RequestSummary, approval_required, group_created, request_failed
from chamberlain.rules.groups import ObservedGroup
from chamberlain.rules.ids import EventId, GroupId
from chamberlain.rules.people import NamedPerson
from chamberlain.rules.plans import Step
from chamberlain.rules.requests import RequestError, RequestKind, RequestState
from tests.rules.group_values import ADA, BEN, REQUEST, TEMPLATE, TENANT

EVENT = EventId(UUID("e7e00000-0000-4000-8000-000000000001"))
NOW = datetime(2026, 11, 20, 9, 30, 1, tzinfo=UTC)
CREATED_BY = {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"}
SUMMARY = RequestSummary(
    request_id=REQUEST,
    tenant_id=TENANT,
    kind=RequestKind.GROUP,
    state=RequestState.SUCCEEDED,
    display_name="Hooked",
    error=None,
    created_by=Actor(ActorType.USER, ADA, "Ada Achterberg"),
)
GROUP = ObservedGroup(
    id=GroupId(UUID("a2c7d7c4-7f0a-4e7e-9d55-7a8a1d1f0f01")),
    display_name="Hooked",
    mail="hooked@estate.example",
    mail_nickname="hooked",
    owners=frozenset({ADA}),
    members=frozenset({ADA, BEN}),
    label_id=None,
    channels=None,
    marks={},
)


def test_it_works() -> None:
    event = group_created(EVENT, SUMMARY, GROUP, template_id=TEMPLATE.head.id, metadata={"el-text-1": "x"}, now=NOW)

    assert event == Event(
        id=EVENT,
        type=EventType.GROUP_CREATED,
        timestamp=NOW,
        tenant_id=TENANT,
        request_id=REQUEST,
        data={
            "group": {
                "id": "a2c7d7c4-7f0a-4e7e-9d55-7a8a1d1f0f01",
                "displayName": "Hooked",
                "mail": "hooked@estate.example",
                "mailNickname": "hooked",
            },
            "templateId": "7e000000-0000-4000-8000-000000000011",
            "metadata": {"el-text-1": "x"},
            "createdBy": CREATED_BY,
        },
    )


@pytest.mark.parametrize(
    ("kind", "event_type"),
    [(RequestKind.GROUP, EventType.GROUP_CREATED), (RequestKind.TEAM, EventType.TEAM_CREATED)],
)
def test_it_tells_teams_from_groups(kind: RequestKind, event_type: EventType) -> None:
    summary = replace(SUMMARY, kind=kind)

    event = group_created(EVENT, summary, GROUP, template_id=TEMPLATE.head.id, metadata=None, now=NOW)

    assert event.type is event_type
    assert event.data["metadata"] == {}
    assert "group" in event.data


def test_it_tells_who_may_approve() -> None:
    pending = replace(SUMMARY, state=RequestState.PENDING_APPROVAL)

    event = approval_required(EVENT, pending, level=1, approvers=[NamedPerson(BEN, "Somebody")], now=NOW)

    assert event.type is EventType.REQUEST_APPROVAL_REQUIRED
    assert event.data == {
        "request": {
            "requestId": str(REQUEST),
            "kind": "group",
            "displayName": "Hooked",
            "state": "pendingApproval",
            "error": None,
        },
        "level": 1,
        "approvers": [{"id": str(BEN), "displayName": "Somebody"}],
        "createdBy": CREATED_BY,
    }


def test_it_tells_why_a_request_failed() -> None:
    error = RequestError(Step.CREATE_GROUP, "addressTaken", "Somebody else has this address.")
    failed = replace(SUMMARY, state=RequestState.FAILED, error=error)

    event = request_failed(EVENT, failed, now=NOW)

    assert event.type is EventType.REQUEST_FAILED
    assert event.data["request"] == {
        "requestId": str(REQUEST),
        "kind": "group",
        "displayName": "Hooked",
        "state": "failed",
        "error": {"step": "createGroup", "code": "addressTaken", "detail": "Somebody else has this address."},
    }
    assert event.data["createdBy"] == CREATED_BY


def test_it_names_the_service_itself_without_an_id() -> None:
    by_service = replace(SUMMARY, created_by=Actor(ActorType.SYSTEM, None, "Example estate"))

    event = request_failed(EVENT, by_service, now=NOW)

    assert event.data["createdBy"] == {"type": "system", "id": None, "displayName": "Example estate"}
