# SPDX-License-Identifier: Apache-2.0
"""Read and replace the caller's tenant.

For administrators of the tenant, and applications that configure it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller, Edit, Issuer, require_match
from chamberlain.auth.permissions import Operation
from chamberlain.changes.models import announced
from chamberlain.changes.records import record_change
from chamberlain.core.errors import NotPossible, TryAgain, Unavailable
from chamberlain.core.ids import EventId, TenantId
from chamberlain.database.transactions import Database
from chamberlain.directory.models import PeopleAnswer, PeopleQuestion
from chamberlain.directory.port import People
from chamberlain.tenants import records
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import (
    TenantRecord,
    TenantSettings,
    changed,
    members_question,
    present,
    question_of,
    replaced,
    settings_faults,
)


@dataclass(slots=True)
class TenantService:
    """Read and replace the caller's tenant.

    Every method raises Forbidden for callers who are not administrators, and Unavailable. `own_issuers` returns the
    issuers that are not registered and may nevertheless speak for a tenant, such as the embedded identity platform.
    """

    database: Database
    people: People
    authorization: Authorization
    own_issuers: Callable[[TenantId], tuple[Issuer, ...]]
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def read(self, caller: Caller) -> TenantRecord:
        """Read the tenant."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            record = present(await tenant_records.find_record(tx, caller.tenant_id))
        return self._with_own_issuers(record, caller.tenant_id)

    async def replace(self, caller: Caller, settings: TenantSettings, edit: Edit) -> TenantRecord:
        """Replace the settings of the tenant and return it.

        Identical settings are neither written nor audited. At least one administrator who is not a guest has to remain.
        Raises Stale, and NotPossible with all errors.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, edit)
        tenant_id = caller.tenant_id
        answer = await self._look_up(question_of(settings, tenant_id))
        further = members_question(answer, tenant_id)
        members = {} if further is None else (await self._look_up(further)).people
        async with self.database.transaction(tenant_id) as tx:
            await tenant_records.lock(tx, tenant_id)
            before = present(await tenant_records.find_record(tx, tenant_id))
            require_match(before.etag, edit, "tenant")
            if faults := tuple(settings_faults(settings, before.tenant, answer, members)):
                raise NotPossible(faults)
            after = changed(before.tenant, settings)
            if await records.put(tx, after):
                change = replaced(before.tenant, after, editor)
                await record_change(tx, announced(change, EventId(self.new_id()), now=self.now()))
            record = present(await tenant_records.find_record(tx, tenant_id))
        return self._with_own_issuers(record, tenant_id)

    async def _look_up(self, question: PeopleQuestion) -> PeopleAnswer:
        try:
            return await self.people.look_up(question)
        except TryAgain as error:
            detail = "The directory cannot be asked who would administer the tenant. Send the request again."
            raise Unavailable("overloaded", detail, after=error.after) from error

    def _with_own_issuers(self, record: TenantRecord, tenant_id: TenantId) -> TenantRecord:
        return replace(record, issuers=(*self.own_issuers(tenant_id), *record.issuers))
