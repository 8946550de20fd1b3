"""Adopt mailboxes and groups that are already in the directory.

A caller previews a rule, and confirms the preview by its digest. A worker carries the adoption out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.adoptions import store
from chamberlain.adoptions.models import (
    MOST_SHOWN,
    AdoptionItem,
    AdoptionRecord,
    AdoptionRule,
    AdoptionState,
    AdoptionView,
    Candidate,
    Preview,
    confirmed,
    new_record,
    preview_changed,
    require_same_preview,
    require_undoable,
    undo_change,
)
from chamberlain.adoptions.preview import Previewer
from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller, Editor
from chamberlain.auth.permissions import Operation
from chamberlain.changes.records import record_change
from chamberlain.core.errors import NotFound
from chamberlain.core.idempotency import Act, KeptAnswer
from chamberlain.core.ids import AdoptionId, RequestId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Transaction
from chamberlain.http import idempotency
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import JobKind


@dataclass(slots=True)
class AdoptionService:
    """Preview, confirm, list, read and undo the adoptions of a tenant.

    Every method raises Forbidden for callers who are not administrators. It raises Unavailable if the directory does
    not answer whether the caller is one. `workers` are notified of new jobs.
    """

    database: Database
    authorization: Authorization
    previewer: Previewer
    workers: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def preview(self, caller: Caller, rule: AdoptionRule) -> Preview:
        """Preview a rule. Writes nothing.

        Raises NotPossible for a template of another kind, and Unavailable if the directory does not answer.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        return await self.previewer.preview(caller.tenant_id, rule)

    async def confirm(
        self, caller: Caller, rule: AdoptionRule, digest: str, act: Act, render: Callable[[AdoptionView], bytes]
    ) -> KeptAnswer:
        """Start an adoption and return the answer that `render` builds.

        Raises like `preview`, and Conflict if the preview has changed since the digest was made.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            if (kept := await idempotency.find(tx, caller, act.idempotency)) is not None:
                return kept
        preview = await self.previewer.preview(caller.tenant_id, rule)
        require_same_preview(preview, digest)
        editor = await self.authorization.editor(caller, act)
        record = new_record(preview, AdoptionId(self.new_id()), editor, at=self.now())
        items = [_item(one, RequestId(self.new_id())) for one in preview.taken]

        async def work() -> bytes:
            await store.save(tx, record)
            if not await store.save_items(tx, record, items):
                raise preview_changed()
            await queue_jobs.queue(tx, JobKind.ADOPTION_RUN, record.id, editor.trace_id)
            await record_change(tx, confirmed(record))
            return render(AdoptionView(record, ()))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer

    async def list(self, caller: Caller, page: PageWanted) -> Page[AdoptionRecord]:
        """List adoptions, newest first, including undone ones."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await store.find_page(tx, page)

    async def read(self, caller: Caller, adoption_id: AdoptionId) -> AdoptionView:
        """Read an adoption with its first refused items. Raises NotFound."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await store.find(tx, caller.tenant_id, adoption_id)
            if record is None:
                raise NotFound("The adoption does not exist.")
            return await _view(tx, record)

    async def undo(
        self, caller: Caller, adoption_id: AdoptionId, act: Act, render: Callable[[AdoptionView], bytes]
    ) -> KeptAnswer:
        """Undo an adoption and return the answer that `render` builds.

        A worker removes the marks and records, even of a running adoption. Raises NotFound, and Conflict if the
        adoption is undone or being undone.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)

        async def work() -> bytes:
            before = await store.lock(tx, caller.tenant_id, adoption_id)
            require_undoable(None if before is None else before.state)
            if before is None or (after := await store.undo(tx, before, editor, at=self.now())) is None:
                raise NotFound("The adoption no longer exists.")
            await store.reset_waits(tx, after)
            await _queue_undo(tx, before, editor)
            await record_change(tx, undo_change(before, editor, act.said))
            return render(await _view(tx, after))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer


def _item(one: Candidate, request_id: RequestId) -> AdoptionItem:
    return AdoptionItem(one.id, request_id, one.display_name, one.mail or "", frozenset(one.held))


async def _view(tx: Transaction, record: AdoptionRecord) -> AdoptionView:
    return AdoptionView(record, tuple(await store.find_refused(tx, record, MOST_SHOWN)))


async def _queue_undo(tx: Transaction, before: AdoptionRecord, editor: Editor) -> None:
    if before.state is AdoptionState.SUCCEEDED:
        await queue_jobs.queue(tx, JobKind.ADOPTION_RUN, before.id, editor.trace_id)
    else:
        # A running adoption still has its job. A job that is held after a bug is released.
        await queue_jobs.release_of(tx, JobKind.ADOPTION_RUN, before.id)
