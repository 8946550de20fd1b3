# SPDX-License-Identifier: Apache-2.0
"""Endpoints of adoptions: preview, confirm, list, read and undo."""

from collections.abc import Mapping

from msgspec import json

from chamberlain.adoptions.models import AdoptionView
from chamberlain.adoptions.schema import ADOPTION, AdoptionBody, require_digest, to_adoption_rule
from chamberlain.adoptions.service import AdoptionService
from chamberlain.adoptions.wire import (
    AdoptionPage,
    AdoptionPreview,
    WholeAdoption,
    adoption_of,
    build_preview,
    whole_adoption_of,
)
from chamberlain.auth.permissions import Operation
from chamberlain.core.ids import AdoptionId
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import PARAMETERS, next_cursor, page_wanted
from chamberlain.http.request import ACTION, ActionBody, Call, act_of, creating_act_of
from chamberlain.http.resource import CACHE, acted, link_to
from chamberlain.http.responses import NO_STORE, Answer
from chamberlain.requests.wire import DRY_RUN


async def create(adoptions: AdoptionService, call: Call[AdoptionBody]) -> Answer:
    """Preview a rule, or confirm a preview."""
    rule = to_adoption_rule(call.body)
    if call.query.get(DRY_RUN.name) == "true":
        preview = await adoptions.preview(call.caller, rule)
        return Answer(200, json.encode(build_preview(preview)), (NO_STORE,))
    digest, act = require_digest(call.body), creating_act_of(call)
    answer = await adoptions.confirm(call.caller, rule, digest, act, _render)
    # The body is our own rendering, so it has an id.
    adoption_id = str(json.decode(answer.body)["id"])
    location = f"{call.http.addresses.base_url}/admin/v1/adoptions/{adoption_id}/".encode("ascii")
    return Answer(202, answer.body, (*acted(answer).headers, (b"location", location)))


async def list_(adoptions: AdoptionService, call: Call[None]) -> Answer:
    """List adoptions."""
    page = await adoptions.list(call.caller, page_wanted(call))
    body = AdoptionPage(tuple(map(adoption_of, page.items)), next_cursor(call, page.next))
    return Answer(200, json.encode(body), (NO_STORE,))


async def read(adoptions: AdoptionService, call: Call[None]) -> Answer:
    """Read an adoption with its refused items."""
    view = await adoptions.read(call.caller, AdoptionId(call.ids["adoptionId"]))
    return Answer(200, _render(view), (NO_STORE,))


async def undo(adoptions: AdoptionService, call: Call[ActionBody]) -> Answer:
    """Undo an adoption."""
    adoption_id = AdoptionId(call.ids["adoptionId"])
    answer = await adoptions.undo(call.caller, adoption_id, act_of(call), _render)
    return Answer(202, answer.body, acted(answer).headers)


def _render(view: AdoptionView) -> bytes:
    return json.encode(whole_adoption_of(view))


_TAG = "Adoption"
_EXAMPLE: Mapping[str, object] = {
    "id": "ad0b7000-0000-4000-8000-000000000001",
    "kind": "room",
    "template": {"id": "7e000000-0000-4000-8000-000000000003", "name": "Room"},
    "filter": {"q": None, "domain": "rooms.estate.example", "ids": None},
    "state": "running",
    "counts": {"total": 12, "adopted": 0, "refused": 0, "released": 0},
    "createdAt": "2026-11-20T09:30:00.000Z",
    "createdBy": {"type": "user", "id": "ada00000-0000-4000-8000-000000000001", "displayName": "Ada Achterberg"},
    "updatedAt": "2026-11-20T09:30:00.000Z",
    "finishedAt": None,
}
_WHOLE: Mapping[str, object] = {**_EXAMPLE, "refused": []}
_SHOWN: Mapping[str, object] = {
    "dryRun": True,
    "kind": "room",
    "template": {"id": "7e000000-0000-4000-8000-000000000003", "name": "Room"},
    "filter": {"q": None, "domain": "rooms.estate.example", "ids": None},
    "digest": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "counts": {"taken": 1, "conflicts": {"alreadyManaged": 1}},
    "taken": [
        {
            "id": "5b1f0a52-7a0e-4f0b-8a55-0f6f5b7f2f21",
            "displayName": "Room Bern",
            "mail": "bern@rooms.estate.example",
            "differences": ["setBooking"],
        }
    ],
    "conflicts": [
        {
            "id": "5b1f0a52-7a0e-4f0b-8a55-0f6f5b7f2f22",
            "displayName": "Room Zürich",
            "mail": "zurich@rooms.estate.example",
            "code": "alreadyManaged",
            "detail": "It has the mark of a request and is managed already.",
        }
    ],
}
ABOUT_CREATE = About(
    id="createAdoption",
    tag=_TAG,
    summary="Adopt existing mailboxes or groups",
    description="Send it with `?dryRun=true` first: the preview shows the objects to adopt, and the conflicts of "
    "others. Without it the same rule is confirmed. `digest` is that of the preview. If the preview has changed, the "
    "answer is 409 `previewChanged`. Marks and records are written page by page. The mark is the only change in the "
    "directory. Differences from the template are drift, which the next check repairs if the tenant's settings say "
    "so.",
    example={
        "kind": "room",
        "templateId": "7e000000-0000-4000-8000-000000000003",
        "filter": {"domain": "rooms.estate.example"},
        "digest": _SHOWN["digest"],
    },
)
ABOUT_LIST = About(
    id="listAdoptions",
    tag=_TAG,
    summary="List adoptions, newest first",
    description="Including those that were undone.",
)
ABOUT_READ = About(
    id="readAdoption",
    tag=_TAG,
    summary="Read an adoption",
    description="With its progress and the first hundred refused objects.",
)
ABOUT_UNDO = About(
    id="undoAdoption",
    tag=_TAG,
    summary="Undo an adoption",
    description="Removes the marks and records, even while the adoption is running. Names and addresses are free then. "
    "The directory is not changed otherwise. The body may be left out.",
    example={"comment": "The wrong template."},
)
_KEPT: Mapping[str, str] = {
    **CACHE,
    "Idempotency-Replayed": "`true` if this is the answer to an earlier call with the same key.",
}
PREVIEWED = Success(200, "The preview, requested by `?dryRun=true`.", AdoptionPreview, CACHE, _SHOWN)
CONFIRMED = Success(
    202,
    "The adoption is confirmed and will run.",
    WholeAdoption,
    {**_KEPT, "Location": "The path of the adoption."},
    _WHOLE,
    {"adoption": link_to("readAdoption", "adoptionId", "The adoption with its progress.")},
)
LISTED = (Success(200, "A page of adoptions.", AdoptionPage, CACHE, {"items": [_EXAMPLE], "nextCursor": None}),)
READ = (Success(200, "The adoption.", WholeAdoption, CACHE, _WHOLE),)
UNDONE = (Success(202, "It is being undone.", WholeAdoption, _KEPT, {**_WHOLE, "state": "undoing"}),)
CREATE_CODES = (
    "notAdministrator", "notPossible", "previewChanged", "idempotencyKeyReused", "idempotencyKeyInProgress",
    "databaseUnavailable", "overloaded",
)  # fmt: skip
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
READ_CODES = ("notAdministrator", "notFound", "databaseUnavailable", "overloaded")
UNDO_CODES = (
    "notAdministrator", "notFound", "stateDoesNotAllow", "idempotencyKeyReused", "idempotencyKeyInProgress",
    "databaseUnavailable", "overloaded",
)  # fmt: skip

# fmt: off
ENDPOINTS = EndpointTable(AdoptionService, (
    Endpoint("POST", "/admin/v1/adoptions/", create, Operation.ADMINISTER_SERVICE, ABOUT_CREATE,
             (PREVIEWED, CONFIRMED), shape=ADOPTION, parameters=(DRY_RUN,), codes=CREATE_CODES),
    Endpoint("GET", "/admin/v1/adoptions/", list_, Operation.ADMINISTER_SERVICE, ABOUT_LIST,
             LISTED, parameters=PARAMETERS, codes=LIST_CODES),
    Endpoint("GET", "/admin/v1/adoptions/{adoptionId}/", read, Operation.ADMINISTER_SERVICE,
             ABOUT_READ, READ, codes=READ_CODES),
    Endpoint("POST", "/admin/v1/adoptions/{adoptionId}/undo/", undo, Operation.ADMINISTER_SERVICE,
             ABOUT_UNDO, UNDONE, shape=ACTION, codes=UNDO_CODES, body_is_optional=True),
))
# fmt: on
