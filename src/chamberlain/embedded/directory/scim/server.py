# SPDX-License-Identifier: Apache-2.0
"""The ASGI application below `/scim/v2`: authentication, routing and responses."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import ceil
from urllib.parse import parse_qsl
from uuid import UUID

import msgspec
from starlette.types import Receive, Scope, Send

from chamberlain.embedded.directory.database import Connection, Pool, one_tenant, one_transaction
from chamberlain.embedded.directory.errors import (
    Forbidden,
    NotNow,
    Throttled,
    Unauthorized,
    WriteRefused,
)
from chamberlain.embedded.directory.scim.documents import read_resource, select
from chamberlain.embedded.directory.scim.errors import ScimFault
from chamberlain.embedded.directory.scim.groups import GroupCollection
from chamberlain.embedded.directory.scim.parameters import Query, read_parameters, read_search
from chamberlain.embedded.directory.scim.patch import apply_patch, read_patch
from chamberlain.embedded.directory.scim.resources import Collection, Resource, Selection
from chamberlain.embedded.directory.scim.schemas import Json, resource_types, schemas, service_provider_config
from chamberlain.embedded.directory.scim.search import find_page
from chamberlain.embedded.directory.scim.users import Users

# Takes the Authorization header, or None, and returns the tenant. Raises Unauthorized, Forbidden or Unreachable.
Authenticate = Callable[[str | None], Awaitable[UUID]]

_ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"
_LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"

# A group with 20,000 members takes half of it, in bytes.
MOST_BYTES = 4 * 1024 * 1024
# A client that sends its body slower than this is gone, in seconds.
_BODY_TIMEOUT = 30.0

Header = tuple[bytes, bytes]
_JSON = (b"content-type", b"application/scim+json")
_NO_STORE = (b"cache-control", b"no-store")
_COLLECTION_METHODS, _RESOURCE_METHODS = ("GET", "POST"), ("GET", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True)
class Route:
    """A path with placeholders, for metrics and traces."""

    path_format: str


_DISCOVERY = ("ServiceProviderConfig", "Schemas", "ResourceTypes")


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. `body` None means no content."""

    status: int
    body: Json | None
    headers: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """An authenticated call. `body` is read only by methods that have one."""

    method: str
    tenant_id: UUID
    parameters: dict[str, str]
    headers: dict[bytes, bytes]
    receive: Receive


class ScimServer:
    """The ASGI application. `url` is its public address.

    `reader` must use the role that row-level security restricts, and `writer` the worker's role.
    """

    def __init__(
        self,
        *,
        reader: Pool,
        writer: Pool,
        url: str,
        authenticate: Authenticate,
        new_id: Callable[[], UUID],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._root = url.rstrip("/")
        self._authenticate = authenticate
        self._new_id = new_id
        self._collections: dict[str, Collection] = {"Users": Users(), "Groups": GroupCollection()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one call."""
        try:
            answer = await self._answer(scope, receive)
        except (ScimFault, Unauthorized, Forbidden, NotNow, WriteRefused) as fault:
            answer = _refusal(fault)
        body = b"" if answer.body is None else msgspec.json.encode(answer.body)
        headers = [_NO_STORE, *answer.headers]
        if answer.status not in (204, 304):
            headers += [_JSON, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        path: str = scope["path"].removeprefix(scope.get("root_path", "")).strip("/")
        first, _, rest = path.partition("/")
        if first in self._collections or first in _DISCOVERY:
            last = rest if rest in ("", ".search") else "{id}"
            scope["route"] = Route(f"/{first}/{last}".rstrip("/"))
        headers: dict[bytes, bytes] = dict(scope["headers"])
        token = headers.get(b"authorization")
        tenant_id = await self._authenticate(None if token is None else token.decode("latin-1"))
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        query = scope["query_string"].decode("latin-1")
        call = Call(method, tenant_id, dict(parse_qsl(query, keep_blank_values=True)), headers, receive)
        collection = self._collections.get(first)
        if collection is not None:
            return await self._answer_collection(call, collection, rest)
        return self._describe(call, first, rest)

    def _describe(self, call: Call, first: str, rest: str) -> Answer:
        """Answer the discovery endpoints."""
        if first in ("Me", "Bulk", ".search"):
            raise ScimFault(501, f"/{first} is not implemented. Use /Users and /Groups.")
        listed = {"Schemas": schemas, "ResourceTypes": resource_types}.get(first)
        if first != "ServiceProviderConfig" and listed is None:
            raise _not_found()
        _require_method(call.method, ("GET",))
        if "filter" in call.parameters:
            # RFC 7644, 4.
            raise ScimFault(403, "The discovery endpoints have no filter.")
        if listed is None:
            return Answer(200, service_provider_config(self._root))
        resources = listed(self._root)
        if not rest:
            return Answer(200, _list_response(resources, total=len(resources), start=1))
        for resource in resources:
            if resource["id"] == rest:
                return Answer(200, resource)
        raise _not_found()

    async def _answer_collection(self, call: Call, collection: Collection, rest: str) -> Answer:
        if rest == ".search":
            _require_method(call.method, ("POST",))
            return await self._list(call, collection, read_search(await _read_body(call), collection.kind))
        if not rest:
            _require_method(call.method, _COLLECTION_METHODS)
            if call.method == "POST":
                return await self._create(call, collection)
            return await self._list(call, collection, read_parameters(call.parameters, collection.kind))
        _require_method(call.method, _RESOURCE_METHODS)
        try:
            id_ = UUID(rest)
        except ValueError:
            raise _not_found() from None
        match call.method:
            case "GET":
                return await self._get(call, collection, id_)
            case "DELETE":
                return await self._delete(call, collection, id_)
            case _:
                return await self._change(call, collection, id_, await _read_body(call))

    async def _list(self, call: Call, collection: Collection, query: Query) -> Answer:
        async with one_tenant(self._reader, call.tenant_id) as connection:
            page = await find_page(connection, call.tenant_id, collection, query, self._root)
        kind = collection.kind
        shown = [select(one.shown(kind, self._root), kind, query.wanted, query.unwanted) for one in page.resources]
        return Answer(200, _list_response(shown, total=page.total, start=query.start))

    async def _get(self, call: Call, collection: Collection, id_: UUID) -> Answer:
        async with one_tenant(self._reader, call.tenant_id) as connection:
            resource = await self._read(collection, call, id_, connection)
        if call.headers.get(b"if-none-match", b"").decode("latin-1") in (resource.etag, "*"):
            return Answer(304, None, ((b"etag", resource.etag.encode()),))
        return self._show(call, collection, resource)

    async def _create(self, call: Call, collection: Collection) -> Answer:
        document = read_resource(await _read_body(call), collection.kind)
        id_ = self._new_id()
        async with one_transaction(self._writer) as connection:
            await collection.create(connection, call.tenant_id, id_, document)
            resource = await self._read(collection, call, id_, connection)
        return self._show(call, collection, resource, status=201)

    async def _change(self, call: Call, collection: Collection, id_: UUID, body: object) -> Answer:
        """Answer PUT and PATCH."""
        kind = collection.kind
        changes = read_patch(body, kind) if call.method == "PATCH" else []
        async with one_transaction(self._writer) as connection:
            await collection.lock(connection, call.tenant_id, id_)
            before = await self._read(collection, call, id_, connection)
            _require_match(call, before)
            document = apply_patch(before.document, changes, kind) if changes else read_resource(body, kind)
            await collection.replace(connection, call.tenant_id, before, document)
            resource = await self._read(collection, call, id_, connection)
        return self._show(call, collection, resource)

    async def _delete(self, call: Call, collection: Collection, id_: UUID) -> Answer:
        async with one_transaction(self._writer) as connection:
            await collection.lock(connection, call.tenant_id, id_)
            _require_match(call, await self._read(collection, call, id_, connection))
            await collection.delete(connection, call.tenant_id, id_)
        return Answer(204, None)

    async def _read(self, collection: Collection, call: Call, id_: UUID, connection: Connection) -> Resource:
        found = await collection.read(connection, call.tenant_id, Selection(id=id_), self._root)
        if not found:
            raise _not_found()
        [resource] = await collection.complete(connection, call.tenant_id, found, self._root)
        return resource

    def _show(self, call: Call, collection: Collection, resource: Resource, *, status: int = 200) -> Answer:
        query = read_parameters(call.parameters, collection.kind)
        shown = resource.shown(collection.kind, self._root)
        location = f"{self._root}{collection.kind.endpoint}/{resource.id}".encode()
        headers = ((b"location", location), (b"etag", resource.etag.encode()))
        return Answer(status, select(shown, collection.kind, query.wanted, query.unwanted), headers)


def _require_method(method: str, allowed: tuple[str, ...]) -> None:
    if method not in allowed:
        raise ScimFault(405, f"The methods of this address are {', '.join(allowed)}.")


def _require_match(call: Call, resource: Resource) -> None:
    """Check the header If-Match. Raises ScimFault (412)."""
    condition = call.headers.get(b"if-match")
    if condition is None:
        return
    accepted = [one.strip() for one in condition.decode("latin-1").split(",")]
    if "*" not in accepted and resource.etag not in accepted:
        raise ScimFault(412, "The resource has changed since you read it. Read it again.")


async def _read_body(call: Call) -> object:
    raw = bytearray()
    try:
        async with asyncio.timeout(_BODY_TIMEOUT):
            while True:
                message = await call.receive()
                if message["type"] == "http.disconnect":
                    raise ScimFault(400, "The body is incomplete.", "invalidSyntax")
                raw += message.get("body", b"")
                if len(raw) > MOST_BYTES:
                    raise ScimFault(413, f"The body has more than {MOST_BYTES} bytes.")
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        raise ScimFault(408, "The body did not arrive in time.") from None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ScimFault(400, "The body is not JSON.", "invalidSyntax") from None


def _not_found() -> ScimFault:
    return ScimFault(404, "There is no such resource.")


def _list_response(resources: list[Json], *, total: int, start: int) -> Json:
    return {
        "schemas": [_LIST],
        "totalResults": total,
        "startIndex": start,
        "itemsPerPage": len(resources),
        "Resources": resources,
    }


def _refusal(fault: ScimFault | Unauthorized | Forbidden | NotNow | WriteRefused) -> Answer:
    match fault:
        case ScimFault():
            return _error(fault.status, fault.detail, fault.scim_type)
        case Unauthorized():
            challenge = b'Bearer error="invalid_token"' if fault.had_token else b"Bearer"
            return _error(401, str(fault), headers=((b"www-authenticate", challenge),))
        case Forbidden():
            challenge = b'Bearer error="insufficient_scope"'
            return _error(403, str(fault), headers=((b"www-authenticate", challenge),))
        case WriteRefused():
            status, scim_type = _OF_WRITES.get(fault.code, (400, "invalidValue"))
            return _error(status, fault.detail, scim_type)
        case NotNow():
            status = 429 if isinstance(fault, Throttled) else 503
            seconds = str(ceil(fault.after.total_seconds()))
            # The client does not see the message of the database.
            detail = f"The directory cannot answer now. Send the request again after {seconds} s."
            return _error(status, detail, headers=((b"retry-after", seconds.encode()),))


_OF_WRITES: dict[str, tuple[int, str | None]] = {
    "valueTaken": (409, "uniqueness"),
    "alreadyExists": (409, "uniqueness"),
    "objectUnknown": (404, None),
    "isDynamic": (400, "mutability"),
    "notChangeable": (400, "mutability"),
    "lastOwner": (400, "mutability"),
}


def _error(status: int, detail: str, scim_type: str | None = None, *, headers: tuple[Header, ...] = ()) -> Answer:
    body: Json = {"schemas": [_ERROR], "status": str(status), "detail": detail}
    if scim_type is not None:
        body["scimType"] = scim_type
    return Answer(status, body, headers)
