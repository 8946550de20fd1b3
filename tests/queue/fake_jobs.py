# SPDX-License-Identifier: Apache-2.0
"""Held jobs in memory, for tests of the API."""

from collections.abc import Callable
from dataclasses import replace

from chamberlain.auth.models import Caller
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import JobId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.queue.models import HeldJob
from chamberlain.queue.service import JobService
from tests.tenants.fake_tenants import TENANT_ID

# Stored reasons of held jobs, which have no code.
HELD_AFTER_BUG = "Its run met a bug. The log has it under this trace id."
HELD_AFTER_CRASHES = "Its run was cut short 20 times."


class FakeJobs(JobService):
    """Keeps held jobs in memory."""

    def __init__(self) -> None:
        self.records: list[HeldJob] = []
        self.acts: list[Act] = []

    async def list(self, caller: Caller, page: PageWanted) -> Page[HeldJob]:
        assert caller.tenant_id == TENANT_ID
        more = len(self.records) > page.limit
        found = self.records[: page.limit]
        return Page(found, Position(found[-1].queued_at, found[-1].public_id) if more else None)

    async def release(self, caller: Caller, job_id: JobId, act: Act, render: Callable[[HeldJob], bytes]) -> KeptAnswer:
        assert caller.tenant_id == TENANT_ID
        self.acts.append(act)
        (job,) = [each for each in self.records if each.id == job_id]
        return KeptAnswer(render(replace(job, held_reason=None, attempts=0)), replayed=False)
