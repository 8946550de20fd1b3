# SPDX-License-Identifier: Apache-2.0
"""Spans of jobs have the code of a fault, and no text of a user."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from chamberlain.app.tracing.jobs import TracedDirectory, traced_handlers
from chamberlain.app.tracing.spans import Ids, Spans, request_span_id
from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import JobId, RequestId, TenantId, TraceId
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.port import (
    Directory,
    GroupOutcome,
    GroupWork,
    MailboxOutcome,
    MailboxWork,
    Outcome,
    Work,
)
from chamberlain.directory.steps import Step
from chamberlain.queue.models import Claim, Job, JobKind
from tests.directory.group_work import work

TENANT = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
TRACE = TraceId("4bf92f3577b34da6a3ce929d0e0e4736")
ONE, OTHER = RequestId(UUID(int=1)), RequestId(UUID(int=2))


class FailingDirectory(Directory):
    """A directory that refuses every second group, and then does not answer at all."""

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:  # noqa: ARG002 - the same for all tenants.
        return Capabilities(timedelta())

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        raise TryAgain(timedelta(seconds=len(references)), "Ada Achterberg is asleep.")

    async def ensure(self, works: Sequence[GroupWork]) -> Sequence[GroupOutcome]:
        refused = Rejected("userUnknown", "Ada Achterberg has left.")
        return [Outcome(None, (Step.CREATE_GROUP,), refused if number % 2 else None) for number, _ in enumerate(works)]

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        raise NotImplementedError

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        raise NotImplementedError


class TracingFixture:
    """Spans, and where they are kept."""

    def __init__(self) -> None:
        self.kept, ids = InMemorySpanExporter(), Ids()
        provider = TracerProvider(id_generator=ids, shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.kept))
        self.spans = Spans(provider, ids)
        self.directory = TracedDirectory(FailingDirectory(), self.spans)

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.kept.get_finished_spans() if span.name == name]


def claim(*trace_ids: str) -> Claim:
    moment = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
    jobs = [
        Job(JobId(number), TENANT, JobKind.GROUP_PROVISION, UUID(int=number), TraceId(trace_id), 0, moment)
        for number, trace_id in enumerate(trace_ids, start=1)
    ]
    return Claim(UUID(int=9), tuple(jobs))


async def test_it_works() -> None:
    tracing = TracingFixture()

    async def provision(_: Claim) -> None:
        works = [Work(work(request_id=each).wanted, (Step.CREATE_GROUP, Step.ADD_OWNERS)) for each in (ONE, OTHER)]
        await tracing.directory.ensure(works)

    await traced_handlers({JobKind.GROUP_PROVISION: provision}, tracing.spans)[JobKind.GROUP_PROVISION](
        claim(TRACE, TRACE)
    )

    well, refused = tracing.named("directory ensure groups")
    assert well.status.status_code is StatusCode.UNSET
    assert refused.status.status_code is StatusCode.ERROR
    assert dict(refused.attributes or {}) == {
        "chamberlain.batch.size": 2,
        "chamberlain.steps": ("createGroup", "addOwners"),
        "chamberlain.steps.done": ("createGroup",),
        "error.type": "userUnknown",
    }
    # The job itself has come to its end: its request has failed, and that is no fault of the run.
    assert [span.status.status_code for span in tracing.named("job groupProvision")] == [StatusCode.UNSET] * 2
    parents = {span.parent.span_id for span in tracing.named("job groupProvision") if span.parent is not None}
    assert parents == {request_span_id(TRACE, each) for each in (ONE, OTHER)}
    assert "Ada" not in "".join(span.to_json() for span in tracing.kept.get_finished_spans())


async def test_it_handles_a_run_that_does_not_come_to_its_end() -> None:
    tracing = TracingFixture()

    async def provision(_: Claim) -> None:
        await tracing.directory.observe([GroupReference(TENANT, "chamberlain_group", ONE)])

    handlers = traced_handlers({JobKind.GROUP_PROVISION: provision}, tracing.spans)
    with pytest.raises(TryAgain):
        await handlers[JobKind.GROUP_PROVISION](claim(TRACE))

    (asked,), (job,) = tracing.named("directory observe groups"), tracing.named("job groupProvision")
    assert (asked.status.status_code, job.status.status_code) == (StatusCode.ERROR, StatusCode.ERROR)
    assert "Ada" not in asked.to_json() + job.to_json()


async def test_it_handles_jobs_without_a_trace_and_errands() -> None:
    tracing = TracingFixture()
    runs: list[Claim] = []

    async def run(given: Claim) -> None:
        runs.append(given)

    handlers = traced_handlers({JobKind.GROUP_PROVISION: run, JobKind.AUDIT_SEAL: run}, tracing.spans)
    await handlers[JobKind.GROUP_PROVISION](claim("", "0" * 32))

    assert len(runs) == 1
    assert tracing.kept.get_finished_spans() == ()
    # A handler without a span stays as it is.
    assert handlers[JobKind.AUDIT_SEAL] is run
