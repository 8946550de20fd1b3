"""List groups or managed sites by their names, with what is assigned to each."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.callers import Caller
from chamberlain.rules.pages import NamedPage, NamedPageWanted
from chamberlain.rules.permissions import Operation
from chamberlain.rules.subject_records import SubjectFilter, SubjectRecord
from chamberlain.store import subject_lists
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListSubjects:
    """For administrators of the tenant, and applications that manage or configure groups and sites."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, wanted: SubjectFilter, page: NamedPageWanted) -> NamedPage[SubjectRecord]:
        """Those that the directory was seen to have, assigned or not. Raises Forbidden."""
        await self.authorization.require(caller, Operation.READ_MANAGED)
        async with self.database.transaction(caller.tenant_id) as tx:
            return await subject_lists.find_page(tx, wanted, page)
