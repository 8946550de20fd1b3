"""Managed sites are listed and read here, and guest templates and policies are assigned to them.

A site is addressed by its security group.
"""

from msgspec import Struct, json

from chamberlain.api.calls import Answer, Call
from chamberlain.api.endpoint import About, Success
from chamberlain.api.managed_shapes import SITE_EXAMPLE, ManagedSite, managed_site_of
from chamberlain.api.managing import NO_STORE, filter_of, shown, wanted_of
from chamberlain.api.paging import named_page_wanted, next_cursor
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
    wanted = filter_of(call, SubjectType.SITE)
    page = await services.managed.list(call.caller, wanted, named_page_wanted(services, call))
    body = ManagedSitePage(tuple(map(managed_site_of, page.items)), next_cursor(services, call, page.next))
    return Answer(200, json.encode(body), (NO_STORE,))


async def read(services: Services, call: Call[None]) -> Answer:
    """One site."""
    return _shown(await services.managed.read(call.caller, GroupId(call.ids["securityGroupId"]), SubjectType.SITE))


async def assign(services: Services, call: Call[AssignmentBody]) -> Answer:
    """Assign a guest template, a guest policy, or both, to a site; or clear them."""
    wanted = wanted_of(call, GroupId(call.ids["securityGroupId"]), SubjectType.SITE)
    return _shown(await services.managed.assign(call.caller, wanted))


def _shown(record: SubjectRecord) -> Answer:
    return shown(record, json.encode(managed_site_of(record)))


_TAG = "Groups and sites"
ABOUT_LIST = About(
    id="listManagedSites",
    tag=_TAG,
    summary="List managed sites by display name",
    description="With what is assigned. What is new in the directory is here within half a minute.",
)
ABOUT_READ = About(
    id="readManagedSite",
    tag=_TAG,
    summary="Read a managed site with what is assigned to it",
    description="It is addressed by its security group. A group without a site is not found here; the answer says "
    "where it is.",
)
ABOUT_ASSIGN = About(
    id="assignToSite",
    tag=_TAG,
    summary="Assign a guest template or guest policy to a managed site",
    description="A field that is not sent stays as it is; the all-zero UUID clears the field that it is sent for; "
    "`null` is refused. What is so already changes nothing. The answer comes when the assignment is durable; its "
    "`effects` in the directory follow, as steps of the request `assignmentRequestId`. The site is addressed by its "
    "security group, and the marks lie on that.",
    example={"templateId": "7e000000-0000-4000-8000-000000000021"},
)
_CACHE = {"Cache-Control": "Always `no-store`."}
_VERSIONED = {**_CACHE, "ETag": "Names what is assigned, for `If-Match`; it changes with the two ids only."}
LISTED = (Success(200, "A page of sites.", ManagedSitePage, _CACHE, {"items": [SITE_EXAMPLE], "nextCursor": None}),)
READ = (Success(200, "The site.", ManagedSite, _VERSIONED, SITE_EXAMPLE),)
ASSIGNED = (Success(200, "The site as it is now.", ManagedSite, _VERSIONED, SITE_EXAMPLE),)
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
READ_CODES = ("notAdministrator", "notFound")
ASSIGN_CODES = ("notAdministrator", "notFound", "etagStale", "notPossible")
