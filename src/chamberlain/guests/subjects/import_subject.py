"""Import a group or site that discovery has not found yet."""

from dataclasses import replace
from datetime import datetime

from chamberlain.core.errors import TryAgain, Unavailable
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.database.transactions import Database
from chamberlain.directory.port import Subjects
from chamberlain.directory.subjects import ObservedSubject, SubjectReference, SubjectType
from chamberlain.guests.subjects import records
from chamberlain.guests.subjects.models import entry_of, require_type
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant


async def import_subject(
    database: Database,
    directory: Subjects,
    tenant_id: TenantId,
    group_id: GroupId,
    *,
    wanted: SubjectType,
    at: datetime,
) -> None:
    """Store a group or site that the directory has.

    It must have the wanted type. Raises NotFound and Unavailable.
    """
    async with database.transaction(tenant_id) as tx:
        tenant = await tenant_records.find(tx, tenant_id)
    if tenant is None:
        # The tenant was deleted after the token was verified.
        require_type(None, group_id, wanted)
        return
    try:
        observed = await _observe(directory, tenant, group_id)
    except TryAgain as error:
        detail = "The directory cannot be asked for this group. Send the request again."
        raise Unavailable("overloaded", detail, after=error.after) from error
    require_type(None if observed is None else observed.type, group_id, wanted)
    if observed is not None:
        async with database.transaction(tenant_id) as tx:
            await records.observe(tx, [entry_of(observed, at=at)])


async def _observe(directory: Subjects, tenant: Tenant, group_id: GroupId) -> ObservedSubject | None:
    """Read the group. Its request id may be under a former prefix."""
    (observed,) = await directory.observe([SubjectReference(tenant.id, group_id, f"{tenant.extension_prefix}_group")])
    for prefix in tenant.marked_under:
        if observed is not None and observed.request_id is None:
            (older,) = await directory.observe([SubjectReference(tenant.id, group_id, f"{prefix}_group")])
            observed = replace(observed, request_id=None if older is None else older.request_id)
    return observed
