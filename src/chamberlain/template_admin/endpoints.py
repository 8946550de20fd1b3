"""Endpoints of mailbox templates, for administrators and requesters."""

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
from chamberlain.template_admin.documents import MAILBOX_TEMPLATE
from chamberlain.template_admin.models import TemplateRecord
from chamberlain.template_admin.service import TemplateService
from chamberlain.template_admin.wire import (
    MailboxTemplate,
    OfferedMailboxTemplate,
    mailbox_template_of,
    offered_mailbox_template_of,
)
from chamberlain.templates.rules import MAIL
from chamberlain.templates.schema import MailboxTemplateBody


class MailboxTemplatePage(Struct, rename="camel", frozen=True):
    """Some templates, newest first; `nextCursor` is null on the last page."""

    items: tuple[MailboxTemplate, ...]
    next_cursor: str | None


class OfferedMailboxTemplatePage(Struct, rename="camel", frozen=True):
    """Some templates, newest first; `nextCursor` is null on the last page."""

    items: tuple[OfferedMailboxTemplate, ...]
    next_cursor: str | None


async def list_(templates: TemplateService, call: Call[None]) -> Answer:
    """List templates, including inactive ones."""
    page = await templates.list(call.caller, page_wanted(call), area=MAIL)
    body = MailboxTemplatePage(tuple(map(mailbox_template_of, page.items)), next_cursor(call, page.next))
    return listed(json.encode(body))


async def create(templates: TemplateService, call: Call[MailboxTemplateBody]) -> Answer:
    """Create a template."""
    answer = await templates.create(call.caller, call.body, creating_act_of(call), _render, area=MAIL)
    return made(call.http, "/admin/mail/v1/templates/", answer)


async def read(templates: TemplateService, call: Call[None]) -> Answer:
    """Read a template."""
    return _shown(await templates.read(call.caller, TemplateId(call.ids["templateId"]), area=MAIL))


async def replace(templates: TemplateService, call: Call[MailboxTemplateBody]) -> Answer:
    """Replace a template."""
    template_id = TemplateId(call.ids["templateId"])
    return _shown(await templates.replace(call.caller, template_id, call.body, edit_of(call), area=MAIL))


async def delete(templates: TemplateService, call: Call[None]) -> Answer:
    """Delete a template."""
    await templates.delete(call.caller, TemplateId(call.ids["templateId"]), edit_of(call), area=MAIL)
    return removed()


async def offer(templates: TemplateService, call: Call[None]) -> Answer:
    """List the templates that the caller may use."""
    page = await templates.offer(call.caller, page_wanted(call), area=MAIL)
    items = tuple(map(offered_mailbox_template_of, page.items))
    body = OfferedMailboxTemplatePage(items, next_cursor(call, page.next))
    return listed(json.encode(body))


def _render(record: TemplateRecord) -> bytes:
    return json.encode(mailbox_template_of(record))


def _shown(record: TemplateRecord) -> Answer:
    return shown(_render(record), record.etag)


_TAG = "Mailbox templates"

ABOUT_LIST = About(
    id="listMailboxTemplates",
    tag=_TAG,
    summary="List mailbox templates, newest first",
    description="All of them, active or not. For administrators of the tenant.",
)
ABOUT_CREATE = About(
    id="createMailboxTemplate",
    tag=_TAG,
    summary="Create a mailbox template",
    description="An active template with `isDefault` becomes the default of its kind and takes that from the one that "
    f"was it. {ADDED} {SIGNING}",
    example={"kind": "room", "name": "Quiet room", "defaults": {"country": "Switzerland"}},
)
ABOUT_READ = About(id="readMailboxTemplate", tag=_TAG, summary="Read a mailbox template")
ABOUT_REPLACE = About(
    id="replaceMailboxTemplate",
    tag=_TAG,
    summary="Replace a mailbox template",
    description="The whole of it: what is not sent is what a new template would have. Its `kind` stays. Requests under "
    f"way keep the template that they were asked for with. {ADDED} {SIGNING}",
    example={"kind": "room", "name": "Quiet room", "active": False},
)
ABOUT_DELETE = About(
    id="deleteMailboxTemplate",
    tag=_TAG,
    summary="Delete a mailbox template",
    description="What was made with it stays, and requests under way go on.",
)
ABOUT_OFFER = About(
    id="listOfferedMailboxTemplates",
    tag="Mailboxes",
    summary="List the mailbox templates that one may use",
    description="Active ones of whose audience the caller is. No audience holds an application back.",
)

_OFFERED: Mapping[str, object] = {
    "id": "7e000000-0000-4000-8000-000000000003",
    "kind": "room",
    "name": "Room",
    "description": "Meeting rooms",
    "isDefault": True,
    "approvalRequired": False,
    "customFields": [],
}
_EXAMPLE: Mapping[str, object] = {
    "id": "7e000000-0000-4000-8000-000000000003",
    "kind": "room",
    "name": "Room",
    "description": "Meeting rooms",
    "active": True,
    "isDefault": True,
    "audience": {"users": [], "groups": ["94000000-0000-4000-8000-000000000001"]},
    "domain": "rooms.estate.example",
    "naming": {"address": "{input}"},
    "defaults": {"country": "Switzerland", "hideFromGAL": False},
    "customFields": [],
    "approval": None,
    "webhook": None,
    "createdAt": "2026-11-20T09:00:00.000Z",
    "createdBy": {"type": "system", "id": None, "displayName": "Example estate"},
    "updatedAt": "2026-11-20T09:00:00.000Z",
}
LISTED = (Success(200, "A page of templates.", MailboxTemplatePage, CACHE, {"items": [_EXAMPLE], "nextCursor": None}),)
CREATED = (
    making(MailboxTemplate, _EXAMPLE, {"template": link_to("readMailboxTemplate", "templateId", "The template.")}),
)
READ = (Success(200, "The template.", MailboxTemplate, VERSIONED, _EXAMPLE),)
REPLACED = (Success(200, "The template as it is now.", MailboxTemplate, VERSIONED, _EXAMPLE),)
DELETED = (Success(204, "It is gone."),)
OFFERED = (
    Success(200, "A page of templates.", OfferedMailboxTemplatePage, CACHE, {"items": [_OFFERED], "nextCursor": None}),
)
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
CREATE_CODES = ("notAdministrator", "notPossible", "idempotencyKeyReused", "idempotencyKeyInProgress", "overloaded")
READ_CODES = ("notAdministrator", "notFound")
REPLACE_CODES = ("notAdministrator", "notFound", "etagStale", "notPossible", "overloaded")
DELETE_CODES = ("notAdministrator", "notFound", "etagStale")

# fmt: off
ENDPOINTS = EndpointTable(TemplateService, (
    Endpoint("GET", "/mail/v1/templates/", offer, Operation.READ_MAILBOX_TEMPLATES,
             ABOUT_OFFER, OFFERED, parameters=PARAMETERS, codes=LIST_CODES),
    Endpoint("GET", "/admin/mail/v1/templates/", list_, Operation.ADMINISTER_MAIL,
             ABOUT_LIST, LISTED, parameters=PARAMETERS, codes=LIST_CODES),
    Endpoint("POST", "/admin/mail/v1/templates/", create, Operation.ADMINISTER_MAIL,
             ABOUT_CREATE, CREATED, shape=MAILBOX_TEMPLATE, codes=CREATE_CODES),
    Endpoint("GET", "/admin/mail/v1/templates/{templateId}/", read, Operation.ADMINISTER_MAIL,
             ABOUT_READ, READ, codes=READ_CODES),
    Endpoint("PUT", "/admin/mail/v1/templates/{templateId}/", replace, Operation.ADMINISTER_MAIL,
             ABOUT_REPLACE, REPLACED, shape=MAILBOX_TEMPLATE, headers=(IF_MATCH,), codes=REPLACE_CODES),
    Endpoint("DELETE", "/admin/mail/v1/templates/{templateId}/", delete, Operation.ADMINISTER_MAIL,
             ABOUT_DELETE, DELETED, headers=(IF_MATCH,), codes=DELETE_CODES),
))
# fmt: on
