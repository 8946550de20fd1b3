"""Managed sites are listed and read here, and guest templates and policies are assigned to them.

A site is addressed by its security group.
"""

from msgspec import Struct, json

from chamberlain.api.administered import CACHE, listed, shown
from chamberlain.api.answers import Answer
from chamberlain.api.calls import Call
from chamberlain.api.endpoint import About, Success
from chamberlain.api.managed_shapes import SITE_EXAMPLE, ManagedSite, managed_site_of
from chamberlain.api.managing import ASSIGNED_FOR_EXAMPLE, ASSIGNING, TAG, VERSIONED, page_of, wanted_of
from chamberlain.api.services import Services
from chamberlain.rules.ids import GroupId
from chamberlain.rules.subject_records import SubjectRecord
from chamberlain.rules.subjects import SubjectType
from chamberlain.shapes.assignments import AssignmentBody


class ManagedSitePage(Struct, rename="camel", frozen=True):
    """Some sites, by display name; `nextCursor` is null on the last page."""

    items: tuple[ManagedSite, ...]
    next_cursor: str | None


async def list_(services: Services, call: Call[None]) -> Answer:
    """The managed sites."""
    found, following = await page_of(services, call, SubjectType.SITE)
    return listed(json.encode(ManagedSitePage(tuple(map(managed_site_of, found)), following)))


async def read(services: Services, call: Call[None]) -> Answer:
    """One site."""
    return _shown(await services.managed.read(call.caller, GroupId(call.ids["securityGroupId"]), SubjectType.SITE))


async def assign(services: Services, call: Call[AssignmentBody]) -> Answer:
    """Assign a guest template, a guest policy, or both, to a site; or clear them."""
    wanted = wanted_of(call, GroupId(call.ids["securityGroupId"]), SubjectType.SITE)
    return _shown(await services.managed.assign(call.caller, wanted))


def _shown(record: SubjectRecord) -> Answer:
    return shown(json.encode(managed_site_of(record)), record.etag)


ABOUT_LIST = About(
    id="listManagedSites",
    tag=TAG,
    summary="List managed sites by display name",
    description="With what is assigned. What is new in the directory is here within half a minute.",
)
ABOUT_READ = About(
    id="readManagedSite",
    tag=TAG,
    summary="Read a managed site with what is assigned to it",
    description="It is addressed by its security group. A group without a site is not found here; the answer says "
    "where it is.",
)
ABOUT_ASSIGN = About(
    id="assignToSite",
    tag=TAG,
    summary="Assign a guest template or guest policy to a managed site",
    description=f"{ASSIGNING} The site is addressed by its security group, and the marks lie on that.",
    example=ASSIGNED_FOR_EXAMPLE,
)
LISTED = (Success(200, "A page of sites.", ManagedSitePage, CACHE, {"items": [SITE_EXAMPLE], "nextCursor": None}),)
READ = (Success(200, "The site.", ManagedSite, VERSIONED, SITE_EXAMPLE),)
ASSIGNED = (Success(200, "The site as it is now.", ManagedSite, VERSIONED, SITE_EXAMPLE),)
