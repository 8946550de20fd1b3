# SPDX-License-Identifier: Apache-2.0
"""A request between the worker's hands."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chamberlain.auth.models import Actor, ActorType
from chamberlain.core.ids import ClientId, TemplateId
from chamberlain.directory.steps import Step
from chamberlain.requests.events import RequestSummary
from chamberlain.requests.models import Progress, RequestError, RequestKind, RequestState
from chamberlain.requests.steps import Settlement, Task, learned_name, summary_of_task, with_caller
from tests.auth.editor_values import TRACE
from tests.groups.group_values import ADA, REQUEST, TENANT, person

pytestmark = pytest.mark.pure

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
NAMELESS, NAMED = Actor(ActorType.USER, ADA, ""), Actor(ActorType.USER, ADA, "Ada Achterberg")
TASK = Task(
    request_id=REQUEST,
    tenant_id=TENANT,
    kind=RequestKind.TEAM,
    display_name="Apollo",
    mail_nickname="apollo",
    mail="apollo@estate.example",
    template_id=TemplateId(REQUEST),
    template_revision=1,
    body=b"{}",
    people_checked=False,
    steps=(),
    client_id=ClientId("cli"),
    caller=ADA,
    created_by=NAMELESS,
    trace_id=TRACE,
    created_at=NOW,
    extension_prefix="chamberlain",
    is_new=True,
)


@pytest.mark.parametrize(
    ("state", "finished_at", "may_come_again"),
    [
        (RequestState.WAITING, None, True),
        (RequestState.SUCCEEDED, NOW, False),
        (RequestState.FAILED, NOW, True),
    ],
)
def test_it_works(state: RequestState, *, finished_at: datetime | None, may_come_again: bool) -> None:
    settlement = Settlement(REQUEST, Progress(state, ()), None, people_checked=True, at=NOW, timeline=())

    assert settlement.finished_at == finished_at
    assert settlement.may_come_again is may_come_again


def test_events_tell_of_it_as_it_stands() -> None:
    error = RequestError(Step.CREATE_GROUP, "quota", "Full.")

    assert summary_of_task(TASK, Progress(RequestState.FAILED, (), error=error)) == RequestSummary(
        request_id=REQUEST,
        tenant_id=TENANT,
        kind=RequestKind.TEAM,
        state=RequestState.FAILED,
        display_name="Apollo",
        error=error,
        created_by=NAMELESS,
    )


def test_the_name_of_the_caller_is_taken_over_where_there_is_none() -> None:
    named = replace(TASK, created_by=NAMED)

    assert with_caller(TASK, person(ADA)).created_by == Actor(ActorType.USER, ADA, "Somebody")
    assert with_caller(named, person(ADA)) == named
    assert with_caller(TASK, None) == TASK


@pytest.mark.parametrize(
    ("people_checked", "created_by", "name"),
    [(False, NAMED, "Ada Achterberg"), (False, NAMELESS, None), (True, NAMED, None), (True, NAMELESS, None)],
)
def test_the_name_is_learned_while_people_are_checked(
    *, people_checked: bool, created_by: Actor, name: str | None
) -> None:
    assert learned_name(replace(TASK, people_checked=people_checked, created_by=created_by)) == name
