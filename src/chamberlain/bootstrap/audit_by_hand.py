"""The audit trail for whoever has the database: verified, and emptied of somebody who is to be forgotten.

A command imports this, and with it nothing of what answers calls.
"""

from collections.abc import Sequence

from chamberlain.bootstrap.databases import opened_at_hand
from chamberlain.bootstrap.faults import expected_faults
from chamberlain.bootstrap.operators import command_line
from chamberlain.bootstrap.origins import new_trace_id
from chamberlain.rules.erasures import Erasure
from chamberlain.rules.ids import TenantId, UserId
from chamberlain.rules.seals import AuditVerdict, Head
from chamberlain.settings import Settings
from chamberlain.usecases.audit_verify import Tell, VerifyAudit
from chamberlain.usecases.user_erase import EraseUser


async def verify_audit(
    settings: Settings, tenant_id: TenantId | None, kept: Head | None, tell: Tell
) -> Sequence[AuditVerdict]:
    """The verdict on one tenant, or on each; `tell` hears of each fault. Raises CannotStart and NotFound."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await VerifyAudit(database, tell)(tenant_id, kept)


async def erase_user(settings: Settings, user_id: UserId, tenant_id: TenantId | None) -> Sequence[Erasure]:
    """What was emptied, in each tenant where there was something. Raises CannotStart and NotFound."""
    with expected_faults():
        async with opened_at_hand(settings) as database:
            return await EraseUser(database)(user_id, tenant_id, actor=command_line(), trace_id=new_trace_id())
