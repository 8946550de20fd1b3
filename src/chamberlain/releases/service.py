# SPDX-License-Identifier: Apache-2.0
"""Release the managed objects of a tenant: preview, start, list and read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation
from chamberlain.changes.records import record_change
from chamberlain.core.errors import NotFound
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import ReleaseId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database
from chamberlain.http import idempotency
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import JobKind
from chamberlain.releases import store
from chamberlain.releases.models import (
    MOST_SHOWN,
    ReleasePreview,
    ReleaseRecord,
    ReleaseType,
    ReleaseView,
    release_running,
    started,
)


@dataclass(slots=True)
class ReleaseService:
    """Preview, start, list and read the releases of a tenant.

    Every method raises Forbidden for callers who are not administrators. It raises Unavailable if the directory does
    not answer whether the caller is one. `workers` are notified of new jobs.
    """

    database: Database
    authorization: Authorization
    workers: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def preview(self, caller: Caller, types: Sequence[ReleaseType]) -> ReleasePreview:
        """List the objects that a release would give back. Writes nothing."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await store.preview(tx, caller.tenant_id, types)

    async def start(
        self, caller: Caller, types: Sequence[ReleaseType], act: Act, render: Callable[[ReleaseView], bytes]
    ) -> KeptAnswer:
        """Start a release and return the answer that `render` builds.

        Raises Conflict if another release of the tenant is running.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)
        release_id, at = ReleaseId(self.new_id()), self.now()

        async def work() -> bytes:
            record = await store.start(tx, caller.tenant_id, release_id, types, editor, at=at)
            if record is None:
                raise release_running()
            await queue_jobs.queue(tx, JobKind.RELEASE_RUN, release_id, editor.trace_id)
            await record_change(tx, started(record, act.said))
            return render(ReleaseView(record, tuple(await store.find_remarks(tx, record, MOST_SHOWN))))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer

    async def list(self, caller: Caller, page: PageWanted) -> Page[ReleaseRecord]:
        """List releases, newest first."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await store.find_page(tx, page)

    async def read(self, caller: Caller, release_id: ReleaseId) -> ReleaseView:
        """Read a release with its first remarks. Raises NotFound."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await store.find(tx, caller.tenant_id, release_id)
            if record is None:
                raise NotFound("The release does not exist.")
            return ReleaseView(record, tuple(await store.find_remarks(tx, record, MOST_SHOWN)))
