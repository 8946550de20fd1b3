"""Verify the audit trail, and erase a user, from the command line.

A command that imports this file imports nothing of the API.
"""

from collections.abc import Sequence

from chamberlain.app.clock_and_ids import command_line
from chamberlain.app.databases import opened_at_hand
from chamberlain.app.errors import expected_faults
from chamberlain.audit.erasure import Erasure, UserEraser
from chamberlain.audit.seals import AuditVerdict, Head
from chamberlain.audit.verification import AuditVerifier, Report
from chamberlain.core.ids import TenantId, UserId
from chamberlain.http.calls import new_trace_id
from chamberlain.settings import Settings


async def verify_audit(
    settings: Settings, tenant_id: TenantId | None, kept: Head | None, report: Report
) -> Sequence[AuditVerdict]:
    """Return the verdict on one tenant, or on each.

    `report` gets each fault. Raises CannotStart and NotFound.
    """
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await AuditVerifier(database, report).verify(tenant_id, kept)


async def erase_user(settings: Settings, user_id: UserId, tenant_id: TenantId | None) -> Sequence[Erasure]:
    """Erase a user, and return the erasure in each tenant.

    Raises CannotStart and NotFound.
    """
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await UserEraser(database).erase(user_id, tenant_id, actor=command_line(), trace_id=new_trace_id())
