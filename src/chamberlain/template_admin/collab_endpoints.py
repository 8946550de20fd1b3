"""Endpoints of templates of groups, teams and guests.

Requesters see templates of groups and teams only.
"""

from collections.abc import Mapping

from msgspec import Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.core.ids import TemplateId
from chamberlain.http.calls import Answer
from chamberlain.http.context import Call
from chamberlain.http.paging import PARAMETERS, next_cursor, page_wanted
from chamberlain.http.resource import (
    ADDED,
    CACHE,
    IF_MATCH,
    SIGNING,
    VERSIONED,
    edit_of,
    link_to,
    listed,
    made,
    making,
    removed,
    shown,
)
from chamberlain.http.router import About, Endpoint, EndpointTable, Success
from chamberlain.http.submission import creating_act_of
from chamberlain.template_admin.documents import COLLAB_TEMPLATE, CollabTemplateBody
from chamberlain.template_admin.models import TemplateRecord
from chamberlain.template_admin.service import TemplateService
from chamberlain.template_admin.wire import (
    COLLAB_TEMPLATES,
    CollabTemplate,
    OfferedGroupTemplate,
    offered_group_template_of,
    written_collab_template,
)
from chamberlain.templates.rules import COLLAB


class CollabTemplatePage(Struct, rename="camel", frozen=True):
    """Some templates, newest first; `nextCursor` is null on the last page."""

    items: tuple[CollabTemplate, ...]
    next_cursor: str | None


class OfferedGroupTemplatePage(Struct, rename="camel", frozen=True):
    """Some templates, newest first; `nextCursor` is null on the last page."""

    items: tuple[OfferedGroupTemplate, ...]
    next_cursor: str | None


async def list_(templates: TemplateService, call: Call[None]) -> Answer:
    """List templates, including inactive ones."""
    page = await templates.list(call.caller, page_wanted(call), area=COLLAB)
    items = list(map(written_collab_template, page.items))
    return listed(json.encode({"items": items, "nextCursor": next_cursor(call, page.next)}))


async def create(templates: TemplateService, call: Call[CollabTemplateBody]) -> Answer:
    """Create a template."""
    answer = await templates.create(call.caller, call.body, creating_act_of(call), _render, area=COLLAB)
    return made(call.http, "/admin/collab/v1/templates/", answer)


async def read(templates: TemplateService, call: Call[None]) -> Answer:
    """Read a template."""
    return _shown(await templates.read(call.caller, TemplateId(call.ids["templateId"]), area=COLLAB))


async def replace(templates: TemplateService, call: Call[CollabTemplateBody]) -> Answer:
    """Replace a template."""
    template_id = TemplateId(call.ids["templateId"])
    return _shown(await templates.replace(call.caller, template_id, call.body, edit_of(call), area=COLLAB))


async def delete(templates: TemplateService, call: Call[None]) -> Answer:
    """Delete a template."""
    await templates.delete(call.caller, TemplateId(call.ids["templateId"]), edit_of(call), area=COLLAB)
    return removed()


async def offer(templates: TemplateService, call: Call[None]) -> Answer:
    """List the templates that the caller may use."""
    page = await templates.offer(call.caller, page_wanted(call), area=COLLAB)
    items = tuple(map(offered_group_template_of, page.items))
    return listed(json.encode(OfferedGroupTemplatePage(items, next_cursor(call, page.next))))


def _render(record: TemplateRecord) -> bytes:
    return json.encode(written_collab_template(record))


def _shown(record: TemplateRecord) -> Answer:
    return shown(_render(record), record.etag)


_TAG = "Templates of groups, teams and guests"

ABOUT_LIST = About(
    id="listCollabTemplates",
    tag=_TAG,
    summary="List templates of groups, teams and guests, newest first",
    description="All of them, active or not. For administrators of the tenant.",
)
ABOUT_CREATE = About(
    id="createCollabTemplate",
    tag=_TAG,
    summary="Create a template of a group, a team or guests",
    description="`kind` says what it is, and which other properties there are. Whom and what it names must exist; a "
    f"guest template and a guest policy that it names must be active. {ADDED} {SIGNING}",
    example={"kind": "team", "name": "Customer team", "naming": {"displayName": "CU-{input}"}, "channels": ["General"]},
)
ABOUT_READ = About(id="readCollabTemplate", tag=_TAG, summary="Read a template of a group, a team or guests")
ABOUT_REPLACE = About(
    id="replaceCollabTemplate",
    tag=_TAG,
    summary="Replace a template of a group, a team or guests",
    description="The whole of it: what is not sent is what a new template would have. Its `kind` stays. Requests under "
    "way keep the template that they were asked for with. A guest template that is not active stays assigned where it "
    f"is, and cannot be assigned any more. {ADDED} {SIGNING}",
    example={"kind": "team", "name": "Customer team", "active": False},
)
ABOUT_DELETE = About(
    id="deleteCollabTemplate",
    tag=_TAG,
    summary="Delete a template of a group, a team or guests",
    description="What was made with it stays, and requests under way go on. A guest template that is assigned to a "
    "group or site, or that a template of a group or team names, is not deleted; `conflictingId` is that template.",
)
ABOUT_OFFER = About(
    id="listOfferedGroupTemplates",
    tag="Groups and teams",
    summary="List the templates of groups and teams that one may use",
    description="Active ones of whose audience the caller is.",
)

_FIELD: Mapping[str, object] = {"key": "el-text-1", "label": "Customer", "type": "text", "required": False}
_OFFERED: Mapping[str, object] = {
    "id": "7e000000-0000-4000-8000-000000000013",
    "kind": "team",
    "name": "Confidential team",
    "description": "",
    "isDefault": False,
    "approvalRequired": True,
    "memberShipType": 0,
    "memberShipTypeChangeable": True,
    "minimumOwners": 1,
    "customFields": [_FIELD],
}
_EXAMPLE: Mapping[str, object] = {
    "kind": "team",
    "id": "7e000000-0000-4000-8000-000000000013",
    "name": "Confidential team",
    "description": "",
    "active": True,
    "audience": None,
    "naming": {"displayName": "CONF-{input}", "mailNickname": "conf-{input}"},
    "memberShipType": 0,
    "memberShipTypeChangeable": True,
    "membershipRule": None,
    "owners": [],
    "members": [],
    "minimumOwners": 1,
    "customFields": [_FIELD],
    "labelId": None,
    "guestTemplateId": None,
    "guestPolicyId": None,
    "approval": {
        "levels": [
            {"mode": "any", "approvers": [{"type": "user", "id": "da7a0000-0000-4000-8000-000000000004"}]},
        ],
        "deadlineDays": 14,
    },
    "webhook": {
        "url": "https://hooks.estate.example/chamberlain",
        "active": True,
        "hasSecret": True,
        "disabledReason": None,
    },
    "createdAt": "2026-11-20T09:00:00.000Z",
    "createdBy": {"type": "system", "id": None, "displayName": "Example estate"},
    "updatedAt": "2026-11-20T09:00:00.000Z",
    "channels": ["General", "Planning"],
}

LISTED = (Success(200, "A page of templates.", CollabTemplatePage, CACHE, {"items": [_EXAMPLE], "nextCursor": None}),)
CREATED = (
    making(COLLAB_TEMPLATES, _EXAMPLE, {"template": link_to("readCollabTemplate", "templateId", "The template.")}),
)
READ = (Success(200, "The template.", COLLAB_TEMPLATES, VERSIONED, _EXAMPLE),)
REPLACED = (Success(200, "The template as it is now.", COLLAB_TEMPLATES, VERSIONED, _EXAMPLE),)
DELETED = (Success(204, "It is gone."),)
OFFERED = (
    Success(200, "A page of templates.", OfferedGroupTemplatePage, CACHE, {"items": [_OFFERED], "nextCursor": None}),
)
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
CREATE_CODES = ("notAdministrator", "notPossible", "idempotencyKeyReused", "idempotencyKeyInProgress", "overloaded")
READ_CODES = ("notAdministrator", "notFound")
REPLACE_CODES = ("notAdministrator", "notFound", "etagStale", "notPossible", "overloaded")
DELETE_CODES = ("notAdministrator", "notFound", "etagStale", "inUse")

# fmt: off
ENDPOINTS = EndpointTable(TemplateService, (
    Endpoint("GET", "/collab/v1/templates/", offer, Operation.READ_COLLAB_TEMPLATES,
             ABOUT_OFFER, OFFERED, parameters=PARAMETERS, codes=LIST_CODES),
    Endpoint("GET", "/admin/collab/v1/templates/", list_, Operation.ADMINISTER_COLLAB,
             ABOUT_LIST, LISTED, parameters=PARAMETERS, codes=LIST_CODES),
    Endpoint("POST", "/admin/collab/v1/templates/", create, Operation.ADMINISTER_COLLAB,
             ABOUT_CREATE, CREATED, shape=COLLAB_TEMPLATE, codes=CREATE_CODES),
    Endpoint("GET", "/admin/collab/v1/templates/{templateId}/", read, Operation.ADMINISTER_COLLAB,
             ABOUT_READ, READ, codes=READ_CODES),
    Endpoint("PUT", "/admin/collab/v1/templates/{templateId}/", replace, Operation.ADMINISTER_COLLAB,
             ABOUT_REPLACE, REPLACED, shape=COLLAB_TEMPLATE, headers=(IF_MATCH,), codes=REPLACE_CODES),
    Endpoint("DELETE", "/admin/collab/v1/templates/{templateId}/", delete,
             Operation.ADMINISTER_COLLAB, ABOUT_DELETE, DELETED, headers=(IF_MATCH,), codes=DELETE_CODES),
))
# fmt: on
