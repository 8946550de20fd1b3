"""Approvals: the rule of a request, and what follows when its levels have moved.

The levels themselves stand in the request. A job attends to each request that waits for approval (`requests/jobs.py`);
it ends with the wait, and is made due at once when a level is to be opened.
"""

from dataclasses import dataclass

from msgspec import Struct

from chamberlain.core.errors import Unauthenticated
from chamberlain.core.ids import RequestId, TraceId
from chamberlain.core.json_stored import StoredDecoder
from chamberlain.database.transactions import Transaction
from chamberlain.queue import jobs as queue_jobs
from chamberlain.requests import records
from chamberlain.requests.approvals import current_level
from chamberlain.requests.models import RequestRecord, RequestState
from chamberlain.requests.models_approvals import ApprovalRule, ApprovalState
from chamberlain.requests.models_request_jobs import job_kind_of
from chamberlain.requests.schema import ApprovalShape, to_approval_rule
from chamberlain.tenants import records as tenant_records

# The revision of the template at submission, and the trace of the submission.
FIND_ORIGIN = """
SELECT r.template_id, r.trace_id, v.content
FROM chamberlain.request r LEFT JOIN chamberlain.template_revision v
    ON v.tenant_id = r.tenant_id AND v.template_id = r.template_id AND v.revision = r.template_revision
WHERE r.tenant_id = $1 AND r.request_id = $2
"""

# One that waited before there were such jobs, or that an older process has accepted, has none yet.
HURRY = """
WITH hurried AS (
    UPDATE chamberlain.job SET run_at = now()
    WHERE tenant_id = $1 AND subject = $2 AND kind = 'approvalAttend'
    RETURNING job_id
)
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
SELECT $1, 'approvalAttend', $2, $3 WHERE NOT EXISTS (SELECT FROM hurried)
"""

# One that a worker is just at ends by itself.
WITHDRAW = """
DELETE FROM chamberlain.job WHERE job_id = ANY (ARRAY(
    SELECT job_id FROM chamberlain.job
    WHERE tenant_id = $1 AND subject = $2 AND kind = 'approvalAttend' AND (lease_until IS NULL OR lease_until < now())
    FOR UPDATE SKIP LOCKED
))
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a request that waits for approval came with: the rule as it was at submission, and its trace."""

    rule: ApprovalRule
    trace_id: TraceId


async def find_origin(tx: Transaction, request_id: RequestId) -> Origin | None:
    """Who has to agree to a request; None where nobody has to, or there is no such request."""
    row = await tx.fetch_row(FIND_ORIGIN, tx.tenant_id, request_id)
    if row is None or row["template_id"] is None:
        return None
    if row["content"] is None:
        raise LookupError(f"Request {request_id} names a template revision that does not exist.")
    approval = _decode(row["content"].encode()).approval
    return None if approval is None else Origin(to_approval_rule(approval), TraceId(row["trace_id"]))


class _Approved(Struct):
    """The approval of a stored template of any kind."""

    approval: ApprovalShape | None = None


_decode = StoredDecoder(_Approved).decode


async def require_served(tx: Transaction) -> None:
    """Raises Unauthenticated where the tenant was suspended or removed since the token was looked at."""
    tenant = None if tx.tenant_id is None else await tenant_records.find(tx, tx.tenant_id)
    if tenant is None or tenant.suspended:
        raise Unauthenticated("tokenInvalid", "The organisation of this token is not served here any more.")


async def move(tx: Transaction, before: RequestRecord, after: RequestRecord, trace_id: TraceId) -> None:
    """Let a request that waits for approval become what it is after it, with all that follows: it is queued with the
    job that brings it about, or gives its names back, or its next level is opened soon. Nobody else changes
    it until the transaction ends (`requests.hold`)."""
    if not await records.move(tx, before, after):
        raise RuntimeError(f"Request {before.request_id} has moved though it was held.")
    if after.state is RequestState.PENDING_APPROVAL:
        await records.shorten(tx, [after.request_id])
        current = current_level(after.approvals)
        if current is None or current.state is ApprovalState.NOT_REACHED:
            await tx.execute(HURRY, tx.tenant_id, after.request_id, trace_id)
        return
    await withdraw(tx, after.request_id)
    if after.state is RequestState.QUEUED:
        await queue_jobs.queue(tx, job_kind_of(after.kind), after.request_id, trace_id)
    else:
        await records.give_back(tx, after.request_id)


async def withdraw(tx: Transaction, request_id: RequestId) -> None:
    """Nobody has to attend to a request any more."""
    await tx.execute(WITHDRAW, tx.tenant_id, request_id)
