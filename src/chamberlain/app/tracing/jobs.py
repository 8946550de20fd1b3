# SPDX-License-Identifier: Apache-2.0
"""Spans of a worker: one for each job and each directory call."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias
from uuid import UUID

from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from chamberlain.app.tracing.spans import BATCH_SIZE, TENANT_ID, Attributes, Spans, ending
from chamberlain.core.errors import OutsideFault, Rejected
from chamberlain.core.ids import TenantId
from chamberlain.directory import port
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.subjects import ObservedSubject, SubjectReference
from chamberlain.queue.models import OF_REQUESTS, Claim, Job, JobKind
from chamberlain.queue.worker import Handler

# The steps of each request.
_Steps: TypeAlias = Mapping[UUID, Sequence[str]]

# The spans of running jobs, by request.
_runs: ContextVar[Mapping[UUID, Span] | None] = ContextVar("chamberlain_runs", default=None)


def traced_handlers(handlers: Mapping[JobKind, Handler], spans: Spans) -> Mapping[JobKind, Handler]:
    """Add a span to each job of a request."""
    return {
        kind: _traced(kind, handler, spans) if kind in OF_REQUESTS else handler for kind, handler in handlers.items()
    }


def _traced(kind: JobKind, handler: Handler, spans: Spans) -> Handler:
    async def run(claim: Claim) -> None:
        started = {job.subject: span for job in claim.jobs if (span := _start(kind, job, spans, len(claim.jobs)))}
        token = _runs.set(started)
        try:
            with ending(*started.values()):
                await handler(claim)
        finally:
            _runs.reset(token)

    return run


def _start(kind: JobKind, job: Job, spans: Spans, size: int) -> Span | None:
    attributes: Attributes = {
        TENANT_ID: str(job.tenant_id),
        "chamberlain.job.kind": str(kind),
        "chamberlain.job.attempts": job.attempts,
        BATCH_SIZE: size,
    }
    return spans.of_work(f"job {kind}", job.trace_id, job.subject, attributes)


@contextmanager
def _directory_spans(spans: Spans, name: str, steps: _Steps | None) -> Iterator[Mapping[UUID, Span]]:
    """Start a child span for each request of a directory call.

    If `steps` is None, these are all running requests.
    """
    runs = _runs.get() or {}
    parents = {each: runs[each] for each in runs if steps is None or each in steps}
    started = {
        each: spans.below(run, f"directory {name}", _about(steps, each, len(parents)), SpanKind.CLIENT)
        for each, run in parents.items()
    }
    with ending(*started.values()):
        yield started


def _about(steps: _Steps | None, request_id: UUID, size: int) -> Attributes:
    found = None if steps is None else steps.get(request_id)
    return {BATCH_SIZE: size, **({"chamberlain.steps": [str(step) for step in found]} if found else {})}


def _set_outcome(span: Span | None, done: Sequence[str], fault: OutsideFault | None) -> None:
    """Record the steps done and the code of a fault.

    Its sentence may contain personal data.
    """
    if span is None:
        return
    span.set_attribute("chamberlain.steps.done", [str(step) for step in done])
    if fault is not None:
        span.set_attribute("error.type", fault.code if isinstance(fault, Rejected) else "tryAgain")
        span.set_status(Status(StatusCode.ERROR))


class TracedDirectory(port.Directory):
    """A directory with spans around its calls."""

    def __init__(self, directory: port.Directory, spans: Spans) -> None:
        self._directory = directory
        self._spans = spans

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:
        """Return the capabilities of the directory."""
        return await self._directory.capabilities(tenant_id)

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """Observe groups."""
        with _directory_spans(self._spans, "observe groups", {each.request_id: () for each in references}):
            return await self._directory.observe(references)

    async def ensure(self, works: Sequence[port.GroupWork]) -> Sequence[port.GroupOutcome]:
        """Ensure groups."""
        steps: _Steps = {each.wanted.request_id: each.steps for each in works}
        with _directory_spans(self._spans, "ensure groups", steps) as spans:
            outcomes = await self._directory.ensure(works)
            for work, outcome in zip(works, outcomes, strict=True):
                _set_outcome(spans.get(work.wanted.request_id), outcome.done, outcome.fault)
            return outcomes

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """Observe mailboxes."""
        with _directory_spans(self._spans, "observe mailboxes", {each.request_id: () for each in references}):
            return await self._directory.observe_mailboxes(references)

    async def ensure_mailboxes(self, works: Sequence[port.MailboxWork]) -> Sequence[port.MailboxOutcome]:
        """Ensure mailboxes."""
        steps: _Steps = {each.wanted.request_id: each.steps for each in works}
        with _directory_spans(self._spans, "ensure mailboxes", steps) as spans:
            outcomes = await self._directory.ensure_mailboxes(works)
            for work, outcome in zip(works, outcomes, strict=True):
                _set_outcome(spans.get(work.wanted.request_id), outcome.done, outcome.fault)
            return outcomes


class TracedGuests(port.Guests):
    """A directory of guest rules with spans around its calls.

    Its work names groups, not requests.
    """

    def __init__(self, guests: port.Guests, spans: Spans) -> None:
        self._guests = guests
        self._spans = spans

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        """Observe groups and sites."""
        with _directory_spans(self._spans, "observe guest rules", None):
            return await self._guests.observe(references)

    async def ensure(self, works: Sequence[port.GuestWork]) -> Sequence[port.GuestOutcome]:
        """Ensure guest rules."""
        with _directory_spans(self._spans, "ensure guest rules", None):
            return await self._guests.ensure(works)

    async def act(self, acts: Sequence[port.GuestAct]) -> Sequence[port.ActOutcome]:
        """Perform guest actions."""
        return await self._guests.act(acts)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> port.SubjectChanges:
        """List groups and sites, or their changes since a cursor."""
        return await self._guests.changes(tenant_id, extension, cursor)
