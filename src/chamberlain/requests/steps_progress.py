"""Progress: a request as the worker takes it up, and as it puts it down again."""

from dataclasses import dataclass, replace
from datetime import datetime

from chamberlain.auth.models import Actor
from chamberlain.core.ids import ClientId, RequestId, TemplateId, TenantId, TraceId, UserId
from chamberlain.directory.models import Person
from chamberlain.requests.events import RequestSummary
from chamberlain.requests.models import Progress, RequestKind, RequestResult, RequestState, StepRecord
from chamberlain.requests.steps_timeline import Entry


@dataclass(frozen=True, slots=True)
class Task:
    """A request with what was settled at its submission. `body` is the JSON that was sent; `caller` is who asked, for a
    mailbox perhaps an application. `is_new` says that nobody has ever begun with it."""

    request_id: RequestId
    tenant_id: TenantId
    kind: RequestKind
    display_name: str
    mail_nickname: str
    mail: str
    template_id: TemplateId
    template_revision: int
    body: bytes
    people_checked: bool
    steps: tuple[StepRecord, ...]
    client_id: ClientId
    caller: UserId
    created_by: Actor
    trace_id: TraceId
    created_at: datetime
    extension_prefix: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a request is put down: how far it came, and what exists of it by now: `result` when it has succeeded, else
    `made`, as far as this run has learned of it. `caller_name` is there when this run has learned that, too, and
    `warnings` are those that it adds."""

    request_id: RequestId
    progress: Progress
    result: RequestResult | None
    people_checked: bool
    at: datetime
    timeline: tuple[Entry, ...]
    made: RequestResult | None = None
    caller_name: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def finished_at(self) -> datetime | None:
        """When it ended, for better or worse; None while it waits."""
        return None if self.progress.state is RequestState.WAITING else self.at

    @property
    def may_come_again(self) -> bool:
        """Whether it may be tried so often, by itself or by hand, that its timeline has to be shortened."""
        return self.progress.state is not RequestState.SUCCEEDED


def summary_of_task(task: Task, progress: Progress) -> RequestSummary:
    """What events tell of a request that has come so far."""
    return RequestSummary(
        request_id=task.request_id,
        tenant_id=task.tenant_id,
        kind=task.kind,
        state=progress.state,
        display_name=task.display_name,
        error=progress.error,
        created_by=task.created_by,
    )


def with_caller(task: Task, person: Person | None) -> Task:
    """The task when the directory has told who asked, which it did not when it was asked for."""
    if person is None or task.created_by.display_name:
        return task
    return replace(task, created_by=replace(task.created_by, display_name=person.display_name))


def learned_name(task: Task) -> str | None:
    """What the caller is called, where it was learned only while the people were checked."""
    return None if task.people_checked else task.created_by.display_name or None
