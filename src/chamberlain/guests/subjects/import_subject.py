# SPDX-License-Identifier: Apache-2.0
"""Import a group or site that discovery has not found yet."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from chamberlain.core.errors import TryAgain, Unavailable
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.database.transactions import Database
from chamberlain.directory.port import Subjects
from chamberlain.directory.subjects import ObservedSubject, SubjectReference, SubjectType
from chamberlain.guests.subjects import records
from chamberlain.guests.subjects.models import SubjectEntry, require_type, to_entry
from chamberlain.tenants import records as tenant_records
from chamberlain.tenants.models import Tenant

Observe: TypeAlias = Callable[[Sequence[SubjectReference]], Awaitable[Sequence[ObservedSubject | None]]]


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
        reference = SubjectReference(tenant.id, group_id, f"{tenant.extension_prefix}_group")
        shown = [to_entry(each, at=at) for each in await directory.observe([reference]) if each is not None]
        entry = next(iter(await with_former_marks(directory.observe, tenant, shown)), None)
    except TryAgain as error:
        detail = "The directory does not answer. Send the request again."
        raise Unavailable("overloaded", detail, after=error.after) from error
    require_type(None if entry is None else entry.type, group_id, wanted)
    if entry is not None:
        async with database.transaction(tenant_id) as tx:
            await records.observe(tx, [entry])


async def with_former_marks(
    observe: Observe, tenant: Tenant, entries: Sequence[SubjectEntry]
) -> Sequence[SubjectEntry]:
    """Look up request ids under former prefixes. Raises TryAgain.

    Tenants that never changed their prefix need no call.
    """
    found = list(entries)
    for prefix in tenant.marked_under:
        places = [place for place, each in enumerate(found) if each.request_id is None]
        references = [SubjectReference(tenant.id, found[place].id, f"{prefix}_group") for place in places]
        for place, shown in zip(places, await observe(references) if references else (), strict=True):
            if shown is not None:
                found[place] = replace(found[place], request_id=shown.request_id)
    return found
