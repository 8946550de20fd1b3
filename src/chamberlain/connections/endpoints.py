# SPDX-License-Identifier: Apache-2.0
"""Endpoints of the connection of a tenant to its directory."""

from collections.abc import Mapping

from msgspec import json

from chamberlain.auth.permissions import Operation
from chamberlain.connections.models import Connection as Found
from chamberlain.connections.service import ConnectionService
from chamberlain.connections.wire import (
    CONNECTION,
    FORCE,
    NEW_CONNECTION,
    Connection,
    ConnectionBody,
    ConnectionPage,
    NewConnectionBody,
    connection_of,
    to_new_order,
    to_order,
)
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.core.ids import ConnectionId
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.paging import PARAMETERS, page_wanted
from chamberlain.http.request import ACTION, ActionBody, Call
from chamberlain.http.resource import CACHE, IF_MATCH, VERSIONED, edit_of, link_to, listed, made, making, removed, shown
from chamberlain.http.responses import Answer

PATH = "/admin/v1/connections/"


async def list_(connections: ConnectionService, call: Call[None]) -> Answer:
    """List the connection of the tenant."""
    page_wanted(call)
    found = await connections.list(call.caller)
    return listed(json.encode(ConnectionPage(tuple(map(connection_of, found)), None)))


async def create(connections: ConnectionService, call: Call[NewConnectionBody]) -> Answer:
    """Add the connection of the tenant."""
    # No Idempotency-Key: a digest of the body would be a digest of the credential. A second call is a conflict.
    found = await connections.add(call.caller, to_new_order(call.body), edit_of(call), force=_is_forced(call))
    return made(call.http, PATH, KeptAnswer(_render(found)))


async def read(connections: ConnectionService, call: Call[None]) -> Answer:
    """Read a connection."""
    return _shown(await connections.read(call.caller, _id(call)))


async def change(connections: ConnectionService, call: Call[ConnectionBody]) -> Answer:
    """Change a connection."""
    order = to_order(call.body)
    return _shown(await connections.change(call.caller, _id(call), order, edit_of(call), force=_is_forced(call)))


async def delete(connections: ConnectionService, call: Call[None]) -> Answer:
    """Delete a connection."""
    await connections.delete(call.caller, _id(call), edit_of(call), force=_is_forced(call))
    return removed()


async def check(connections: ConnectionService, call: Call[ActionBody]) -> Answer:
    """Check a connection now."""
    return _shown(await connections.check(call.caller, _id(call), edit_of(call)))


def _id(call: Call[object]) -> ConnectionId:
    return ConnectionId(call.ids["connectionId"])


def _is_forced(call: Call[object]) -> bool:
    return call.query.get(FORCE.name) == "true"


def _render(found: Found) -> bytes:
    return json.encode(connection_of(found))


def _shown(found: Found) -> Answer:
    return shown(_render(found), found.etag)


_TAG = "Connections"
_CREDENTIAL = (
    "`credential` is a secret: it is stored encrypted, and no response has it. `credentialFile` names a file in the "
    "folder of the tenant that the operator provides. Only one of them is possible. The host of `address` must be one "
    "that the operator permits, or the answer is 422 `hostNotPermitted`."
)
_MANAGED = "While the tenant has managed objects in its present directory, the answer is 409 `inUse` unless `force`."
ABOUT_LIST = About(
    id="listConnections",
    tag=_TAG,
    summary="List the connection of the tenant",
    description="A tenant has at most one. Without one, it uses the directory in the database of the service.",
)
ABOUT_CREATE = About(
    id="createConnection",
    tag=_TAG,
    summary="Add the connection of the tenant to its directory",
    description=f"Its state is `new` until a check. {_CREDENTIAL} {_MANAGED} An `Idempotency-Key` is ignored: a tenant "
    "has one connection, and a second one is refused.",
    example={
        "adapter": "embedded",
        "address": "postgresql://directory_reader@directory.estate.example:5432/directory?sslmode=verify-full",
        "credentialFile": "directory-password",
    },
)
ABOUT_READ = About(id="readConnection", tag=_TAG, summary="Read a connection")
ABOUT_CHANGE = About(
    id="changeConnection",
    tag=_TAG,
    summary="Change a connection",
    description="Missing parts stay, but another host needs the credential again. A broken connection stays broken "
    f"until a check passes. {_CREDENTIAL} {_MANAGED}",
    example={"credentialFile": "directory-password"},
)
ABOUT_DELETE = About(
    id="deleteConnection",
    tag=_TAG,
    summary="Delete a connection",
    description=f"The tenant then uses the directory in the database of the service. {_MANAGED}",
)
ABOUT_CHECK = About(
    id="checkConnection",
    tag=_TAG,
    summary="Check a connection now",
    description="Asks the directory, and sets the state: `ready`, or `broken` with its reason. The requests of a "
    "broken connection wait, and continue by themselves once a check passes. If the directory does not answer, "
    "the response is 503 and the state stays. The body may be left out.",
)

_EXAMPLE: Mapping[str, object] = {
    "id": "c0220000-0000-4000-8000-000000000001",
    "adapter": "embedded",
    "address": "postgresql://directory_reader@directory.estate.example:5432/directory?sslmode=verify-full",
    "hasCredential": True,
    "credentialFile": "directory-password",
    "state": "ready",
    "stateReason": None,
    "checkedAt": "2026-11-20T09:30:00.000Z",
    "abilities": ["labels", "sites"],
    "limits": {"observeBatch": 25},
    "createdAt": "2026-11-20T09:00:00.000Z",
    "updatedAt": "2026-11-20T09:30:00.000Z",
}
_NEW: Mapping[str, object] = {
    **_EXAMPLE,
    "state": "new",
    "checkedAt": None,
    "abilities": [],
    "limits": {},
    "updatedAt": "2026-11-20T09:00:00.000Z",
}
LISTED = (
    Success(200, "The connection, if there is one.", ConnectionPage, CACHE, {"items": [_EXAMPLE], "nextCursor": None}),
)
CREATED = (making(Connection, _NEW, {"connection": link_to("readConnection", "connectionId", "The connection.")}),)
READ = (Success(200, "The connection.", Connection, VERSIONED, _EXAMPLE),)
CHANGED = (Success(200, "The connection after the change.", Connection, VERSIONED, _EXAMPLE),)
CHECKED = (Success(200, "The connection after the check.", Connection, VERSIONED, _EXAMPLE),)
DELETED = (Success(204, "The connection is deleted."),)
LIST_CODES = ("invalidCursor", "notAdministrator", "databaseUnavailable", "overloaded")
CREATE_CODES = (
    "notAdministrator", "notPossible", "stateDoesNotAllow", "inUse", "databaseUnavailable", "overloaded",
)  # fmt: skip
READ_CODES = ("notAdministrator", "notFound", "databaseUnavailable", "overloaded")
CHANGE_CODES = (
    "notAdministrator", "notFound", "etagStale", "notPossible", "inUse", "databaseUnavailable", "overloaded",
)  # fmt: skip
DELETE_CODES = ("notAdministrator", "notFound", "etagStale", "inUse", "databaseUnavailable", "overloaded")
CHECK_CODES = ("notAdministrator", "notFound", "databaseUnavailable", "overloaded")

# fmt: off
ENDPOINTS = EndpointTable(ConnectionService, (
    Endpoint("GET", "/admin/v1/connections/", list_, Operation.ADMINISTER_SERVICE, ABOUT_LIST, LISTED,
             parameters=PARAMETERS, codes=LIST_CODES),
    Endpoint("POST", "/admin/v1/connections/", create, Operation.ADMINISTER_SERVICE, ABOUT_CREATE, CREATED,
             shape=NEW_CONNECTION, parameters=(FORCE,), codes=CREATE_CODES),
    Endpoint("GET", "/admin/v1/connections/{connectionId}/", read, Operation.ADMINISTER_SERVICE, ABOUT_READ, READ,
             codes=READ_CODES),
    Endpoint("PATCH", "/admin/v1/connections/{connectionId}/", change, Operation.ADMINISTER_SERVICE, ABOUT_CHANGE,
             CHANGED, shape=CONNECTION, parameters=(FORCE,), headers=(IF_MATCH,), codes=CHANGE_CODES),
    Endpoint("DELETE", "/admin/v1/connections/{connectionId}/", delete, Operation.ADMINISTER_SERVICE, ABOUT_DELETE,
             DELETED, parameters=(FORCE,), headers=(IF_MATCH,), codes=DELETE_CODES),
    Endpoint("POST", "/admin/v1/connections/{connectionId}/check/", check, Operation.ADMINISTER_SERVICE, ABOUT_CHECK,
             CHECKED, shape=ACTION, codes=CHECK_CODES, body_is_optional=True),
))
# fmt: on
