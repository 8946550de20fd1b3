"""Undo an adoption: a worker takes marks and records away again, also while others are still being taken."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.actions import Act, KeptAnswer
from chamberlain.rules.adoption_records import AdoptionView, undone
from chamberlain.rules.adoptions import MOST_SHOWN, AdoptionState, require_undoable
from chamberlain.rules.callers import Caller
from chamberlain.rules.edits import Editor
from chamberlain.rules.errors import NotFound
from chamberlain.rules.ids import AdoptionId
from chamberlain.rules.jobs import JobKind
from chamberlain.rules.permissions import Operation
from chamberlain.store import adoption_items, adoptions, changes, held_jobs, idempotency, jobs
from chamberlain.store.database import Database, Transaction
from chamberlain.store.notifier import Notifier


@dataclass(frozen=True, slots=True)
class UndoAdoption:
    """For administrators of the tenant, and applications that configure it. `workers` hear that there is something to
    do."""

    database: Database
    authorization: Authorization
    workers: Notifier
    now: Callable[[], datetime]

    async def __call__(
        self, caller: Caller, adoption_id: AdoptionId, act: Act, render: Callable[[AdoptionView], bytes]
    ) -> KeptAnswer:
        """What `render` makes of the adoption, which is about to be undone. Raises Forbidden, NotFound, and Conflict
        when it is undone already, or about to be."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, act)

        async def work() -> bytes:
            return render(await self._undo(tx, caller, adoption_id, editor, act))

        async with self.database.transaction(caller.tenant_id) as tx:
            answer = await idempotency.once(tx, caller, act.idempotency, work)
        self.workers.flag()
        return answer

    async def _undo(
        self, tx: Transaction, caller: Caller, adoption_id: AdoptionId, editor: Editor, act: Act
    ) -> AdoptionView:
        before = await adoptions.hold(tx, caller.tenant_id, adoption_id)
        require_undoable(None if before is None else before.state)
        if before is None or (after := await adoptions.undo(tx, before, editor, at=self.now())) is None:
            raise NotFound("There is no such adoption any more.")
        await adoption_items.wait_anew(tx, after)
        if before.state is AdoptionState.SUCCEEDED:
            await jobs.queue(tx, JobKind.ADOPTION_RUN, adoption_id, editor.trace_id)
        else:
            # One that is running has its job still, which meets the new state; one that met a bug waits to be let go.
            await held_jobs.release_of(tx, JobKind.ADOPTION_RUN, adoption_id)
        await changes.record(tx, undone(before, editor, act.said))
        return AdoptionView(after, tuple(await adoption_items.find_refused(tx, after, MOST_SHOWN)))
