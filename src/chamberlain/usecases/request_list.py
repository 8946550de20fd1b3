"""List requests, newest first: one's own, those that one has to decide on, or all of the tenant's for its
administrators."""

from dataclasses import dataclass

from chamberlain.auth.authorization import Authorization
from chamberlain.rules.actions import RequestView, viewed
from chamberlain.rules.callers import Caller
from chamberlain.rules.ids import RequestId
from chamberlain.rules.pages import Page, PageWanted
from chamberlain.rules.permissions import Extent, Operation
from chamberlain.rules.requests import RequestFilter
from chamberlain.store import request_lists
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ListRequests:
    """Gives a page of those that the caller may see and the filter names."""

    database: Database
    authorization: Authorization

    async def __call__(self, caller: Caller, wanted: RequestFilter, page: PageWanted) -> Page[RequestView]:
        """Raises Forbidden when somebody who is no administrator has only the permission of one."""
        allowance = self.authorization.allowance(caller, Operation.READ_REQUESTS)
        # Nobody has to be asked about what is one's own.
        is_own = wanted.mine or wanted.to_decide
        if is_own and allowance.plain is not None:
            extent = Extent.OWN
        else:
            extent = await self.authorization.extent(caller, Operation.READ_REQUESTS)
        user = caller.user_id
        if wanted.to_decide and (wanted.mine or user is None):
            # Nobody decides on an own request, and no application on any.
            return Page([], None)
        owner = caller.id if extent is Extent.OWN or is_own else None
        async with self.database.transaction(caller.tenant_id) as tx:
            found = await request_lists.find_page(tx, wanted, owner=owner, page=page)
            turn = frozenset[RequestId]() if user is None else await request_lists.to_decide(tx, user, found.items)
        views = [
            viewed(
                each,
                to_decide=each.request_id in turn,
                may_end=extent is Extent.ALL or each.created_by.id == caller.id,
            )
            for each in found.items
        ]
        return Page(views, found.next)
