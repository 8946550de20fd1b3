# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from datetime import timedelta, timezone
from uuid import UUID

import httpx2
import pytest

from chamberlain.auth.models import Actor, ActorType
from chamberlain.core.ids import TenantId
from chamberlain.directory.models import NamedPerson
from chamberlain.directory.steps import Step
from chamberlain.queue.models import HELD
from chamberlain.requests.models import (
    ApprovalMode,
    ApprovalRecord,
    ApprovalState,
    Decision,
    DecisionOutcome,
    RequestError,
    RequestResult,
    RequestState,
    StepRecord,
    StepState,
    Waiting,
)
from tests.http.http_fixture import ADA, DARA, ESTATE, MOMENT, REQUEST, TEMPLATE, HttpFixture, record

PATH = f"/requests/v1/{REQUEST}/"


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.records[REQUEST] = record()

    answer = await api.get(PATH)

    assert answer.status_code == 200
    assert answer.json() == {
        "requestId": str(REQUEST),
        "tenantId": str(ESTATE),
        "approvalRequired": False,
        "kind": "group",
        "state": "queued",
        "displayName": "Hooked",
        "template": {"id": TEMPLATE, "name": "Project group"},
        "body": {"displayName": "Hooked", "templateId": TEMPLATE},
        "waiting": None,
        "blocked": None,
        "error": None,
        "warnings": [],
        "warningReasons": [],
        "result": None,
        "steps": [],
        "approvals": [],
        "actions": ["cancel"],
        "createdAt": "2026-11-20T09:30:00.000Z",
        "createdBy": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
        "updatedAt": "2026-11-20T09:30:00.000Z",
        "finishedAt": None,
    }
    assert answer.headers["cache-control"] == "no-store"


async def test_it_shows_a_wait(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    step = StepRecord(Step.CREATE_TEAM, StepState.WAITING, 3, MOMENT, None, "Not yet.", MOMENT + timedelta(minutes=1))
    wait = Waiting(Step.CREATE_TEAM, "Not yet.", 3, MOMENT + timedelta(minutes=1), MOMENT + timedelta(hours=2))
    http_fixture.records[REQUEST] = replace(record(), state=RequestState.WAITING, waiting=wait, steps=(step,))

    body = (await api.get(PATH)).json()

    assert body["waiting"] == {
        "step": "createTeam",
        "reason": "Not yet.",
        "attempt": 3,
        "nextAttemptAt": "2026-11-20T09:31:00.000Z",
        "endsAt": "2026-11-20T11:30:00.000Z",
        "reasonCode": None,
        "reasonValues": None,
    }
    assert body["steps"] == [
        {
            "name": "createTeam",
            "title": "Make the group a team",
            "state": "waiting",
            "attempts": 3,
            "startedAt": "2026-11-20T09:30:00.000Z",
            "finishedAt": None,
            "reason": "Not yet.",
            "nextAttemptAt": "2026-11-20T09:31:00.000Z",
            "error": None,
            "reasonCode": None,
            "reasonValues": None,
        }
    ]


async def test_it_shows_a_wait_for_a_person(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    wait = Waiting(Step.CREATE_TEAM, HELD.sentence, 1, None, None, HELD.cause)
    step = StepRecord(Step.CREATE_TEAM, StepState.PENDING)
    http_fixture.records[REQUEST] = replace(record(), state=RequestState.WAITING, waiting=wait, steps=(step,))

    body = (await api.get(PATH)).json()

    assert body["waiting"] == {
        "step": "createTeam", "reason": HELD.sentence, "attempt": 1, "nextAttemptAt": None, "endsAt": None,
        "reasonCode": "heldForAdministrator", "reasonValues": {},
    }  # fmt: skip
    assert [(each["state"], each["reason"], each["nextAttemptAt"]) for each in body["steps"]] == [
        ("waiting", HELD.sentence, None)
    ]
    assert body["actions"] == ["cancel"]


async def test_it_shows_the_step_that_is_worked_on(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    steps = [StepRecord(step, StepState.PENDING) for step in (Step.CREATE_GROUP, Step.CREATE_TEAM)]
    http_fixture.records[REQUEST] = replace(record(), state=RequestState.RUNNING, steps=tuple(steps))

    body = (await api.get(PATH)).json()

    assert [(each["state"], each["attempts"]) for each in body["steps"]] == [("running", 1), ("pending", 0)]


async def test_it_shows_what_came_of_it(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    # A time of another zone is the same moment.
    finished = (MOMENT + timedelta(microseconds=1_234_567)).astimezone(timezone(timedelta(hours=2)))
    result = RequestResult("group", UUID(TEMPLATE), "Hooked", "hooked@estate.example")
    http_fixture.records[REQUEST] = replace(record(), result=result, finished_at=finished)

    body = (await api.get(PATH)).json()

    assert body["result"] == {"type": "group", "id": TEMPLATE, "displayName": "Hooked", "mail": "hooked@estate.example"}
    assert body["finishedAt"] == "2026-11-20T09:30:01.234Z"


async def test_it_shows_why_it_failed(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.records[REQUEST] = replace(record(), error=RequestError(Step.ADD_OWNERS, "userUnknown", "Gone."))

    body = (await api.get(PATH)).json()

    assert body["error"] == {"step": "addOwners", "code": "userUnknown", "detail": "Gone."}


@pytest.mark.parametrize("path", [PATH.upper().replace("/REQUESTS/V1/", "/requests/v1/"), PATH.rstrip("/")])
async def test_it_takes_either_letter_case_and_no_slash(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, path: str
) -> None:
    http_fixture.records[REQUEST] = record()

    assert (await api.get(path)).json()["requestId"] == str(REQUEST)


async def test_it_hides_what_belongs_to_others(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.records[REQUEST] = replace(record(), tenant_id=TenantId(UUID(int=1)))

    answer = await api.get(PATH)

    assert (answer.status_code, answer.json()["code"]) == (404, "notFound")


@pytest.mark.parametrize(
    "id_", ["x", REQUEST.hex, f"{{{REQUEST}}}", f"{REQUEST}0", f"urn:uuid:{REQUEST}", f"{REQUEST}%0A"]
)
async def test_it_rejects_an_id_that_is_none(api: httpx2.AsyncClient, id_: str) -> None:
    answer = await api.get(f"/requests/v1/{id_}/")

    assert (answer.status_code, answer.json()["code"]) == (400, "malformedId")


async def test_it_tells_all_faults_together(api: httpx2.AsyncClient) -> None:
    answer = await api.get("/requests/v1/x/?y=1")

    assert (answer.status_code, answer.json()["code"]) == (400, "malformedId")
    assert "requestId" in answer.json()["detail"]
    assert "parameter y" in answer.json()["detail"]


async def test_it_shows_who_has_to_approve(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    deadline = MOMENT + timedelta(days=14)
    dara = Actor(ActorType.USER, DARA, "Dara Lindqvist")
    decision = Decision(dara, DecisionOutcome.APPROVED, "fine", MOMENT)
    first = ApprovalRecord(
        1, ApprovalMode.ANY, ApprovalState.APPROVED, deadline, (NamedPerson(DARA, "Dara Lindqvist"),), (decision,)
    )
    second = ApprovalRecord(2, ApprovalMode.ALL, ApprovalState.BLOCKED)
    http_fixture.records[REQUEST] = replace(record(), approvals=(first, second), blocked="noApprover")

    body = (await api.get(PATH)).json()

    assert body["blocked"] == "noApprover"
    assert body["approvals"] == [
        {
            "level": 1,
            "mode": "any",
            "state": "approved",
            "deadline": "2026-12-04T09:30:00.000Z",
            "approvers": [{"id": str(DARA), "displayName": "Dara Lindqvist"}],
            "decisions": [
                {
                    "by": {"type": "user", "id": str(DARA), "displayName": "Dara Lindqvist"},
                    "outcome": "approved",
                    "comment": "fine",
                    "decidedAt": "2026-11-20T09:30:00.000Z",
                }
            ],
        },
        {"level": 2, "mode": "all", "state": "blocked", "deadline": None, "approvers": [], "decisions": []},
    ]
