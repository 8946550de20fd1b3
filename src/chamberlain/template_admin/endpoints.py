# SPDX-License-Identifier: Apache-2.0
"""Endpoints of templates, for administrators and requesters.

Mailbox templates and templates of groups, teams and guests have the same handlers. Requesters do not see templates of
guests.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec import Struct, json

from chamberlain.auth.permissions import Operation
from chamberlain.core.ids import TemplateId
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import PARAMETERS, next_cursor, page_wanted
from chamberlain.http.request import Call, creating_act_of
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
from chamberlain.http.responses import NO_STORE, Answer
from chamberlain.template_admin.documents import COLLAB_TEMPLATE, MAILBOX_TEMPLATE, CollabTemplateBody
from chamberlain.template_admin.models import COLLAB, MAIL, OfferedTemplate, TemplateArea, TemplateRecord
from chamberlain.template_admin.service import TemplateService
from chamberlain.template_admin.wire import (
    COLLAB_TEMPLATES,
    CollabTemplate,
    GroupTemplateForm,
    MailboxTemplate,
    MailboxTemplateForm,
    OfferedGroupTemplate,
    OfferedMailboxTemplate,
    encode_collab_template,
    encode_group_form,
    encode_mailbox_form,
    encode_mailbox_template,
    encode_offered_group_template,
    encode_offered_mailbox_template,
)
from chamberlain.templates.schema import MailboxTemplateBody


class MailboxTemplatePage(Struct, rename="camel", frozen=True):
    """A page of templates, newest first.

    `nextCursor` is null on the last page.
    """

    items: tuple[MailboxTemplate, ...]
    next_cursor: str | None


class OfferedMailboxTemplatePage(Struct, rename="camel", frozen=True):
    """A page of templates, newest first.

    `nextCursor` is null on the last page.
    """

    items: tuple[OfferedMailboxTemplate, ...]
    next_cursor: str | None


class CollabTemplatePage(Struct, rename="camel", frozen=True):
    """A page of templates, newest first.

    `nextCursor` is null on the last page.
    """

    items: tuple[CollabTemplate, ...]
    next_cursor: str | None


class OfferedGroupTemplatePage(Struct, rename="camel", frozen=True):
    """A page of templates, newest first.

    `nextCursor` is null on the last page.
    """

    items: tuple[OfferedGroupTemplate, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class TemplateHandlers:
    """The handlers of one area.

    `encode` is for administrators, `encode_offered` and `encode_form` are for requesters.
    """

    area: TemplateArea
    path: str
    encode: Callable[[TemplateRecord], object]
    encode_offered: Callable[[TemplateRecord], object]
    encode_form: Callable[[OfferedTemplate], object]

    async def list_(self, templates: TemplateService, call: Call[None]) -> Answer:
        """List templates, including inactive ones."""
        page = await templates.list(call.caller, page_wanted(call), area=self.area)
        items = list(map(self.encode, page.items))
        return listed(json.encode({"items": items, "nextCursor": next_cursor(call, page.next)}))

    async def create(self, templates: TemplateService, call: Call[MailboxTemplateBody | CollabTemplateBody]) -> Answer:
        """Create a template."""
        answer = await templates.create(call.caller, call.body, creating_act_of(call), self._render, area=self.area)
        return made(call.http, self.path, answer)

    async def read(self, templates: TemplateService, call: Call[None]) -> Answer:
        """Read a template."""
        return self._shown(await templates.read(call.caller, TemplateId(call.ids["templateId"]), area=self.area))

    async def replace(self, templates: TemplateService, call: Call[MailboxTemplateBody | CollabTemplateBody]) -> Answer:
        """Replace a template."""
        template_id = TemplateId(call.ids["templateId"])
        return self._shown(await templates.replace(call.caller, template_id, call.body, edit_of(call), area=self.area))

    async def delete(self, templates: TemplateService, call: Call[None]) -> Answer:
        """Delete a template."""
        await templates.delete(call.caller, TemplateId(call.ids["templateId"]), edit_of(call), area=self.area)
        return removed()

    async def offer(self, templates: TemplateService, call: Call[None]) -> Answer:
        """List the templates that the caller may use."""
        page = await templates.offer(call.caller, page_wanted(call), area=self.area)
        items = list(map(self.encode_offered, page.items))
        return listed(json.encode({"items": items, "nextCursor": next_cursor(call, page.next)}))

    async def read_offered(self, templates: TemplateService, call: Call[None]) -> Answer:
        """Read a template that the caller may use."""
        offered = await templates.read_offered(call.caller, TemplateId(call.ids["templateId"]), area=self.area)
        return Answer(200, json.encode(self.encode_form(offered)), (NO_STORE,))

    def _render(self, record: TemplateRecord) -> bytes:
        return json.encode(self.encode(record))

    def _shown(self, record: TemplateRecord) -> Answer:
        return shown(self._render(record), record.etag)


MAILBOX_HANDLERS = TemplateHandlers(
    MAIL, "/admin/mail/v1/templates/", encode_mailbox_template, encode_offered_mailbox_template, encode_mailbox_form
)
COLLAB_HANDLERS = TemplateHandlers(
    COLLAB, "/admin/collab/v1/templates/", encode_collab_template, encode_offered_group_template, encode_group_form
)

_MAILBOX_TAG = "Mailbox templates"

MAILBOX_ABOUT_LIST = About(
    id="listMailboxTemplates",
    tag=_MAILBOX_TAG,
    summary="List mailbox templates, newest first",
    description="Lists active and inactive templates. For administrators of the tenant.",
)
MAILBOX_ABOUT_CREATE = About(
    id="createMailboxTemplate",
    tag=_MAILBOX_TAG,
    summary="Create a mailbox template",
    description=f"An active template with `isDefault` replaces the default template of its kind. {ADDED} {SIGNING}",
    example={"kind": "room", "name": "Quiet room", "defaults": {"country": "Switzerland"}},
)
MAILBOX_ABOUT_READ = About(id="readMailboxTemplate", tag=_MAILBOX_TAG, summary="Read a mailbox template")
MAILBOX_ABOUT_REPLACE = About(
    id="replaceMailboxTemplate",
    tag=_MAILBOX_TAG,
    summary="Replace a mailbox template",
    description="A property that is not sent gets the value that it has in a new template. The `kind` cannot change. "
    f"Running requests keep the template revision that they were made with. {ADDED} {SIGNING}",
    example={"kind": "room", "name": "Quiet room", "active": False},
)
MAILBOX_ABOUT_DELETE = About(
    id="deleteMailboxTemplate",
    tag=_MAILBOX_TAG,
    summary="Delete a mailbox template",
    description="Mailboxes that were created with it stay, and running requests continue.",
)
MAILBOX_ABOUT_OFFER = About(
    id="listOfferedMailboxTemplates",
    tag="Mailboxes",
    summary="List the mailbox templates that you may use",
    description="Lists active templates whose audience includes the caller. Audiences do not restrict applications.",
)
MAILBOX_ABOUT_READ_OFFERED = About(
    id="readOfferedMailboxTemplate",
    tag="Mailboxes",
    summary="Read a mailbox template that you may use",
    description="Returns all that a form for a request needs: custom fields with their choices and defaults, the "
    "default properties, the domains, and whether a naming rule or an approval applies. Audiences do not restrict "
    "applications.",
)

_MAILBOX_OFFERED: Mapping[str, object] = {
    "id": "7e000000-0000-4000-8000-000000000003",
    "kind": "room",
    "name": "Room",
    "description": "Meeting rooms",
    "isDefault": True,
    "approvalRequired": False,
    "customFields": [],
}
_MAILBOX_FORM: Mapping[str, object] = {
    "id": "7e000000-0000-4000-8000-000000000003",
    "kind": "room",
    "name": "Room",
    "description": "Meeting rooms",
    "isDefault": True,
    "approvalRequired": False,
    "nameFollowsRule": False,
    "addressFollowsRule": False,
    "domain": "rooms.estate.example",
    "domains": ["estate.example", "rooms.estate.example"],
    "defaults": {"country": "Switzerland", "metadata": {"el-choice-1": "quiet"}},
    "customFields": [
        {
            "key": "el-choice-1",
            "label": "Equipped for",
            "type": "choice",
            "required": True,
            "default": "quiet",
            "choices": [{"value": "quiet", "label": "Quiet work"}, {"value": "calls", "label": "Calls"}],
        }
    ],
}
_MAILBOX_EXAMPLE: Mapping[str, object] = {
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
MAILBOX_LISTED = (
    Success(200, "A page of templates.", MailboxTemplatePage, CACHE, {"items": [_MAILBOX_EXAMPLE], "nextCursor": None}),
)
MAILBOX_CREATED = (
    making(
        MailboxTemplate, _MAILBOX_EXAMPLE, {"template": link_to("readMailboxTemplate", "templateId", "The template.")}
    ),
)
MAILBOX_READ = (Success(200, "The template.", MailboxTemplate, VERSIONED, _MAILBOX_EXAMPLE),)
MAILBOX_REPLACED = (Success(200, "The new version of the template.", MailboxTemplate, VERSIONED, _MAILBOX_EXAMPLE),)
DELETED = (Success(204, "The template is deleted."),)
MAILBOX_OFFERED = (
    Success(
        200,
        "A page of templates.",
        OfferedMailboxTemplatePage,
        CACHE,
        {"items": [_MAILBOX_OFFERED], "nextCursor": None},
    ),
)
MAILBOX_READ_OFFERED = (Success(200, "The template.", MailboxTemplateForm, CACHE, _MAILBOX_FORM),)
READ_OFFERED_CODES = ("templateNotAllowed", "notAdministrator", "notFound", "databaseUnavailable", "overloaded")
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
CREATE_CODES = ("notAdministrator", "notPossible", "idempotencyKeyReused", "idempotencyKeyInProgress", "overloaded")
READ_CODES = ("notAdministrator", "notFound")
REPLACE_CODES = ("notAdministrator", "notFound", "etagStale", "notPossible", "overloaded")
MAILBOX_DELETE_CODES = ("notAdministrator", "notFound", "etagStale")

_COLLAB_TAG = "Templates of groups, teams and guests"

COLLAB_ABOUT_LIST = About(
    id="listCollabTemplates",
    tag=_COLLAB_TAG,
    summary="List templates of groups, teams and guests, newest first",
    description="Lists active and inactive templates. For administrators of the tenant.",
)
COLLAB_ABOUT_CREATE = About(
    id="createCollabTemplate",
    tag=_COLLAB_TAG,
    summary="Create a template of a group, a team or guests",
    description="`kind` decides which properties the template has. The users, groups and label that it names must "
    f"exist. A guest template or a guest policy that it names must be active. {ADDED} {SIGNING}",
    example={"kind": "team", "name": "Customer team", "naming": {"displayName": "CU-{input}"}, "channels": ["General"]},
)
COLLAB_ABOUT_READ = About(
    id="readCollabTemplate", tag=_COLLAB_TAG, summary="Read a template of a group, a team or guests"
)
COLLAB_ABOUT_REPLACE = About(
    id="replaceCollabTemplate",
    tag=_COLLAB_TAG,
    summary="Replace a template of a group, a team or guests",
    description="A property that is not sent gets the value that it has in a new template. The `kind` cannot change. "
    "Running requests keep the template revision that they were made with. An inactive guest template stays assigned, "
    f"and cannot be assigned again. {ADDED} {SIGNING}",
    example={"kind": "team", "name": "Customer team", "active": False},
)
COLLAB_ABOUT_DELETE = About(
    id="deleteCollabTemplate",
    tag=_COLLAB_TAG,
    summary="Delete a template of a group, a team or guests",
    description="Groups and teams that were created with it stay, and running requests continue. A guest template that "
    "is assigned to a group or site, or that a template of a group or team names, cannot be deleted. `conflictingId` "
    "is that template.",
)
COLLAB_ABOUT_OFFER = About(
    id="listOfferedGroupTemplates",
    tag="Groups and teams",
    summary="List the templates of groups and teams that you may use",
    description="Lists active templates whose audience includes the caller.",
)
COLLAB_ABOUT_READ_OFFERED = About(
    id="readOfferedGroupTemplate",
    tag="Groups and teams",
    summary="Read a template of a group or team that you may use",
    description="Returns all that a form for a request needs: custom fields with their choices, the sensitivity "
    "labels, the domain, and whether a naming rule or an approval applies.",
)

_FIELD: Mapping[str, object] = {"key": "el-text-1", "label": "Customer", "type": "text", "required": False}
_COLLAB_OFFERED: Mapping[str, object] = {
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
_COLLAB_FORM: Mapping[str, object] = {
    "id": "7e000000-0000-4000-8000-000000000013",
    "kind": "team",
    "name": "Confidential team",
    "description": "",
    "isDefault": False,
    "approvalRequired": True,
    "nameFollowsRule": True,
    "addressFollowsRule": True,
    "domain": "estate.example",
    "domains": ["estate.example"],
    "memberShipType": 0,
    "memberShipTypeChangeable": True,
    "minimumOwners": 1,
    "labelId": None,
    "labels": [{"id": "1abe1000-0000-4000-8000-000000000001", "displayName": "Internal", "description": None}],
    "customFields": [{**_FIELD, "default": None}],
}
_COLLAB_EXAMPLE: Mapping[str, object] = {
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

COLLAB_LISTED = (
    Success(200, "A page of templates.", CollabTemplatePage, CACHE, {"items": [_COLLAB_EXAMPLE], "nextCursor": None}),
)
COLLAB_CREATED = (
    making(
        COLLAB_TEMPLATES, _COLLAB_EXAMPLE, {"template": link_to("readCollabTemplate", "templateId", "The template.")}
    ),
)
COLLAB_READ = (Success(200, "The template.", COLLAB_TEMPLATES, VERSIONED, _COLLAB_EXAMPLE),)
COLLAB_REPLACED = (Success(200, "The new version of the template.", COLLAB_TEMPLATES, VERSIONED, _COLLAB_EXAMPLE),)
COLLAB_OFFERED = (
    Success(
        200, "A page of templates.", OfferedGroupTemplatePage, CACHE, {"items": [_COLLAB_OFFERED], "nextCursor": None}
    ),
)
COLLAB_READ_OFFERED = (Success(200, "The template.", GroupTemplateForm, CACHE, _COLLAB_FORM),)
COLLAB_DELETE_CODES = ("notAdministrator", "notFound", "etagStale", "inUse")

# fmt: off
ENDPOINTS = EndpointTable(TemplateService, (
    Endpoint("GET", "/mail/v1/templates/", MAILBOX_HANDLERS.offer, Operation.READ_MAILBOX_TEMPLATES,
             MAILBOX_ABOUT_OFFER, MAILBOX_OFFERED, parameters=PARAMETERS, codes=LIST_CODES),
    Endpoint("GET", "/mail/v1/templates/{templateId}/", MAILBOX_HANDLERS.read_offered,
             Operation.READ_MAILBOX_TEMPLATES, MAILBOX_ABOUT_READ_OFFERED, MAILBOX_READ_OFFERED,
             codes=READ_OFFERED_CODES),
    Endpoint("GET", "/admin/mail/v1/templates/", MAILBOX_HANDLERS.list_, Operation.ADMINISTER_MAIL,
             MAILBOX_ABOUT_LIST, MAILBOX_LISTED, parameters=PARAMETERS, codes=LIST_CODES),
    Endpoint("POST", "/admin/mail/v1/templates/", MAILBOX_HANDLERS.create, Operation.ADMINISTER_MAIL,
             MAILBOX_ABOUT_CREATE, MAILBOX_CREATED, shape=MAILBOX_TEMPLATE, codes=CREATE_CODES),
    Endpoint("GET", "/admin/mail/v1/templates/{templateId}/", MAILBOX_HANDLERS.read, Operation.ADMINISTER_MAIL,
             MAILBOX_ABOUT_READ, MAILBOX_READ, codes=READ_CODES),
    Endpoint("PUT", "/admin/mail/v1/templates/{templateId}/", MAILBOX_HANDLERS.replace, Operation.ADMINISTER_MAIL,
             MAILBOX_ABOUT_REPLACE, MAILBOX_REPLACED, shape=MAILBOX_TEMPLATE, headers=(IF_MATCH,), codes=REPLACE_CODES),
    Endpoint("DELETE", "/admin/mail/v1/templates/{templateId}/", MAILBOX_HANDLERS.delete, Operation.ADMINISTER_MAIL,
             MAILBOX_ABOUT_DELETE, DELETED, headers=(IF_MATCH,), codes=MAILBOX_DELETE_CODES),
    Endpoint("GET", "/collab/v1/templates/", COLLAB_HANDLERS.offer, Operation.READ_COLLAB_TEMPLATES,
             COLLAB_ABOUT_OFFER, COLLAB_OFFERED, parameters=PARAMETERS, codes=LIST_CODES),
    Endpoint("GET", "/collab/v1/templates/{templateId}/", COLLAB_HANDLERS.read_offered,
             Operation.READ_COLLAB_TEMPLATES, COLLAB_ABOUT_READ_OFFERED, COLLAB_READ_OFFERED,
             codes=READ_OFFERED_CODES),
    Endpoint("GET", "/admin/collab/v1/templates/", COLLAB_HANDLERS.list_, Operation.ADMINISTER_COLLAB,
             COLLAB_ABOUT_LIST, COLLAB_LISTED, parameters=PARAMETERS, codes=LIST_CODES),
    Endpoint("POST", "/admin/collab/v1/templates/", COLLAB_HANDLERS.create, Operation.ADMINISTER_COLLAB,
             COLLAB_ABOUT_CREATE, COLLAB_CREATED, shape=COLLAB_TEMPLATE, codes=CREATE_CODES),
    Endpoint("GET", "/admin/collab/v1/templates/{templateId}/", COLLAB_HANDLERS.read, Operation.ADMINISTER_COLLAB,
             COLLAB_ABOUT_READ, COLLAB_READ, codes=READ_CODES),
    Endpoint("PUT", "/admin/collab/v1/templates/{templateId}/", COLLAB_HANDLERS.replace, Operation.ADMINISTER_COLLAB,
             COLLAB_ABOUT_REPLACE, COLLAB_REPLACED, shape=COLLAB_TEMPLATE, headers=(IF_MATCH,), codes=REPLACE_CODES),
    Endpoint("DELETE", "/admin/collab/v1/templates/{templateId}/", COLLAB_HANDLERS.delete,
             Operation.ADMINISTER_COLLAB, COLLAB_ABOUT_DELETE, DELETED, headers=(IF_MATCH,), codes=COLLAB_DELETE_CODES),
))
# fmt: on
