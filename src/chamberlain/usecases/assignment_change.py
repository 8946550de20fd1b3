"""Change what is assigned to a group or site: a guest template, a guest policy, or both at once.

The effects in the directory follow as steps of a request of kind assignment, which is written together with the change.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.assignment_drafts import AssignmentDraft, Situation, WantedAssignment, draft_of, written
from chamberlain.rules.callers import Caller
from chamberlain.rules.drafts import Moment
from chamberlain.rules.edits import Editor, require_match
from chamberlain.rules.errors import Unavailable
from chamberlain.rules.ids import EventId, RequestId, TenantId
from chamberlain.rules.permissions import Operation
from chamberlain.rules.subject_records import SubjectRecord, no_such
from chamberlain.store.assignments import Assigner
from chamberlain.store.database import Database
from chamberlain.store.meeting import LookUpSubject, meet
from chamberlain.store.notifier import Notifier

# Each round is lost only to a change that another process makes meanwhile; so many in a row are no chance.
MOST_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class ChangeAssignment:
    """For administrators of the tenant, and applications that manage or configure groups and sites."""

    database: Database
    look_up: LookUpSubject
    authorization: Authorization
    assigner: Assigner
    notifier: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def __call__(self, caller: Caller, wanted: WantedAssignment) -> SubjectRecord:
        """The group or site as it is then; the change is durable. What is so already is neither written nor put on
        record; where its effects were cancelled or have failed, it is asked for anew. Raises Forbidden, NotFound,
        Stale, and NotPossible with all faults."""
        await self.authorization.require(caller, Operation.ASSIGN)
        edit = wanted.edit
        editor = await self.authorization.editor(caller, edit)
        async with self.assigner.turn(caller.tenant_id, wanted.id):
            for _ in range(MOST_ROUNDS):
                situation = await self._situation(caller.tenant_id, wanted)
                draft = self._draft(situation, wanted, editor)
                if draft is None:
                    return situation.record
                if await self.assigner.change(draft):
                    self.notifier.flag()
                    return written(draft)
        raise Unavailable("overloaded", "This group changes faster than it can be read. Send the request again.")

    async def _situation(self, tenant_id: TenantId, wanted: WantedAssignment) -> Situation:
        found = await self.assigner.situation(tenant_id, wanted.id, wanted.order)
        if found is None or found.record.entry.type is not wanted.type:
            # Not known yet, or known as something else: a group may have got a site since it was looked at.
            await meet(self.database, self.look_up, tenant_id, wanted.id, wanted=wanted.type, at=self.now())
            found = await self.assigner.situation(tenant_id, wanted.id, wanted.order)
        if found is None:
            raise no_such(wanted.type)
        return found

    def _draft(self, situation: Situation, wanted: WantedAssignment, editor: Editor) -> AssignmentDraft | None:
        """The change to be written; None when it is so already."""
        require_match(situation.record.etag, wanted.edit, str(wanted.type))
        return draft_of(
            situation,
            wanted.order,
            editor,
            request_id=RequestId(self.new_id()),
            body=wanted.body,
            moment=Moment(EventId(self.new_id()), self.now()),
        )
