"""Read a request: one's own, or any of the tenant's for its administrators."""

from dataclasses import dataclass

from chamberlain.directory.port import People
from chamberlain.rules.callers import Caller
from chamberlain.rules.errors import NotFound, TryAgain, Unavailable
from chamberlain.rules.ids import RequestId
from chamberlain.rules.people import PeopleQuestion
from chamberlain.rules.permissions import Extent, Operation, ScopePrefixes, require
from chamberlain.rules.requests import RequestRecord
from chamberlain.rules.tenants import Tenant
from chamberlain.store import requests, tenants
from chamberlain.store.database import Database


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Gives a request whole, to those who may see it. For all others it does not exist."""

    database: Database
    people: People
    prefixes: ScopePrefixes

    async def __call__(self, caller: Caller, request_id: RequestId) -> RequestRecord:
        """Raises NotFound; Forbidden when somebody who is no administrator has only the permission of one."""
        allowance = require(caller, Operation.READ_REQUESTS, self.prefixes)
        async with self.database.transaction(caller.tenant_id) as tx:
            record = await requests.find(tx, request_id)
            tenant = await tenants.find(tx, caller.tenant_id)
        is_administrator = (
            allowance.asks_for_administrator and tenant is not None and await self._administers(caller, tenant)
        )
        extent = allowance.extent(is_administrator=is_administrator)
        if record is None or (extent is Extent.OWN and record.created_by.id != caller.id):
            raise NotFound("There is no such request, or it is not yours to read.")
        return record

    async def _administers(self, caller: Caller, tenant: Tenant) -> bool:
        user = caller.user_id
        if user is None or user in tenant.administrator_users:
            return user is not None
        if not tenant.administrator_groups:
            return False
        question = PeopleQuestion(tenant.id, member=user, groups=tenant.administrator_groups)
        try:
            answer = await self.people.look_up(question)
        except TryAgain as error:
            detail = "The directory cannot be asked whether you are an administrator. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error
        return bool(answer.member_of)
