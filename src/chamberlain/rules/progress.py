"""Progress: a request as the worker takes it up, and as it puts it down again."""

from dataclasses import dataclass
from datetime import datetime

from chamberlain.rules.callers import Actor
from chamberlain.rules.events import RequestSummary
from chamberlain.rules.ids import ClientId, RequestId, TemplateId, TenantId, TraceId, UserId
from chamberlain.rules.requests import Progress, RequestKind, RequestResult, RequestState, StepRecord
from chamberlain.rules.timeline import Entry


@dataclass(frozen=True, slots=True)
class Task:
    """A request with what was settled at its submission. `body` is the JSON that was sent; `caller` is who asked, for a
    mailbox perhaps an application."""

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


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a request is put down: how far it came, and what exists of it by now."""

    request_id: RequestId
    progress: Progress
    result: RequestResult | None
    people_checked: bool
    at: datetime
    timeline: tuple[Entry, ...]

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
