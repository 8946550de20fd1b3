# SPDX-License-Identifier: Apache-2.0
"""Endpoints of groups and managed sites with their assignments.

A site has the id of its security group.
"""

from collections.abc import Mapping
from uuid import UUID

from msgspec import Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import Malformed
from chamberlain.core.ids import GroupId, PolicyId, TemplateId
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.assignments.rules import WantedAssignment
from chamberlain.guests.assignments.service import AssignmentService
from chamberlain.guests.assignments.wire import (
    ASSIGNMENT,
    GROUP_EXAMPLE,
    SITE_EXAMPLE,
    AssignmentBody,
    DryRunAssignment,
    ManagedGroup,
    ManagedSite,
    dry_run_assignment,
    managed_group_of,
    managed_site_of,
    to_assignment_order,
)
from chamberlain.guests.subjects.models import MetadataFilter, SubjectFilter, SubjectRecord
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import PARAMETERS, named_page_wanted, next_cursor
from chamberlain.http.request import Call, Parameter
from chamberlain.http.resource import CACHE, IF_MATCH, edit_of, listed, shown
from chamberlain.http.responses import Answer
from chamberlain.requests.wire import DRY_RUN


class ManagedGroupPage(Struct, rename="camel", frozen=True):
    """Some groups, by display name; `nextCursor` is null on the last page."""

    items: tuple[ManagedGroup, ...]
    next_cursor: str | None


class ManagedSitePage(Struct, rename="camel", frozen=True):
    """Some sites, by display name; `nextCursor` is null on the last page."""

    items: tuple[ManagedSite, ...]
    next_cursor: str | None


async def list_groups(assignments: AssignmentService, call: Call[None]) -> Answer:
    """List the groups of the directory by display name."""
    page = await assignments.list(call.caller, _filter(call, SubjectType.GROUP), named_page_wanted(call))
    return listed(json.encode(ManagedGroupPage(tuple(map(managed_group_of, page.items)), next_cursor(call, page.next))))


async def read_group(assignments: AssignmentService, call: Call[None]) -> Answer:
    """Read a group."""
    return _group(await assignments.read(call.caller, GroupId(call.ids["groupId"]), SubjectType.GROUP))


async def assign_to_group(assignments: AssignmentService, call: Call[AssignmentBody]) -> Answer:
    """Assign to a group, or clear its assignment."""
    if call.query.get(DRY_RUN.name) == "true":
        return await _dry_run(assignments, call, _wanted(call, "groupId", SubjectType.GROUP))
    return _group(await assignments.assign(call.caller, _wanted(call, "groupId", SubjectType.GROUP)))


async def list_sites(assignments: AssignmentService, call: Call[None]) -> Answer:
    """List the managed sites by display name."""
    page = await assignments.list(call.caller, _filter(call, SubjectType.SITE), named_page_wanted(call))
    return listed(json.encode(ManagedSitePage(tuple(map(managed_site_of, page.items)), next_cursor(call, page.next))))


async def read_site(assignments: AssignmentService, call: Call[None]) -> Answer:
    """Read a managed site."""
    return _site(await assignments.read(call.caller, GroupId(call.ids["securityGroupId"]), SubjectType.SITE))


async def assign_to_site(assignments: AssignmentService, call: Call[AssignmentBody]) -> Answer:
    """Assign to a managed site, or clear its assignment."""
    if call.query.get(DRY_RUN.name) == "true":
        return await _dry_run(assignments, call, _wanted(call, "securityGroupId", SubjectType.SITE))
    return _site(await assignments.assign(call.caller, _wanted(call, "securityGroupId", SubjectType.SITE)))


async def _dry_run(assignments: AssignmentService, call: Call[AssignmentBody], wanted: WantedAssignment) -> Answer:
    return listed(json.encode(dry_run_assignment(await assignments.dry_run(call.caller, wanted))))


def _filter(call: Call[None], subject_type: SubjectType) -> SubjectFilter:
    query = call.query
    return SubjectFilter(
        type=subject_type,
        is_assigned=query["assigned"] == "true" if "assigned" in query else None,
        template_id=TemplateId(UUID(query["templateId"])) if "templateId" in query else None,
        policy_id=PolicyId(UUID(query["policyId"])) if "policyId" in query else None,
        prefix=query.get("q"),
        metadata=_metadata(query),
    )


def _metadata(query: Mapping[str, str]) -> MetadataFilter | None:
    key, value = query.get(KEY.name), query.get(VALUE.name)
    if key is None and value is not None:
        raise Malformed("invalidParameter", "The query parameter metadataValue needs metadataKey.")
    return None if key is None else MetadataFilter(key, value)


def _wanted(call: Call[AssignmentBody], name: str, subject_type: SubjectType) -> WantedAssignment:
    order = to_assignment_order(call.body)
    return WantedAssignment(GroupId(call.ids[name]), subject_type, order, call.raw, edit_of(call))


def _group(record: SubjectRecord) -> Answer:
    return shown(json.encode(managed_group_of(record)), record.etag)


def _site(record: SubjectRecord) -> Answer:
    return shown(json.encode(managed_site_of(record)), record.etag)


_TAG = "Groups and sites"
_ASSIGNING = (
    "A field that is not sent stays as it is. The all-zero UUID clears a field, and `null` is invalid. An existing "
    "assignment is not written again. The answer follows when the assignment is durable. Its `effects` in the "
    "directory are steps of the request `assignmentRequestId`. With `?dryRun=true` nothing changes, and the answer "
    "shows the effects, the guests who would be removed, the findings that would be opened, and the shortfalls."
)
_ASSIGNMENT_EXAMPLE = {"templateId": "7e000000-0000-4000-8000-000000000021"}
ABOUT_LIST_GROUPS = About(
    id="listManagedGroups",
    tag=_TAG,
    summary="List groups by display name",
    description="All groups of the directory with their assignments, without the security groups of managed sites. New "
    "groups appear within half a minute.",
)
ABOUT_READ_GROUP = About(
    id="readManagedGroup",
    tag=_TAG,
    summary="Read a group with its assignment",
    description="The security group of a managed site has another path, which the answer names.",
)
ABOUT_ASSIGN_TO_GROUP = About(
    id="assignToGroup",
    tag=_TAG,
    summary="Assign a guest template or guest policy to a group",
    description=f"{_ASSIGNING} Any group of the directory can have an assignment.",
    example=_ASSIGNMENT_EXAMPLE,
)
ABOUT_LIST_SITES = About(
    id="listManagedSites",
    tag=_TAG,
    summary="List managed sites by display name",
    description="With their assignments. New sites appear within half a minute.",
)
ABOUT_READ_SITE = About(
    id="readManagedSite",
    tag=_TAG,
    summary="Read a managed site with its assignment",
    description="The id is that of the security group. A group without a site has another path, "
    "which the answer names.",
)
ABOUT_ASSIGN_TO_SITE = About(
    id="assignToSite",
    tag=_TAG,
    summary="Assign a guest template or guest policy to a managed site",
    description=f"{_ASSIGNING} The id is that of the security group, which carries the marks.",
    example=_ASSIGNMENT_EXAMPLE,
)
_ID = {"type": "string", "format": "uuid"}
FILTERS = (
    Parameter("assigned", {"type": "boolean"}, "Whether a guest template or policy is assigned."),
    Parameter("templateId", _ID, "Only subjects with this guest template."),
    Parameter("policyId", _ID, "Only subjects with this guest policy."),
    Parameter(
        "q",
        {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$"},
        "Only subjects whose display name starts with this text, in any letter case.",
    ),
    *PARAMETERS,
)
_TEXT = {"type": "string", "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"}
KEY = Parameter(
    "metadataKey", {**_TEXT, "minLength": 1, "maxLength": 128}, "Only groups that have this key in their metadata."
)
VALUE = Parameter(
    "metadataValue",
    {**_TEXT, "minLength": 0, "maxLength": 1024},
    "With `metadataKey`: only groups with exactly this value, and `true` or `false` for booleans.",
)
GROUP_FILTERS = (*FILTERS, KEY, VALUE)
VERSIONED = {**CACHE, "ETag": "The version of the assignment, for `If-Match`. It depends on the two ids only."}
GROUPS = (Success(200, "A page of groups.", ManagedGroupPage, CACHE, {"items": [GROUP_EXAMPLE], "nextCursor": None}),)
GROUP = (Success(200, "The group.", ManagedGroup, VERSIONED, GROUP_EXAMPLE),)
ASSIGNED_GROUP = (
    Success(200, "The group after the change, or the result of a dry run.", (ManagedGroup, DryRunAssignment),
            VERSIONED, GROUP_EXAMPLE),
)  # fmt: skip
SITES = (Success(200, "A page of sites.", ManagedSitePage, CACHE, {"items": [SITE_EXAMPLE], "nextCursor": None}),)
SITE = (Success(200, "The site.", ManagedSite, VERSIONED, SITE_EXAMPLE),)
ASSIGNED_SITE = (
    Success(200, "The site after the change, or the result of a dry run.", (ManagedSite, DryRunAssignment),
            VERSIONED, SITE_EXAMPLE),
)  # fmt: skip
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
READ_CODES = ("notAdministrator", "notFound")
ASSIGN_CODES = ("notAdministrator", "notFound", "etagStale", "notPossible")

# fmt: off
ENDPOINTS = EndpointTable(AssignmentService, (
    Endpoint("GET", "/admin/collab/v1/manage/groups/", list_groups, Operation.READ_MANAGED, ABOUT_LIST_GROUPS,
             GROUPS, parameters=GROUP_FILTERS, codes=LIST_CODES),
    Endpoint("GET", "/admin/collab/v1/manage/groups/{groupId}/", read_group, Operation.READ_MANAGED,
             ABOUT_READ_GROUP, GROUP, codes=READ_CODES),
    Endpoint("PATCH", "/admin/collab/v1/manage/groups/{groupId}/", assign_to_group, Operation.ASSIGN,
             ABOUT_ASSIGN_TO_GROUP, ASSIGNED_GROUP, shape=ASSIGNMENT, parameters=(DRY_RUN,), headers=(IF_MATCH,),
             codes=ASSIGN_CODES),
    Endpoint("GET", "/admin/collab/v1/manage/spo/", list_sites, Operation.READ_MANAGED, ABOUT_LIST_SITES,
             SITES, parameters=FILTERS, codes=LIST_CODES),
    Endpoint("GET", "/admin/collab/v1/manage/spo/{securityGroupId}/", read_site, Operation.READ_MANAGED,
             ABOUT_READ_SITE, SITE, codes=READ_CODES),
    Endpoint("PATCH", "/admin/collab/v1/manage/spo/{securityGroupId}/", assign_to_site, Operation.ASSIGN,
             ABOUT_ASSIGN_TO_SITE, ASSIGNED_SITE, shape=ASSIGNMENT, parameters=(DRY_RUN,), headers=(IF_MATCH,),
             codes=ASSIGN_CODES),
))
# fmt: on
