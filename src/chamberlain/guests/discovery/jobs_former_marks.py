"""Marks that groups and mailboxes carry under an earlier prefix of their tenant."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from chamberlain.directory.subjects import ObservedSubject, SubjectReference
from chamberlain.tenants.models import Tenant

Observe: TypeAlias = Callable[[Sequence[SubjectReference]], Awaitable[Sequence[ObservedSubject | None]]]


async def with_former_marks(
    observe: Observe, tenant: Tenant, subjects: Sequence[ObservedSubject]
) -> Sequence[ObservedSubject]:
    """Look for the request of each group that has none under the current prefix. Raises TryAgain.

    A tenant that never changed its prefix costs no call.
    """
    found = list(subjects)
    for prefix in tenant.marked_under:
        places = [place for place, each in enumerate(found) if each.request_id is None]
        references = [SubjectReference(tenant.id, found[place].id, f"{prefix}_group") for place in places]
        for place, shown in zip(places, await observe(references) if references else (), strict=True):
            if shown is not None:
                found[place] = replace(found[place], request_id=shown.request_id)
    return found
