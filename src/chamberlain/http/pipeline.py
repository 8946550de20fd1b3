"""The one way that every call takes: found, let in, read, handled, answered, measured."""

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import NoReturn

from msgspec import Struct
from starlette.routing import Match, Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from chamberlain.auth.models import Caller
from chamberlain.auth.permissions import Operation, require
from chamberlain.core.errors import BodyInvalid, Malformed, NotFound, Refusal
from chamberlain.core.ids import TraceId
from chamberlain.http.body import AUTHORITY, CallerGone, receive_body, whole_call
from chamberlain.http.calls import Answer, Stream, echoes, trace_id_of
from chamberlain.http.context import Call, HttpContext
from chamberlain.http.hosts import ambiguity, is_ours
from chamberlain.http.parameters import FormFaults, check_idempotency_key, read_ids, read_query, together
from chamberlain.http.problems import HeadAmbiguous, HostUnknown, problem_of
from chamberlain.http.router import AnyEndpoint, Resource, Resources, ServedEndpoint
from chamberlain.http.timeouts import Patience
from chamberlain.observability.logs import about, get_logger


async def authenticate(authorization: bytes | None, operation: Operation, http: HttpContext) -> Caller:
    """The caller behind an Authorization header, or Unauthenticated or Forbidden."""
    caller = await http.verify(None if authorization is None else authorization.decode("latin-1"))
    require(caller, operation, http.prefixes)
    return caller


# Where the trace id stands in the scope of ASGI, for whoever answers when a handler did not.
TRACE_ID = "chamberlain.trace_id"
# In measurements, for calls that name no path of ours: those paths are without number.
UNKNOWN_PATH = "unknown"
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_WITHOUT_CONTENT = frozenset({204, 304})
# In measurements, for calls whose caller left before the end; the number that proxies log for it.
CALLER_GONE = 499

_logger = get_logger(__name__)


class _Arrival(Struct, frozen=True):
    """A call as it comes in. `texts` are the parameters of its path, not looked at yet."""

    scope: Scope
    receive: Receive
    headers: Mapping[bytes, bytes]
    texts: Mapping[str, str]
    trace_id: TraceId
    client_address: str | None


class Front:
    """An ASGI application without frills: no request object, no response object, no middleware.

    The order of its checks is a promise (docs/reference/errors.md): host, path and method, token, permission,
    size, type, then all faults of form together. A mounted application gets the paths below its prefix, once the host
    is known to be ours.
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
        self._patience = Patience(http.body_timeout_seconds)
        # The longest first: one at the root must not hide the others.
        self._mounts = [Mount(path, mounts[path]) for path in sorted(mounts, key=len, reverse=True)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        if scope["type"] != "http":
            raise NotImplementedError(f"The API speaks HTTP only, not {scope['type']}.")
        started = perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        trace_id = trace_id_of(headers, self._http.new_trace_id)
        scope[TRACE_ID] = trace_id
        ours = is_ours(headers.get(b"host"), self._hosts)
        wrong = None
        # Only these two can be ambiguous, which keeps the check away from nearly all calls.
        if len(headers) != len(scope["headers"]) or AUTHORITY in scope:
            wrong = ambiguity(scope["headers"], scope.get(AUTHORITY), self._hosts)
        resource, texts = self._resources.find(scope["path"])
        client = scope.get("client")
        client_address = None if client is None else client[0]
        with about(trace_id=trace_id, client_address=client_address):
            if resource is None and ours and wrong is None and (app := self._mounted(scope)) is not None:
                await app(scope, receive, send)
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
                    # How long it goes on is no measure of ours.
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

    def _mounted(self, scope: Scope) -> ASGIApp | None:
        """The mounted application that gets the call, if one does; then the scope says what is left of the path."""
        for mount in self._mounts:
            if not scope["path"].startswith(mount.path):
                continue
            match, child_scope = mount.matches(scope)
            if match is Match.FULL:
                scope.update(child_scope)
                return mount.app
        return None

    async def _answer(self, resource: Resource | None, arrival: _Arrival) -> Answer | Stream:
        try:
            if resource is None:
                raise NotFound("There is nothing at this address. GET /openapi.json lists what there is.")
            if arrival.scope["method"] == "OPTIONS":
                return Answer(204, b"", ((b"allow", resource.allow),))
            endpoint, service = resource.endpoint(arrival.scope["method"])
            call = await self._read(endpoint, arrival)
            try:
                return await endpoint.handler(service, call)
            except Malformed as fault:
                await self._refuse(fault, endpoint, call.caller)
        except Refusal as refusal:
            answer = _refused(refusal, arrival)
            _forget_frames(refusal)
            return answer

    async def _read(self, endpoint: AnyEndpoint, arrival: _Arrival) -> Call[object]:
        """The call with all that belongs to it, after every check that needs no use case."""
        caller, raw = None, b""
        if endpoint.operation is not None:
            caller = await authenticate(arrival.headers.get(b"authorization"), endpoint.operation, self._http)
        if endpoint.shape is not None:
            raw = await receive_body(arrival.receive, arrival.headers, self._patience, whole_call(arrival.scope))
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
                body = endpoint.shape.read(raw)
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
        """Whoever may not call this at all is told that, and not what is wrong with the call. Only here is it asked for
        before the use case does, so that a call without faults pays for it once."""
        if caller is not None and endpoint.operation is not None:
            await self._http.require_allowed(caller, endpoint.operation)
        raise fault


def _refused(refusal: Refusal, arrival: _Arrival) -> Answer:
    return problem_of(refusal, arrival.scope["path"], arrival.trace_id)


def _log_success(scope: Scope, status: int) -> None:
    """Log a call of an administrator that may have changed something.

    The line has the client address and the trace id of the row on the audit trail.
    """
    if scope["method"] in _CHANGING and status < 300:
        _logger.info("An administrative call succeeded.", method=scope["method"], path=scope["path"])


def _forget_frames(refusal: Refusal) -> None:
    """Those that it came through, and those of what it was raised from, hold it in turn: a ring that would have to be
    collected as garbage."""
    refusal.__traceback__ = refusal.__cause__ = refusal.__context__ = None


async def _send(answer: Answer, scope: Scope, headers: list[tuple[bytes, bytes]], send: Send) -> None:
    # A 204 has neither a length nor a type, and a 304 has those of another answer (RFC 9110, 8.6).
    if answer.status not in _WITHOUT_CONTENT:
        headers += ((b"content-type", answer.content_type), (b"content-length", b"%d" % len(answer.body)))
    headers += answer.headers
    body = b"" if scope["method"] == "HEAD" else answer.body
    whole = whole_call(scope)
    if whole is None or not whole.answer(answer.status, headers, body):
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
