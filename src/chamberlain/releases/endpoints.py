# SPDX-License-Identifier: Apache-2.0
"""Endpoints of releases: preview, start, list and read."""

from collections.abc import Mapping

from msgspec import json

from chamberlain.auth.permissions import Operation
from chamberlain.core.ids import ReleaseId
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import PARAMETERS, next_cursor, page_wanted
from chamberlain.http.request import Call, act_of
from chamberlain.http.resource import CACHE, acted, link_to
from chamberlain.http.responses import NO_STORE, Answer
from chamberlain.releases.models import ReleaseView
from chamberlain.releases.service import ReleaseService
from chamberlain.releases.wire import (
    RELEASE,
    ReleaseBody,
    ReleasePage,
    ReleasePreview,
    WholeRelease,
    preview_of,
    release_of,
    wanted_types,
    whole_release_of,
)
from chamberlain.requests.wire import DRY_RUN


async def create(releases: ReleaseService, call: Call[ReleaseBody]) -> Answer:
    """Preview a release, or start it."""
    types = wanted_types(call.body)
    if call.query.get(DRY_RUN.name) == "true":
        return Answer(200, json.encode(preview_of(await releases.preview(call.caller, types))), (NO_STORE,))
    answer = await releases.start(call.caller, types, act_of(call), _render)
    # The body is our own rendering, so it has an id.
    release_id = str(json.decode(answer.body)["id"])
    location = f"{call.http.addresses.base_url}/admin/v1/releases/{release_id}/".encode("ascii")
    return Answer(202, answer.body, (*acted(answer).headers, (b"location", location)))


async def list_(releases: ReleaseService, call: Call[None]) -> Answer:
    """List releases."""
    page = await releases.list(call.caller, page_wanted(call))
    body = ReleasePage(tuple(map(release_of, page.items)), next_cursor(call, page.next))
    return Answer(200, json.encode(body), (NO_STORE,))


async def read(releases: ReleaseService, call: Call[None]) -> Answer:
    """Read a release with its remarks."""
    view = await releases.read(call.caller, ReleaseId(call.ids["releaseId"]))
    return Answer(200, _render(view), (NO_STORE,))


def _render(view: ReleaseView) -> bytes:
    return json.encode(whole_release_of(view))


_TAG = "Adoption"
_EXAMPLE: Mapping[str, object] = {
    "id": "4e1ea5e0-0000-4000-8000-000000000001",
    "types": ["mailbox", "group", "team", "assignment"],
    "state": "running",
    "counts": {"total": 41, "released": 12, "skipped": 1},
    "createdAt": "2026-11-20T09:30:00.000Z",
    "createdBy": {"type": "user", "id": "ada00000-0000-4000-8000-000000000001", "displayName": "Ada Achterberg"},
    "updatedAt": "2026-11-20T09:30:02.000Z",
    "finishedAt": None,
}
_REMARK: Mapping[str, object] = {
    "type": "group",
    "id": "0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10",
    "displayName": "Vineyard",
    "mail": "vineyard@estate.example",
    "code": "requestOpen",
    "detail": "Its request has not ended. Cancel the request, or wait until it ends.",
}
_WHOLE: Mapping[str, object] = {**_EXAMPLE, "remarks": [_REMARK]}
_SHOWN: Mapping[str, object] = {
    "dryRun": True,
    "types": ["group"],
    "counts": {"objects": {"group": 1}, "skipped": {"requestOpen": 1}},
    "objects": [
        {
            "type": "group",
            "id": "94000000-0000-4000-8000-000000000001",
            "displayName": "All staff",
            "mail": "all-staff@estate.example",
        }
    ],
    "skipped": [_REMARK],
}
ABOUT_CREATE = About(
    id="createRelease",
    tag=_TAG,
    summary="Give managed objects back to the directory",
    description="Removes the marks and records of mailboxes, groups and teams, and the assignments of groups and sites "
    "with their marks. The objects and their settings stay in the directory. Without `types`, all types are released. "
    "Objects with an open or failed request are skipped. `?dryRun=true` lists the objects and writes nothing. One "
    "release of a tenant runs at a time. The body may be left out.",
    example={"types": ["group", "team"], "comment": "The tenant leaves."},
)
ABOUT_LIST = About(
    id="listReleases", tag=_TAG, summary="List releases", description="Newest first, with their progress."
)
ABOUT_READ = About(
    id="readRelease",
    tag=_TAG,
    summary="Read a release",
    description="With its progress and the first hundred objects that were skipped, or need a remark.",
)
PREVIEWED = Success(200, "The preview, requested by `?dryRun=true`.", ReleasePreview, CACHE, _SHOWN)
STARTED = Success(
    202,
    "The release is stored and will run.",
    WholeRelease,
    {
        **CACHE,
        "Idempotency-Replayed": "`true` if this is the answer to an earlier call with the same key.",
        "Location": "The path of the release.",
    },
    _WHOLE,
    {"release": link_to("readRelease", "releaseId", "The release with its progress.")},
)
LISTED = (Success(200, "A page of releases.", ReleasePage, CACHE, {"items": [_EXAMPLE], "nextCursor": None}),)
READ = (Success(200, "The release.", WholeRelease, CACHE, _WHOLE),)
CREATE_CODES = (
    "notAdministrator", "stateDoesNotAllow", "idempotencyKeyReused", "idempotencyKeyInProgress",
    "databaseUnavailable", "overloaded",
)  # fmt: skip
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
READ_CODES = ("notAdministrator", "notFound", "databaseUnavailable", "overloaded")

# fmt: off
ENDPOINTS = EndpointTable(ReleaseService, (
    Endpoint("POST", "/admin/v1/releases/", create, Operation.ADMINISTER_SERVICE, ABOUT_CREATE,
             (PREVIEWED, STARTED), shape=RELEASE, parameters=(DRY_RUN,), codes=CREATE_CODES, body_is_optional=True),
    Endpoint("GET", "/admin/v1/releases/", list_, Operation.ADMINISTER_SERVICE, ABOUT_LIST,
             LISTED, parameters=PARAMETERS, codes=LIST_CODES),
    Endpoint("GET", "/admin/v1/releases/{releaseId}/", read, Operation.ADMINISTER_SERVICE,
             ABOUT_READ, READ, codes=READ_CODES),
))
# fmt: on
