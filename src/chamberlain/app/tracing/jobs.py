"""What a worker does for requests: a span for each run of a job, and one for each call of the directory within."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias
from uuid import UUID

from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from chamberlain.app.tracing.spans import BATCH_SIZE, TENANT_ID, Attributes, Spans, ending
from chamberlain.core.errors import OutsideFault, Rejected
from chamberlain.core.ids import TenantId
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.port import (
    ActOutcome,
    Capabilities,
    Directory,
    GuestAct,
    GuestOutcome,
    Guests,
    GuestWork,
    MailboxOutcome,
    MailboxWork,
    Outcome,
    SubjectChanges,
    Work,
)
from chamberlain.directory.subjects import ObservedSubject, SubjectReference
from chamberlain.queue.models import OF_REQUESTS, Claim, Job, JobKind
from chamberlain.queue.worker import Handler

# The steps that each request is asked about by.
_Steps: TypeAlias = Mapping[UUID, Sequence[str]]

# The spans of the jobs that are being run, by their requests.
_runs: ContextVar[Mapping[UUID, Span] | None] = ContextVar("chamberlain_runs", default=None)


def traced_handlers(handlers: Mapping[JobKind, Handler], spans: Spans) -> Mapping[JobKind, Handler]:
    """The same handlers; those of requests with a span around each job."""
    return {
        kind: _traced(kind, handler, spans) if kind in OF_REQUESTS else handler for kind, handler in handlers.items()
    }


def _traced(kind: JobKind, handler: Handler, spans: Spans) -> Handler:
    async def run(claim: Claim) -> None:
        begun = {job.subject: span for job in claim.jobs if (span := _begun(kind, job, spans, len(claim.jobs)))}
        token = _runs.set(begun)
        try:
            with ending(*begun.values()):
                await handler(claim)
        finally:
            _runs.reset(token)

    return run


def _begun(kind: JobKind, job: Job, spans: Spans, size: int) -> Span | None:
    attributes: Attributes = {
        TENANT_ID: str(job.tenant_id),
        "chamberlain.job.kind": str(kind),
        "chamberlain.job.attempts": job.attempts,
        BATCH_SIZE: size,
    }
    return spans.of_work(f"job {kind}", job.trace_id, job.subject, attributes)


@contextmanager
def _asked(spans: Spans, name: str, steps: _Steps | None) -> Iterator[Mapping[UUID, Span]]:
    """A span below the run of each request that is asked about, by the request; below all of them where it is not known
    which. Some ask for nobody's request."""
    runs = _runs.get() or {}
    asked = {each: runs[each] for each in runs if steps is None or each in steps}
    begun = {
        each: spans.below(run, f"directory {name}", _about(steps, each, len(asked)), SpanKind.CLIENT)
        for each, run in asked.items()
    }
    with ending(*begun.values()):
        yield begun


def _about(steps: _Steps | None, request_id: UUID, size: int) -> Attributes:
    found = None if steps is None else steps.get(request_id)
    return {BATCH_SIZE: size, **({"chamberlain.steps": [str(step) for step in found]} if found else {})}


def _told(span: Span | None, done: Sequence[str], fault: OutsideFault | None) -> None:
    """What came of it: steps, and of a fault its code alone, since its sentence may name somebody."""
    if span is None:
        return
    span.set_attribute("chamberlain.steps.done", [str(step) for step in done])
    if fault is not None:
        span.set_attribute("error.type", fault.code if isinstance(fault, Rejected) else "tryAgain")
        span.set_status(Status(StatusCode.ERROR))


class TracedDirectory(Directory):
    """A directory as the worker sees it."""

    def __init__(self, directory: Directory, spans: Spans) -> None:
        self._directory = directory
        self._spans = spans

    @property
    def capabilities(self) -> Capabilities:
        """What this directory can do."""
        return self._directory.capabilities

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """What the directory shows of each."""
        with _asked(self._spans, "observe groups", {each.request_id: () for each in references}):
            return await self._directory.observe(references)

    async def ensure(self, works: Sequence[Work]) -> Sequence[Outcome]:
        """Bring each about."""
        steps: _Steps = {each.wanted.request_id: each.steps for each in works}
        with _asked(self._spans, "ensure groups", steps) as spans:
            outcomes = await self._directory.ensure(works)
            for work, outcome in zip(works, outcomes, strict=True):
                _told(spans.get(work.wanted.request_id), outcome.done, outcome.fault)
            return outcomes

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """As `observe`, of mailboxes."""
        with _asked(self._spans, "observe mailboxes", {each.request_id: () for each in references}):
            return await self._directory.observe_mailboxes(references)

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        """As `ensure`, for mailboxes."""
        steps: _Steps = {each.wanted.request_id: each.steps for each in works}
        with _asked(self._spans, "ensure mailboxes", steps) as spans:
            outcomes = await self._directory.ensure_mailboxes(works)
            for work, outcome in zip(works, outcomes, strict=True):
                _told(spans.get(work.wanted.request_id), outcome.done, outcome.fault)
            return outcomes


class TracedGuests(Guests):
    """The same for what has to do with guests. Their works name groups and not requests."""

    def __init__(self, guests: Guests, spans: Spans) -> None:
        self._guests = guests
        self._spans = spans

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """What the directory shows of each."""
        with _asked(self._spans, "observe guest rules", None):
            return await self._guests.observe(references)

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        """Bring each about."""
        with _asked(self._spans, "ensure guest rules", None):
            return await self._guests.ensure(works)

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        """Do each."""
        return await self._guests.act(acts)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        """What there is, and what has changed."""
        return await self._guests.changes(tenant_id, extension, cursor)
