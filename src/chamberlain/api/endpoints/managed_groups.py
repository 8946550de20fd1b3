"""Groups are listed and read here, and guest templates and policies are assigned to them."""

from msgspec import Struct, json

from chamberlain.api.administered import CACHE, listed, shown
from chamberlain.api.answers import Answer
from chamberlain.api.calls import Call
from chamberlain.api.endpoint import About, Success
from chamberlain.api.managed_shapes import GROUP_EXAMPLE, ManagedGroup, managed_group_of
from chamberlain.api.managing import ASSIGNED_FOR_EXAMPLE, ASSIGNING, TAG, VERSIONED, page_of, wanted_of
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
    found, following = await page_of(services, call, SubjectType.GROUP)
    return listed(json.encode(ManagedGroupPage(tuple(map(managed_group_of, found)), following)))


async def read(services: Services, call: Call[None]) -> Answer:
    """One group."""
    return _shown(await services.managed.read(call.caller, GroupId(call.ids["groupId"]), SubjectType.GROUP))


async def assign(services: Services, call: Call[AssignmentBody]) -> Answer:
    """Assign a guest template, a guest policy, or both, to a group; or clear them."""
    wanted = wanted_of(call, GroupId(call.ids["groupId"]), SubjectType.GROUP)
    return _shown(await services.managed.assign(call.caller, wanted))


def _shown(record: SubjectRecord) -> Answer:
    return shown(json.encode(managed_group_of(record)), record.etag)


ABOUT_LIST = About(
    id="listManagedGroups",
    tag=TAG,
    summary="List groups by display name",
    description="Every group of the directory but the security groups of managed sites, with what is assigned. What "
    "is new in the directory is here within half a minute.",
)
ABOUT_READ = About(
    id="readManagedGroup",
    tag=TAG,
    summary="Read a group with what is assigned to it",
    description="The security group of a managed site is not found here; the answer says where it is.",
)
ABOUT_ASSIGN = About(
    id="assignToGroup",
    tag=TAG,
    summary="Assign a guest template or guest policy to a group",
    description=f"{ASSIGNING} It works on any group of the directory.",
    example=ASSIGNED_FOR_EXAMPLE,
)
LISTED = (Success(200, "A page of groups.", ManagedGroupPage, CACHE, {"items": [GROUP_EXAMPLE], "nextCursor": None}),)
READ = (Success(200, "The group.", ManagedGroup, VERSIONED, GROUP_EXAMPLE),)
ASSIGNED = (Success(200, "The group as it is now.", ManagedGroup, VERSIONED, GROUP_EXAMPLE),)
