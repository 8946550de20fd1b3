# SPDX-License-Identifier: Apache-2.0
"""Behaviour of every endpoint: hosts, methods, tokens, headers, the order of checks, and bugs."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from time import perf_counter

import httpx2
import msgspec
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message

from chamberlain.app.listeners import Listener, bind, serve_until
from chamberlain.app.routes import ENDPOINTS, create_app
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import Forbidden
from chamberlain.http.endpoint_tables import ServedEndpoint
from chamberlain.http.pipeline import Resources, hosts_of
from chamberlain.http.request import LIMIT
from tests.garbage_collection import collected_objects
from tests.http.http_fixture import BASE, REQUEST, TEMPLATE, HttpFixture, record

GROUPS = "/collab/v1/groups/"
BODY = {"displayName": "Hooked", "templateId": TEMPLATE}
JSON = {"content-type": "application/json"}
# Callers of a POST that is not for administrators.
POST_CALLERS = {GROUPS: "ada", "/mail/v1/mailboxes/": "mail", "/requests/v1/replies/": "mail server"}


async def test_it_works(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    answer = await api.get("/health/live")

    assert answer.status_code == 200
    assert answer.json() == {"status": "live", "checks": []}
    assert http_fixture.observed == [("/health/live", "GET", 200)]


def test_hosts_are_those_of_the_base_addresses_and_the_loopback() -> None:
    addresses = ["https://Api.Estate.Example", "http://insiders.example:8080/base", "http://[::1]:80"]

    assert hosts_of(addresses, [8365]) == {
        "api.estate.example", "api.estate.example:443", "insiders.example:8080", "[::1]", "[::1]:80",
        "127.0.0.1:8365", "localhost:8365",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8365", 200),
        ("localhost:8365", 200),
        ("LOCALHOST:8365", 200),
        ("localhost", 421),
        ("localhost:8366", 421),
        ("localhost:8365.evil.example", 421),
        ("evil.example", 421),
        ("", 421),
    ],
)
async def test_it_answers_for_its_own_hosts_only(api: httpx2.AsyncClient, host: str, status: int) -> None:
    answer = await api.get("/health/live", headers={"host": host})

    assert answer.status_code == status
    if status == 421:
        assert answer.json()["code"] == "hostUnknown"


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET /health/live HTTP/1.1\r\nHost: 127.0.0.1:8365", 200),
        ("GET http://127.0.0.1:8365/health/live HTTP/1.1\r\nHost: 127.0.0.1:8365", 200),
        ("GET /health/live HTTP/1.1\r\nHost: 127.0.0.1:8365\r\nHost: 127.0.0.1:8365", 400),
        ("GET /health/live HTTP/1.1\r\nHost: evil.example\r\nHost: 127.0.0.1:8365", 400),
        ("GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1:8365\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b", 400),
        ("GET http://evil.example/health/live HTTP/1.1\r\nHost: 127.0.0.1:8365", 400),
        ("GET http://evil.example/health/live HTTP/1.1\r\nHost: evil.example", 400),
        ("GET http://127.0.0.1:8365/health/live HTTP/1.1\r\nHost: localhost:8365", 400),
        ("GET http://a@127.0.0.1:8365/health/live HTTP/1.1\r\nHost: 127.0.0.1:8365", 400),
    ],
)
async def test_it_refuses_a_head_with_two_meanings(http_fixture: HttpFixture, head: str, status: int) -> None:
    socket = bind("127.0.0.1", 0)
    # It listens before the server starts, so that no one has to wait for that.
    socket.listen()
    serving = asyncio.create_task(serve_until(http_fixture.stopping, [Listener(socket, None, http_fixture.app())]))
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_connection(*socket.getsockname())
        writer.write(f"{head}\r\nConnection: close\r\n\r\n".encode())
        said, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        http_fixture.stopping.set()
        await serving

    assert int(said.split()[1]) == status
    if status == 400:
        assert msgspec.json.decode(body)["code"] == "ambiguousHead"
        assert b"content-type: application/problem+json" in said


@pytest.mark.parametrize(
    "path", ["/docs/nowhere", "/nowhere", "/collab/v1/groups//", "/requests/v1/a/b/", "/docs/../etc", "/%00\u00e9"]
)
async def test_it_says_where_there_is_nothing(api: httpx2.AsyncClient, http_fixture: HttpFixture, path: str) -> None:
    answer = await api.get(path)

    assert (answer.status_code, answer.json()["code"]) == (404, "notFound")
    assert answer.headers["content-type"] == "application/problem+json"
    assert re.fullmatch(r"[!-~]+", answer.json()["instance"])
    assert http_fixture.observed == [("unknown", "GET", 404)]


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", GROUPS, "POST, OPTIONS"),
        ("DELETE", "/health/live", "GET, HEAD, OPTIONS"),
        ("PATCH", f"/requests/v1/{REQUEST}/", "GET, HEAD, OPTIONS"),
        ("TRACE", GROUPS, "POST, OPTIONS"),
    ],
)
async def test_it_names_the_methods_of_a_path(api: httpx2.AsyncClient, method: str, path: str, allow: str) -> None:
    refused = await api.request(method, path)
    asked = await api.request("OPTIONS", path)

    assert (refused.status_code, refused.json()["code"], refused.headers["allow"]) == (405, "methodNotAllowed", allow)
    assert (asked.status_code, asked.content, asked.headers["allow"]) == (204, b"", allow)
    assert "content-length" not in asked.headers


async def test_it_answers_head_as_get_without_the_body(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.records[REQUEST] = record()

    head, get = await api.head(f"/requests/v1/{REQUEST}/"), await api.get(f"/requests/v1/{REQUEST}/")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == get.headers["content-length"] == str(len(get.content))


ORDER: list[tuple[str, int, str]] = [
    ("host", 421, "hostUnknown"),
    ("token", 401, "tokenMissing"),
    ("permission", 403, "insufficientScope"),
    ("size", 413, "bodyTooLarge"),
    ("type", 415, "notJsonContent"),
    ("form", 400, "unknownParameter"),
]


@pytest.mark.parametrize("good", range(len(ORDER)))
async def test_the_first_thing_wrong_is_reported(api: httpx2.AsyncClient, good: int) -> None:
    right = {name for name, _, _ in ORDER[:good]}
    headers = {
        "host": "127.0.0.1:8365" if "host" in right else "evil.example",
        "content-type": "application/json" if "type" in right else "text/plain",
        "authorization": "Bearer ada" if "permission" in right else "Bearer powerless",
    }
    if "token" not in right:
        del api.headers["authorization"], headers["authorization"]
    body = b'{"displayName": "x", "templateId": "%s"}' % TEMPLATE.encode() if "size" in right else b" " * (LIMIT + 1)

    answer = await api.post(f"{GROUPS}?x=1", content=body, headers=headers)

    assert (answer.status_code, answer.json()["code"]) == ORDER[good][1:]


@pytest.mark.parametrize(
    ("path", "fault"),
    [("/admin/v1/jobs/xyz/release/", "malformedId"), ("/admin/v1/jobs/?cursor=x", "invalidCursor")],
)
async def test_who_is_no_administrator_is_reported_that_before_what_is_wrong_with_the_call(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, path: str, fault: str
) -> None:
    method = "GET" if "?" in path else "POST"
    headers = {"authorization": "Bearer administrator"}
    http_fixture.forbidden = Forbidden("notAdministrator", "The operation requires an administrator of the tenant.")
    refused = await api.request(method, path, headers=headers)
    http_fixture.forbidden = None

    malformed = await api.request(method, path, headers=headers)

    assert (refused.status_code, refused.json()["code"]) == (403, "notAdministrator")
    assert (malformed.status_code, malformed.json()["code"]) == (400, fault)


async def test_a_call_without_faults_asks_once_who_administers(
    api: httpx2.AsyncClient, http_fixture: HttpFixture
) -> None:
    await api.get("/admin/v1/jobs/", headers={"authorization": "Bearer administrator"})

    assert http_fixture.allowed == []


async def test_it_says_what_is_wrong_with_a_token(api: httpx2.AsyncClient) -> None:
    del api.headers["authorization"]

    missing = await api.post(GROUPS, json=BODY)
    invalid = await api.post(GROUPS, json=BODY, headers={"authorization": "Bearer forged"})
    powerless = await api.post(GROUPS, json=BODY, headers={"authorization": "Bearer powerless"})

    assert missing.headers["www-authenticate"] == "Bearer"
    description = "The signature does not match (kid unknown)."
    assert invalid.headers["www-authenticate"] == f'Bearer error="invalid_token", error_description="{description}"'
    scope = "https://api.estate.example/collab/App.ReadWrite.All"
    assert powerless.headers["www-authenticate"] == f'Bearer error="insufficient_scope", scope="{scope}"'
    assert [answer.status_code for answer in (missing, invalid, powerless)] == [401, 401, 403]


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 202),
        ("application/json; charset=utf-8", 202),
        ("Application/JSON ;charset=utf-8", 202),
        ('application/json; CHARSET="UTF-8"; v=1', 202),
        ("application/json; charset=iso-8859-1", 415),
        ("application/json; charset=", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/json-seq", 415),
        ("text/json", 415),
        ("", 415),
    ],
)
async def test_a_body_must_say_that_it_is_json(api: httpx2.AsyncClient, content_type: str, status: int) -> None:
    body = b'{"displayName": "x", "templateId": "%s"}' % TEMPLATE.encode()

    answer = await api.post(GROUPS, content=body, headers={"content-type": content_type})

    assert answer.status_code == status


async def test_a_byte_order_mark_is_skipped(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    body = b'{"displayName": "x", "templateId": "%s"}' % TEMPLATE.encode()

    answer = await api.post(GROUPS, content=b"\xef\xbb\xbf" + body, headers=JSON)

    assert answer.status_code == 202
    assert http_fixture.orders[-1][2].body == body


async def test_a_body_must_not_be_packed(api: httpx2.AsyncClient) -> None:
    answer = await api.post(GROUPS, content=b"\x1f\x8b", headers=JSON | {"content-encoding": "gzip"})

    assert (answer.status_code, answer.json()["code"]) == (415, "notJsonContent")


async def test_no_body_is_no_json(api: httpx2.AsyncClient) -> None:
    answer = await api.post(GROUPS)

    assert (answer.status_code, answer.json()["code"]) == (400, "notJson")


async def pieces(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * 1024


async def test_a_body_without_a_length_is_bounded_too(api: httpx2.AsyncClient) -> None:
    largest = await api.post(GROUPS, content=pieces(LIMIT // 1024), headers=JSON)
    larger = await api.post(GROUPS, content=pieces(LIMIT // 1024 + 1), headers=JSON)

    assert (largest.status_code, largest.json()["code"]) == (400, "notJson")
    assert (larger.status_code, larger.json()["code"]) == (413, "bodyTooLarge")
    assert larger.headers["connection"] == "close"


async def silence() -> AsyncIterator[bytes]:
    yield b"{"
    await asyncio.get_running_loop().create_future()


async def test_it_does_not_wait_for_ever_for_a_body(http_fixture: HttpFixture) -> None:
    http_fixture.body_timeout_seconds = 0.01
    transport = httpx2.ASGITransport(app=http_fixture.app())

    async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
        answer = await client.post(GROUPS, content=silence(), headers=JSON | {"authorization": "Bearer ada"})

    assert (answer.status_code, answer.json()["code"]) == (400, "notJson")
    assert "0.01 seconds" in answer.json()["detail"]
    assert answer.headers["connection"] == "close"


async def test_every_answer_has_an_id_of_its_own(api: httpx2.AsyncClient) -> None:
    answers = [await api.get(path) for path in ("/health/live", "/nowhere", "/collab/v1/groups/", "/requests/v1/x/")]

    ids = [answer.headers["request-id"] for answer in answers]
    assert len(set(ids)) == len(ids)
    assert [answer.json()["traceId"] for answer in answers[1:]] == ids[1:]


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize(
    ("traceparent", "taken"),
    [
        (f"00-{TRACE}-00f067aa0ba902b7-01", True),
        (f"01-{TRACE}-00f067aa0ba902b7-01-more", True),
        (f"ff-{TRACE}-00f067aa0ba902b7-01", False),
        (f"00-{'0' * 32}-00f067aa0ba902b7-01", False),
        (f"00-{TRACE}-0000000000000000-01", False),
        (f"00-{TRACE.upper()}-00f067aa0ba902b7-01", False),
        (f"00-{TRACE}", False),
        ("", False),
    ],
)
async def test_it_joins_the_trace_of_its_caller(
    api: httpx2.AsyncClient, http_fixture: HttpFixture, traceparent: str, *, taken: bool
) -> None:
    answer = await api.post(GROUPS, json=BODY, headers={"traceparent": traceparent})

    assert answer.status_code == 202
    assert (answer.headers["request-id"] == TRACE) is taken
    assert http_fixture.orders[0][2].trace_id == answer.headers["request-id"]


@pytest.mark.parametrize(
    ("sent", "echoed"),
    [
        (b"9c1b7e5a-call", True),
        (b"x" * 128, True),
        (b"x" * 129, False),
        (b"two words", False),
        (b"\xe9", False),
        (b"", False),
    ],
)
async def test_it_echoes_the_id_of_the_client(api: httpx2.AsyncClient, sent: bytes, *, echoed: bool) -> None:
    for path in ("/health/live", "/nowhere"):
        answer = await api.get(path, headers=[(b"client-request-id", sent)])

        assert (answer.headers.get("client-request-id") == sent.decode("latin-1")) is echoed


async def test_a_bug_is_a_problem_that_tells_nothing(api: httpx2.AsyncClient, http_fixture: HttpFixture) -> None:
    http_fixture.refusal = ZeroDivisionError("the secret of the service")

    answer = await api.post(GROUPS, json=BODY, headers={"client-request-id": "mine"})

    assert (answer.status_code, answer.json()["code"]) == (500, "internalError")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["traceId"] == answer.headers["request-id"]
    assert answer.headers["client-request-id"] == "mine"
    assert "secret" not in answer.text
    assert http_fixture.observed == [(GROUPS, "POST", 500)]


async def test_others_live_below_their_prefix(http_fixture: HttpFixture) -> None:
    other = Starlette(routes=[Route("/v1.0/groups", lambda request: PlainTextResponse(request.url.path))])
    nobody = Starlette()
    transport = httpx2.ASGITransport(app=http_fixture.app({"": nobody, "/graph": other}))

    async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
        there = await client.get("/graph/v1.0/groups")
        not_there = await client.get("/graphs/v1.0/groups")
        elsewhere = await client.get("/graph/v1.0/groups", headers={"host": "evil.example"})

    assert (there.status_code, there.text) == (200, "/graph/v1.0/groups")
    assert not_there.status_code == 404
    assert elsewhere.status_code == 421


async def test_calls_of_others_are_measured_under_their_routes(http_fixture: HttpFixture) -> None:
    other = Starlette(routes=[Route("/v1.0/groups/{id}", lambda _: PlainTextResponse("", 202), methods=["GET"])])
    transport = httpx2.ASGITransport(app=http_fixture.app({"/graph": other}))

    async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
        await client.get("/graph/v1.0/groups/secret")
        await client.put("/graph/v1.0/groups/secret")
        await client.get("/graph/made-up")
        await client.get("/graph/v1.0/groups/secret", headers={"host": "evil.example"})

    assert http_fixture.observed == [
        ("/graph/v1.0/groups/{id}", "GET", 202),
        ("/graph/v1.0/groups/{id}", "PUT", 405),
        ("/graph/{path}", "GET", 404),
        ("unknown", "GET", 421),
    ]


async def fail(_request: Request) -> Response:
    raise ZeroDivisionError("a bug of another application")


async def test_a_bug_of_another_application_is_measured_as_one_of_the_api(http_fixture: HttpFixture) -> None:
    other = Router([Route("/bug", fail)])
    transport = httpx2.ASGITransport(app=http_fixture.app({"/pages": other}), raise_app_exceptions=False)

    async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
        failed = await client.get("/pages/bug")

    assert (failed.status_code, failed.json()["code"]) == (500, "internalError")
    assert http_fixture.observed == [("/pages/bug", "GET", 500)]


async def events(begun: asyncio.Event, proceed: asyncio.Event) -> AsyncIterator[bytes]:
    begun.set()
    yield b"data: 1\n\n"
    await proceed.wait()


async def test_a_stream_of_another_application_counts_without_its_length(http_fixture: HttpFixture) -> None:
    begun, proceed, times = asyncio.Event(), asyncio.Event(), list[float]()
    http = replace(http_fixture.http(), observe=lambda _path, _method, _status, seconds: times.append(seconds))

    async def stream(_request: Request) -> Response:
        return StreamingResponse(events(begun, proceed), media_type="text/event-stream")

    app = create_app(http, http_fixture.services(), {"/pages": Router([Route("/live", stream)])})
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=BASE) as client:
        before = perf_counter()
        calling = asyncio.create_task(client.get("/pages/live"))
        await begun.wait()
        begun_within = perf_counter() - before
        proceed.set()
        await calling

    assert 0 < times[0] <= begun_within


async def test_every_endpoint_but_health_asks_who_calls(api: httpx2.AsyncClient) -> None:
    del api.headers["authorization"]

    for endpoint in ENDPOINTS:
        path = re.sub(r"{\w+}", str(REQUEST), endpoint.path)
        answer = await api.request(endpoint.method, path)
        assert (answer.status_code == 401) is (endpoint.operation is not None), path


async def test_every_post_validates_the_idempotency_key(api: httpx2.AsyncClient) -> None:
    posts = [endpoint.path for endpoint in ENDPOINTS if endpoint.method == "POST"]
    unkeyed = []

    for path in posts:
        headers = {"authorization": f"Bearer {POST_CALLERS.get(path, 'administrator')}", "idempotency-key": "two words"}
        answer = await api.post(re.sub(r"{\w+}", TEMPLATE, path), json={}, headers=headers)
        told = answer.json()
        if "invalidParameter" not in (told["code"], *(fault["code"] for fault in told.get("errors", ()))):
            unkeyed.append((path, told))

    assert len(posts) > 20
    assert unkeyed == []


def test_every_row_of_the_table_can_be_told_from_the_others() -> None:
    assert len({(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}) == len(ENDPOINTS)
    assert len({endpoint.about.id for endpoint in ENDPOINTS}) == len(ENDPOINTS)
    for endpoint in ENDPOINTS:
        assert (endpoint.shape is not None) is (endpoint.method in {"POST", "PUT", "PATCH"})


def test_every_path_of_the_table_is_found() -> None:
    resources = Resources([ServedEndpoint(each, None) for each in ENDPOINTS])

    for endpoint in ENDPOINTS:
        for written in (endpoint.path, endpoint.path.rstrip("/")):
            resource, _ = resources.find(re.sub(r"{\w+}", "some", written))
            assert resource is not None, written
            assert resource.path == endpoint.path


async def post(app: ASGIApp, body: bytes, query: bytes = b"", **headers: str) -> int:
    """The status that this is answered with; without a client, which leaves much in memory."""
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    sent = {"host": "127.0.0.1:8365", "content-type": "application/json", "content-length": str(len(body)), **headers}
    raw = [(name.encode(), value.encode()) for name, value in sent.items()]
    scope = {"type": "http", "method": "POST", "path": GROUPS, "query_string": query, "headers": raw, "state": {}}
    await app(scope, receive, send)
    return statuses[0]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("body", "query", "who", "status"),
    [
        (msgspec.json.encode(BODY), b"", "ada", 202),
        (msgspec.json.encode(BODY), b"", "nobody", 401),
        (msgspec.json.encode(BODY), b"x=1", "ada", 400),
        (b'{"displayName": 1}', b"", "ada", 400),
        (b'{"displayName": "", "colour": "red"}', b"", "ada", 400),
        (b'{"displayName": 1}', b"x=1", "ada", 400),
        (b"[", b"", "ada", 400),
        (b"[", b"x=1", "ada", 400),
    ],
)
async def test_a_call_leaves_nothing_to_be_collected(
    http_fixture: HttpFixture, body: bytes, query: bytes, who: str, status: int
) -> None:
    app, number = http_fixture.app(), 100
    await post(app, body, query, authorization=f"Bearer {who}")

    before = collected_objects()
    statuses = {await post(app, body, query, authorization=f"Bearer {who}") for _ in range(number)}

    assert statuses == {status}
    assert collected_objects() - before < number


async def test_it_counts_the_permission_of_a_call_that_succeeds(
    api: httpx2.AsyncClient, http_fixture: HttpFixture
) -> None:
    accepted = await api.post(GROUPS, json=BODY)
    invalid = await api.post(GROUPS, json={})
    http_fixture.refusal = Forbidden("notAdministrator", "No.")
    refused = await api.post(GROUPS, json=BODY)
    public = await api.get("/health/live")

    assert [each.status_code for each in (accepted, invalid, refused, public)] == [202, 400, 403, 200]
    assert [operation for _, operation in http_fixture.uses] == [Operation.CREATE_GROUP]
