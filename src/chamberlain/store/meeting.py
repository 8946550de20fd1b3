"""Meeting a group or site that is not known here yet: it is looked up in the directory, and kept."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from chamberlain.rules.errors import TryAgain, Unavailable
from chamberlain.rules.ids import GroupId, TenantId
from chamberlain.rules.subject_records import entry_of, require_type
from chamberlain.rules.subjects import ObservedSubject, SubjectReference, SubjectType
from chamberlain.store import subjects, tenants
from chamberlain.store.database import Database

# What the directory shows of one group; raises TryAgain.
LookUpSubject: TypeAlias = Callable[[SubjectReference], Awaitable[ObservedSubject | None]]


async def meet(
    database: Database,
    look_up: LookUpSubject,
    tenant_id: TenantId,
    group_id: GroupId,
    *,
    wanted: SubjectType,
    at: datetime,
) -> None:
    """Make the row of a group, if the directory has it as what it is wanted as. Raises NotFound and Unavailable."""
    async with database.transaction(tenant_id) as tx:
        tenant = await tenants.find(tx, tenant_id)
    if tenant is None:
        # Whose token was verified a moment ago; it has been removed since.
        require_type(None, group_id, wanted)
        return
    reference = SubjectReference(tenant_id, group_id, f"{tenant.extension_prefix}_group")
    try:
        observed = await look_up(reference)
        for prefix in tenant.marked_under:
            if observed is not None and observed.request_id is None:
                older = await look_up(SubjectReference(tenant_id, group_id, f"{prefix}_group"))
                observed = replace(observed, request_id=None if older is None else older.request_id)
    except TryAgain as error:
        detail = "The directory cannot be asked for this group. Send the request again."
        raise Unavailable("overloaded", detail, after=error.after) from error
    require_type(None if observed is None else observed.type, group_id, wanted)
    if observed is not None:
        async with database.transaction(tenant_id) as tx:
            await subjects.observe(tx, [entry_of(observed, at=at)])
