"""Groups are listed and read here, and guest templates and policies are assigned to them."""

from msgspec import Struct, json

from chamberlain.api.calls import Answer, Call
from chamberlain.api.endpoint import About, Success
from chamberlain.api.managed_shapes import GROUP_EXAMPLE, ManagedGroup, managed_group_of
from chamberlain.api.managing import NO_STORE, filter_of, shown, wanted_of
from chamberlain.api.paging import named_page_wanted, next_cursor
from chamberlain.api.services import Services
from chamberlain.rules.ids import GroupId
from chamberlain.rules.subject_records import SubjectRecord
from chamberlain.rules.subjects import SubjectType
from chamberlain.shapes.assignments import AssignmentBody


class ManagedGroupPage(Struct, rename="camel", frozen=True):
    """Some groups, by display name; `nextCursor` is null on the last page."""

    items: tuple[ManagedGroup, ...]
    next_cursor: str | None


async def list_(services: Services, call: Call[None]) -> Answer:
    """The groups of the directory."""
    wanted = filter_of(call, SubjectType.GROUP)
    page = await services.managed.list(call.caller, wanted, named_page_wanted(services, call))
    body = ManagedGroupPage(tuple(map(managed_group_of, page.items)), next_cursor(services, call, page.next))
    return Answer(200, json.encode(body), (NO_STORE,))


async def read(services: Services, call: Call[None]) -> Answer:
    """One group."""
    return _shown(await services.managed.read(call.caller, GroupId(call.ids["groupId"]), SubjectType.GROUP))


async def assign(services: Services, call: Call[AssignmentBody]) -> Answer:
    """Assign a guest template, a guest policy, or both, to a group; or clear them."""
    wanted = wanted_of(call, GroupId(call.ids["groupId"]), SubjectType.GROUP)
    return _shown(await services.managed.assign(call.caller, wanted))


def _shown(record: SubjectRecord) -> Answer:
    return shown(record, json.encode(managed_group_of(record)))


_TAG = "Groups and sites"
ABOUT_LIST = About(
    id="listManagedGroups",
    tag=_TAG,
    summary="List groups by display name",
    description="Every group of the directory but the security groups of managed sites, with what is assigned. What "
    "is new in the directory is here within half a minute.",
)
ABOUT_READ = About(
    id="readManagedGroup",
    tag=_TAG,
    summary="Read a group with what is assigned to it",
    description="The security group of a managed site is not found here; the answer says where it is.",
)
ABOUT_ASSIGN = About(
    id="assignToGroup",
    tag=_TAG,
    summary="Assign a guest template or guest policy to a group",
    description="A field that is not sent stays as it is; the all-zero UUID clears the field that it is sent for; "
    "`null` is refused. What is so already changes nothing. The answer comes when the assignment is durable; its "
    "`effects` in the directory follow, as steps of the request `assignmentRequestId`. It works on any group of the "
    "directory.",
    example={"templateId": "7e000000-0000-4000-8000-000000000021"},
)
_CACHE = {"Cache-Control": "Always `no-store`."}
_VERSIONED = {**_CACHE, "ETag": "Names what is assigned, for `If-Match`; it changes with the two ids only."}
LISTED = (Success(200, "A page of groups.", ManagedGroupPage, _CACHE, {"items": [GROUP_EXAMPLE], "nextCursor": None}),)
READ = (Success(200, "The group.", ManagedGroup, _VERSIONED, GROUP_EXAMPLE),)
ASSIGNED = (Success(200, "The group as it is now.", ManagedGroup, _VERSIONED, GROUP_EXAMPLE),)
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
READ_CODES = ("notAdministrator", "notFound")
ASSIGN_CODES = ("notAdministrator", "notFound", "etagStale", "notPossible")
