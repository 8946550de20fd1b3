# SPDX-License-Identifier: Apache-2.0
"""The request pipeline: route, authenticate, read, handle, respond, measure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter
from typing import NoReturn
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.routing import Match, Mount, compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation, require
from chamberlain.core.errors import BodyInvalid, Malformed, NotFound, Refusal
from chamberlain.core.ids import TraceId
from chamberlain.core.validation import Reader
from chamberlain.fastpath.buffered_response import buffered_call
from chamberlain.http.endpoint_tables import AnyEndpoint, ServedEndpoint
from chamberlain.http.problems import HeadAmbiguous, HostUnknown, MethodNotAllowed, problem_of
from chamberlain.http.request import (
    YAML,
    Call,
    FormFaults,
    HttpContext,
    check_idempotency_key,
    echoes,
    media_type_of,
    read_ids,
    read_query,
    receive_body,
    together,
    trace_id_of,
)
from chamberlain.http.responses import Answer, CallerGone, Stream
from chamberlain.http.server_protocol import AUTHORITY
from chamberlain.observability.logs import about, get_logger

# The key of the trace id in the ASGI scope, for the handler of unexpected errors.
TRACE_ID = "chamberlain.trace_id"
# The key of the route in the ASGI scope, as Starlette's routers set it.
ROUTE = "route"
# The path label in metrics of calls without a known path, since unknown paths are unlimited.
UNKNOWN_PATH = "unknown"
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_WITHOUT_CONTENT = frozenset({204, 304})
# The status in metrics of calls whose client disconnected; proxies log the same one.
CALLER_GONE = 499
_EVENTS = re.compile(rb"text/event-stream\b", re.IGNORECASE)
_NO_TEXTS: Mapping[str, str] = {}
_logger = get_logger(__name__)


class Resource:
    """A path template with its methods.

    HEAD exists for each GET, OPTIONS everywhere.
    """

    def __init__(self, path: str, served: Sequence[ServedEndpoint]) -> None:
        self.path = path
        self._endpoints = {each.endpoint.method: each for each in served}
        if "GET" in self._endpoints:
            self._endpoints["HEAD"] = self._endpoints["GET"]
        self.allow = ", ".join((*self._endpoints, "OPTIONS")).encode("ascii")

    def endpoint(self, method: str) -> ServedEndpoint:
        """Find the endpoint of a method. Raises MethodNotAllowed."""
        endpoint = self._endpoints.get(method)
        if endpoint is None:
            raise MethodNotAllowed(self.allow)
        return endpoint


_Template = tuple[re.Pattern[str], Resource]


class Resources:
    """All paths.

    Those without parameters are found by one lookup. Few of the others have the same first part and number of parts.
    """

    def __init__(self, served: Sequence[ServedEndpoint]) -> None:
        self._exact: dict[str, Resource] = {}
        self._templates: dict[tuple[str, int], list[_Template]] = {}
        for path in dict.fromkeys(each.endpoint.path for each in served):
            resource = Resource(path, [each for each in served if each.endpoint.path == path])
            # The trailing slash is optional.
            for spelling in (path.rstrip("/"), f"{path.rstrip('/')}/"):
                if "{" in path:
                    self._templates.setdefault(_outline(path), []).append((compile_path(spelling)[0], resource))
                else:
                    self._exact[spelling] = resource

    def find(self, path: str) -> tuple[Resource | None, Mapping[str, str]]:
        """Find the resource of a path, with its path parameters as texts."""
        resource = self._exact.get(path)
        if resource is not None:
            return resource, _NO_TEXTS
        for pattern, templated in self._templates.get(_outline(path), ()):
            match = pattern.match(path)
            if match is not None:
                return templated, match.groupdict()
        return None, _NO_TEXTS


def _outline(path: str) -> tuple[str, int]:
    """Return the first part, which is never a parameter, and their number."""
    parts = path.strip("/").split("/")
    return parts[0], len(parts)


class _Arrival(Struct, frozen=True):
    """An unvalidated call. `texts` are its path parameters."""

    scope: Scope
    receive: Receive
    headers: Mapping[bytes, bytes]
    texts: Mapping[str, str]
    trace_id: TraceId
    client_address: str | None


class Pipeline:
    """The ASGI application.

    docs/reference/errors.md documents the order of its checks: host, path and method, token, permission, size, type,
    then all faults of path, query, headers and body together. A mounted application gets the paths below its prefix,
    after the check of the host, and the prefix itself. Its calls are measured and traced under its routes:
    `scope["route"]` has the path template as `path_format`. Starlette's routers set it.
    """

    def __init__(
        self,
        http: HttpContext,
        served: Sequence[ServedEndpoint],
        mounts: Mapping[str, ASGIApp],
    ) -> None:
        self._http = http
        self._hosts = frozenset(host.encode("ascii") for host in http.hosts)
        self._resources = Resources(served)
        # The longest first: a mount at the root must not hide the others.
        self._mounts = [Mount(path, mounts[path]) for path in sorted(mounts, key=len, reverse=True)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        if scope["type"] != "http":
            raise NotImplementedError(f"The API supports HTTP only, not {scope['type']}.")
        started = perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        trace_id = trace_id_of(headers, self._http.new_trace_id)
        scope[TRACE_ID] = trace_id
        ours = is_ours(headers.get(b"host"), self._hosts)
        wrong = None
        # Other heads cannot be ambiguous, so most calls skip the check.
        if len(headers) != len(scope["headers"]) or AUTHORITY in scope:
            wrong = ambiguity(scope["headers"], scope.get(AUTHORITY), self._hosts)
        resource, texts = self._resources.find(scope["path"])
        client = scope.get("client")
        client_address = None if client is None else client[0]
        with about(trace_id=trace_id, client_address=client_address):
            if resource is None and ours and wrong is None and (mount := self._mounted(scope)) is not None:
                await self._pass_on(mount, scope, receive, send, started=started)
                return
            status = 500
            taken: float | None = None
            try:
                arrival = _Arrival(scope, receive, headers, texts, trace_id, client_address)
                if wrong is not None:
                    answer: Answer | Stream = _refused(HeadAmbiguous(wrong), arrival)
                else:
                    answer = await self._answer(resource, arrival) if ours else _refused(HostUnknown(), arrival)
                status = answer.status
                if isinstance(answer, Stream):
                    # The length of a stream says nothing about the service.
                    taken = perf_counter() - started
                    echoed = echoes(headers, trace_id)
                    await self._http.streams.send(answer, scope["method"], echoed, receive, send)
                else:
                    await _send(answer, scope, echoes(headers, trace_id), send)
                    if resource is not None and resource.path.startswith("/admin/"):
                        _log_success(scope, status)
            except CallerGone:
                status = CALLER_GONE
            finally:
                path = UNKNOWN_PATH if resource is None else resource.path
                self._http.observe(path, scope["method"], status, taken or perf_counter() - started)

    async def _pass_on(self, mount: Mount, scope: Scope, receive: Receive, send: Send, *, started: float) -> None:
        """Let a mounted application answer, and measure the call under its route."""
        buffered = buffered_call(scope)
        status = 500
        taken: float | None = None

        async def watched(message: Message) -> None:
            nonlocal status, taken
            if message["type"] == "http.response.start":
                status = message["status"]
                if any(_EVENTS.match(value) for name, value in message["headers"] if name == b"content-type"):
                    # As for the streams of the API.
                    taken = perf_counter() - started
            await send(message)

        try:
            await mount.app(scope, receive, watched)
        finally:
            if buffered is not None and buffered.status:
                status = buffered.status
            self._http.observe(_path_of(mount, scope), scope["method"], status, taken or perf_counter() - started)

    def _mounted(self, scope: Scope) -> Mount | None:
        """Find the mounted application of a path.

        The rest of the path is set in the scope.
        """
        for mount in self._mounts:
            if not scope["path"].startswith(mount.path):
                continue
            if scope["path"] == mount.path:
                return mount
            match, child_scope = mount.matches(scope)
            if match is Match.FULL:
                scope.update(child_scope)
                return mount
        return None

    async def _answer(self, resource: Resource | None, arrival: _Arrival) -> Answer | Stream:
        try:
            if resource is None:
                raise NotFound("Nothing exists at this address. GET /openapi.json lists all addresses.")
            if arrival.scope["method"] == "OPTIONS":
                return Answer(204, b"", ((b"allow", resource.allow),))
            endpoint, service = resource.endpoint(arrival.scope["method"])
            call = await self._read(endpoint, arrival)
            try:
                answer: Answer | Stream = await endpoint.handler(service, call)
            except Malformed as fault:
                await self._refuse(fault, endpoint, call.caller)
            if call.known_caller is not None and endpoint.operation is not None:
                self._http.count_use(call.known_caller, endpoint.operation)
        except Refusal as refusal:
            answer = _refused(refusal, arrival)
            _forget_frames(refusal)
        return answer

    async def _read(self, endpoint: AnyEndpoint, arrival: _Arrival) -> Call[object]:
        """Read the call, after all checks that need no service."""
        caller, raw = None, b""
        if endpoint.operation is not None:
            caller = await authenticate(arrival.headers.get(b"authorization"), endpoint.operation, self._http)
        if endpoint.shape is not None:
            raw = await receive_body(
                arrival.scope,
                arrival.receive,
                arrival.headers,
                self._http.body_timeout_seconds,
                accepted=endpoint.media_types,
            )
            if endpoint.body_is_optional:
                raw = raw or b"{}"
        faults: FormFaults = []
        ids = read_ids(arrival.texts, faults)
        query = read_query(arrival.scope["query_string"], endpoint.parameters, faults)
        if endpoint.method == "POST" and b"idempotency-key" in arrival.headers:
            check_idempotency_key(arrival.scope["headers"], faults)
        body: object = None
        if endpoint.shape is not None:
            try:
                body = (_yaml_shape(endpoint, arrival) or endpoint.shape).read(raw)
            except (Malformed, BodyInvalid) as fault:
                _forget_frames(fault)
                faults.append(fault)
        if faults:
            await self._refuse(together(faults), endpoint, caller)
        path = endpoint.path.format(**ids) if ids else endpoint.path
        return Call(
            endpoint.method, path, ids, query, arrival.headers, arrival.trace_id, arrival.client_address, raw, body,
            caller, arrival.scope["headers"], arrival.receive, self._http,
        )  # fmt: skip

    async def _refuse(self, fault: Malformed | BodyInvalid, endpoint: AnyEndpoint, caller: Caller | None) -> NoReturn:
        """Raise Forbidden for a caller without permission, otherwise the fault.

        The service checks it for calls without faults, so those pay for one check.
        """
        if caller is not None and endpoint.operation is not None:
            await self._http.require_allowed(caller, endpoint.operation)
        raise fault


def _path_of(mount: Mount, scope: Scope) -> str:
    """Return the path template of a call of a mounted application.

    If the application has named no route, all of its paths have one template.
    """
    route = scope.get(ROUTE)
    if route is None:
        return mount.path_format
    template: str = route.path_format
    return template if template.startswith(f"{mount.path}/") else f"{mount.path}{template}"


def with_whole_paths(application: ASGIApp) -> ASGIApp:
    """Prepare an application to be mounted whose routes are whole paths.

    Starlette's routers remove `root_path` from a path. They get a scope without it, and their route is passed back.
    """

    async def mounted(scope: Scope, receive: Receive, send: Send) -> None:
        inner: Scope = {**scope, "root_path": ""}
        try:
            await application(inner, receive, send)
        finally:
            if ROUTE in inner:
                scope[ROUTE] = inner[ROUTE]

    return mounted


def _yaml_shape(endpoint: AnyEndpoint, arrival: _Arrival) -> Reader[object] | None:
    if endpoint.yaml_shape is None or media_type_of(arrival.headers) != YAML:
        return None
    return endpoint.yaml_shape


async def authenticate(authorization: bytes | None, operation: Operation, http: HttpContext) -> Caller:
    """Authenticate an Authorization header. Raises Unauthenticated and Forbidden."""
    caller = await http.verify(None if authorization is None else authorization.decode("latin-1"))
    require(caller, operation, http.prefixes)
    return caller


def _refused(refusal: Refusal, arrival: _Arrival) -> Answer:
    return problem_of(refusal, arrival.scope["path"], arrival.trace_id)


def _log_success(scope: Scope, status: int) -> None:
    """Log a call of an administrator that may have changed something.

    The line has the client address and the trace id of the row on the audit trail.
    """
    if scope["method"] in _CHANGING and status < 300:
        _logger.info("An administrative call succeeded.", method=scope["method"], path=scope["path"])


def _forget_frames(refusal: Refusal) -> None:
    """Break the reference cycles of frames and causes.

    The garbage collector would have to find them.
    """
    refusal.__traceback__ = refusal.__cause__ = refusal.__context__ = None


async def _send(answer: Answer, scope: Scope, headers: list[tuple[bytes, bytes]], send: Send) -> None:
    # A 204 has no length and no type, and a 304 has those of another response (RFC 9110, 8.6).
    if answer.status not in _WITHOUT_CONTENT:
        headers += ((b"content-type", answer.content_type), (b"content-length", b"%d" % len(answer.body)))
    headers += answer.headers
    body = b"" if scope["method"] == "HEAD" else answer.body
    call = buffered_call(scope)
    if call is None or not call.answer(answer.status, headers, body):
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


_DEFAULT_PORTS = {"http": 80, "https": 443}


def hosts_of(base_addresses: Iterable[str], loopback_ports: Iterable[int]) -> frozenset[str]:
    """Return all accepted Host values, in lower case.

    They are those of the base addresses, and the loopback names of our listeners. Each is listed with and without a
    default port.
    """
    found: set[str] = set()
    for address in base_addresses:
        parts = urlsplit(address)
        name = parts.hostname or ""
        name = f"[{name}]" if ":" in name else name
        default = _DEFAULT_PORTS.get(parts.scheme)
        port = parts.port or default
        found.add(f"{name}:{port}")
        if port == default:
            found.add(name)
    for port in loopback_ports:
        found |= {f"127.0.0.1:{port}", f"localhost:{port}"}
    return frozenset(found)


def is_ours(host: bytes | None, hosts: frozenset[bytes]) -> bool:
    """Whether a call is for this server. Rejects DNS rebinding."""
    return host in hosts or (host is not None and host.lower() in hosts)


def ambiguity(headers: Sequence[tuple[bytes, bytes]], authority: bytes | None, hosts: frozenset[bytes]) -> str | None:
    """Describe an ambiguous host or caller in a head.

    Returns None if there is none. `authority` is the host of an absolute address in the request line (RFC 9112, 3.2.2).
    """
    for name in (b"host", b"authorization"):
        if sum(each == name for each, _ in headers) > 1:
            return f"The header {name.decode('ascii').capitalize()} occurs more than once. Send it once."
    if authority is None:
        return None
    host = dict(headers).get(b"host", b"")
    if is_ours(authority, hosts) and host.lower() == authority.lower():
        return None
    return "The request line names no path of this service. Send the path only."
