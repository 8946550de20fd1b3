# SPDX-License-Identifier: Apache-2.0
"""The fake Microsoft 365: tenants, sign-in and Graph as one ASGI application.

Without a socket, `transport()` is for httpx2, and `http_client()` for msal. Exchange and SharePoint will be further
surfaces beside Graph: a surface is chosen by the path.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx2

from tests.microsoft365.fake.answers import Answer, Call, ConnectionLost, GraphError, bad_request
from tests.microsoft365.fake.batch import answer_batch
from tests.microsoft365.fake.clock import Clock
from tests.microsoft365.fake.faults import CONNECTION_FAULTS, Fault, Faults
from tests.microsoft365.fake.graph import Graph, refused_early
from tests.microsoft365.fake.limits import Limits
from tests.microsoft365.fake.tenant import Created, Tenant
from tests.microsoft365.fake.tokens import GRAPH, App, HttpClient, Tokens
from tests.microsoft365.fake.writes import Lags

Json: TypeAlias = Any

_VERSION: Final = "/v1.0"


@dataclass(frozen=True, slots=True)
class Raw:
    """A request as it arrives. Names of headers are in lower case."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


class FakeMicrosoft365:
    """All tenants of the fake.

    With a seed, lags, faults and open questions are drawn from it; without one there are none of them.
    """

    def __init__(self, clock: Clock | None = None, seed: int | None = None) -> None:
        self.clock = clock or Clock()
        self.seed = seed
        # Seeds make tests repeatable.
        self.random = Random(seed or 0)  # noqa: S311
        self.faults = Faults(self.random) if seed is None else Faults.drawn(self.random)
        self.limits = Limits(self.clock)
        self.tenants: dict[str, Tenant] = {}
        self.tokens = Tokens(self.clock, self.random, self._granted)
        self.graph = Graph(self.limits)

    def add_tenant(self, tenant_id: str, domain: str = "contoso.com") -> Tenant:
        """Add an empty tenant."""
        lags = Lags() if self.seed is None else Lags.drawn(self.random)
        tenant = Tenant(tenant_id, self.clock, self.random, lags, self.faults, domain)
        if self.seed is not None:
            tenant.refuses_bound_again = self.random.random() < 0.5
            tenant.tracks_extensions = self.random.random() < 0.5
            tenant.has_decimal_delays = self.random.random() < 0.5
            tenant.largest_delta_page = self.random.choice((2, 5, 100))
        self.tenants[tenant_id] = tenant
        return tenant

    def add_app(self, app_id: str, *, secret: str | None = None, public_key: bytes | None = None) -> None:
        """Register an application with a secret, or with the public key of its certificate (PEM)."""
        self.tokens.apps[app_id] = App(app_id, secret, public_key)

    def consent(self, tenant_id: str, app_id: str, permissions: Iterable[str]) -> None:
        """Grant application permissions."""
        self.tenants[tenant_id].granted[app_id] = frozenset(permissions)

    @property
    def ledger(self) -> list[Created]:
        """Return the created objects of all tenants."""
        return [each for tenant in self.tenants.values() for each in tenant.ledger]

    def http_client(self) -> HttpClient:
        """Return the HTTP client for msal."""
        return HttpClient(self.tokens)

    def transport(self) -> "FakeTransport":
        """Return the transport for httpx2."""
        return FakeTransport(self)

    def _granted(self, tenant_id: str, app_id: str) -> frozenset[str] | None:
        tenant = self.tenants.get(tenant_id)
        return None if tenant is None else tenant.granted.get(app_id)

    def respond(self, raw: Raw) -> Answer:
        """Answer a request. Raises ConnectionLost."""
        path = unquote(urlsplit(raw.url).path)
        if path.startswith(f"{_VERSION}/"):
            return self._respond_graph(raw, path.removeprefix(_VERSION))
        status, body = self.tokens.respond(raw.method, path, raw.body)
        return Answer(status, body)

    def _respond_graph(self, raw: Raw, path: str) -> Answer:
        if self.faults.draw(raw.method, path, among=frozenset({Fault.DROPPED})):
            raise ConnectionLost
        tenant = None
        try:
            tenant_id, principal = self.tokens.read(raw.headers.get("authorization", ""), GRAPH)
            tenant = self.tenants[tenant_id]
            url = urlsplit(raw.url)
            call = Call(
                raw.method,
                path,
                dict(parse_qsl(url.query, keep_blank_values=True)),
                raw.headers,
                _read_json(raw.body),
                principal,
                f"{url.scheme}://{url.netloc}{_VERSION}",
            )
            if path != "/$batch":
                return self.graph.answer(tenant, call)
            return self._respond_batch(tenant, call)
        except GraphError as error:
            return refused_early(tenant, error)

    def _respond_batch(self, tenant: Tenant, call: Call) -> Answer:
        if call.method != "POST":
            raise GraphError(405, "Request_BadRequest", "Specified HTTP method is not allowed for the request target.")
        fault = self.faults.draw("POST", "/$batch", among=CONNECTION_FAULTS - {Fault.DROPPED})
        answer = answer_batch(call, self.random, lambda part: self.graph.answer(tenant, part))
        if fault is Fault.LOST_ANSWER:
            raise ConnectionLost
        return answer

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        """Serve a request over a socket."""
        assert scope["type"] == "http"
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        target = scope["raw_path"].decode() + (f"?{scope['query_string'].decode()}" if scope["query_string"] else "")
        raw = Raw(scope["method"], f"{scope['scheme']}://{headers['host']}{target}", headers, body)
        try:
            answer = self.respond(raw)
        except ConnectionLost:
            # A body that is shorter than its length: the server closes the connection.
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
            await send({"type": "http.response.body", "body": b""})
            return
        content = _content(answer)
        found = {**_content_headers(answer), **answer.headers, "content-length": str(len(content))}
        encoded = [(name.lower().encode(), value.encode()) for name, value in found.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": encoded})
        await send({"type": "http.response.body", "body": content})


class FakeTransport(httpx2.AsyncBaseTransport):
    """A transport to the fake, without a socket."""

    def __init__(self, fake: FakeMicrosoft365) -> None:
        self._fake = fake

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        # Other calls run in between, as with a network.
        await asyncio.sleep(0)
        headers = {name.lower(): value for name, value in request.headers.items()}
        try:
            answer = self._fake.respond(Raw(request.method, str(request.url), headers, body))
        except ConnectionLost as lost:
            raise httpx2.ReadError("The connection was closed.", request=request) from lost
        found = {**_content_headers(answer), **answer.headers}
        return httpx2.Response(answer.status, headers=found, content=_content(answer), request=request)


def _read_json(body: bytes) -> Json:
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError as error:
        raise bad_request("Unable to read JSON request payload.", "BadRequest") from error


def _content(answer: Answer) -> bytes:
    return b"" if answer.body is None else json.dumps(answer.body).encode()


def _content_headers(answer: Answer) -> dict[str, str]:
    return {} if answer.body is None else {"content-type": "application/json;odata.metadata=minimal;charset=utf-8"}
