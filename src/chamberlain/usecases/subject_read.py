"""Read a group or managed site: what is assigned to it, and how far the effects of that have come."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.ids import GroupId
from chamberlain.rules.permissions import Operation
from chamberlain.rules.subject_records import SubjectRecord, no_such
from chamberlain.rules.subjects import SubjectType
from chamberlain.store import subjects
from chamberlain.store.database import Database
from chamberlain.store.meeting import LookUpSubject, meet


@dataclass(frozen=True, slots=True)
class ReadSubject:
    """For administrators of the tenant, and applications that manage or configure groups and sites."""

    database: Database
    look_up: LookUpSubject
    authorization: Authorization
    now: Callable[[], datetime]

    async def __call__(self, caller: Caller, group_id: GroupId, wanted: SubjectType) -> SubjectRecord:
        """Raises Forbidden, NotFound and Unavailable."""
        await self.authorization.require(caller, Operation.READ_MANAGED)
        found = await self._find(caller, group_id)
        if found is None or found.entry.type is not wanted:
            await meet(self.database, self.look_up, caller.tenant_id, group_id, wanted=wanted, at=self.now())
            found = await self._find(caller, group_id)
        if found is None:
            raise no_such(wanted)
        return found

    async def _find(self, caller: Caller, group_id: GroupId) -> SubjectRecord | None:
        async with self.database.transaction(caller.tenant_id) as tx:
            return await subjects.find(tx, caller.tenant_id, group_id)
