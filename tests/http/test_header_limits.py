# SPDX-License-Identifier: Apache-2.0
"""The head of a call: permitted contents, size and time."""

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.types import Receive, Send

from chamberlain.embedded.identity.certificates import make_server_certificate
from chamberlain.fastpath.buffered_response import BufferedCall
from chamberlain.http.server_protocol import LIMIT, ServerProtocol
from tests.http.raw_client import HEAD, HEADERS, Talk, Work, call, echo, receive_it, served

pytestmark = pytest.mark.heavy

BEGIN = b"GET / HTTP/1.1\r\nX-A: "
CHUNKED = HEAD.replace(b"Content-Length: 2", b"Transfer-Encoding: chunked")
UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nHost"


class ShortTimeoutProtocol(ServerProtocol):
    """Waits no longer than a test does."""

    head_seconds = 0.2
    close_seconds = 0.05


async def never(_whole: BufferedCall, _receive: Receive, _send: Send) -> None:
    """For what must be no call."""
    raise AssertionError("The application was asked.")


def head_of(size: int) -> bytes:
    return BEGIN + b"a" * (size - len(BEGIN) - 4) + b"\r\n\r\n"


def pieces(data: bytes, size: int) -> Iterable[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


async def say(talk: Talk, data: bytes, *, piece: int) -> None:
    """Say it in pieces, as far as the other side listens."""
    with suppress(ConnectionError):
        for each in pieces(data, piece):
            talk[1].write(each)
            await talk[1].drain()
            # Let the server read it on its own.
            await asyncio.sleep(0)


@asynccontextmanager
async def saying(talk: Talk, data: bytes, *, piece: int = 1000) -> AsyncIterator[None]:
    """Say it meanwhile."""
    task = asyncio.create_task(say(talk, data, piece=piece))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


@asynccontextmanager
async def dripping(talk: Talk, data: bytes) -> AsyncIterator[None]:
    """Say it again and again meanwhile."""

    async def drip() -> None:
        while True:
            await say(talk, data, piece=len(data))
            await asyncio.sleep(0.01)

    task = asyncio.create_task(drip())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until_the_end(talk: Talk) -> bytes:
    """Read until the connection ends, however it does."""
    said = b""
    async with asyncio.timeout(5):
        with suppress(ConnectionError):
            while piece := await talk[0].read(10_000):
                said += piece
    return said


@pytest.mark.parametrize("piece", [LIMIT, 10_000])
async def test_it_works_up_to_the_limit(piece: int) -> None:
    async with served(echo) as talk:
        for _ in range(2):
            await say(talk, head_of(LIMIT), piece=piece)

            assert (await call(*talk))[0] == b"HTTP/1.1 202 Accepted"


@pytest.mark.parametrize("piece", [LIMIT * 20, 10_000])
@pytest.mark.parametrize(
    "head",
    [
        pytest.param(head_of(LIMIT + 1), id="one byte too many"),
        pytest.param(BEGIN + b"a" * LIMIT * 20, id="a header without end"),
        pytest.param(b"GET /" + b"a" * LIMIT * 20, id="an address without end"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 50_000, id="headers without end"),
        pytest.param(b"\r\n" * LIMIT * 2, id="lines before it without end"),
    ],
)
async def test_it_rejects_a_longer_one(head: bytes, piece: int) -> None:
    async with served(never) as talk, saying(talk, head, piece=piece):
        status, *headers = (await talk[0].readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
        named = dict(header.split(": ") for header in headers)
        body = await talk[0].readexactly(int(named["content-length"]))

    assert status == "HTTP/1.1 431 Request Header Fields Too Large"
    assert (named["connection"], named["content-type"]) == ("close", "application/problem+json")
    problem = json.loads(body)
    assert (problem["code"], problem["status"], problem["instance"]) == ("headTooLarge", 431, "/")
    assert problem["traceId"] == named["request-id"]


async def test_it_rejects_a_longer_one_over_tls(tmp_path: Path) -> None:
    certificate = make_server_certificate(tmp_path, datetime.now(UTC))
    trusting = ssl.create_default_context(cadata=certificate.authority_pem)
    tls = (certificate.context, trusting)

    async with served(never, protocol=ShortTimeoutProtocol, tls=tls) as talk, saying(talk, BEGIN + b"a" * LIMIT * 20):
        said = await until_the_end(talk)

    assert said.count(b"HTTP/1.1 431 ") == said.count(b"HTTP/1.1") == 1


async def test_a_body_of_any_length_is_none_of_its_business() -> None:
    body = b"b" * LIMIT * 5
    begun = HEAD.replace(b": 2", b": %d" % len(body)) + body
    chunked = CHUNKED + b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in pieces(body, 100)) + b"0\r\n\r\n"

    async def count_it(whole: BufferedCall, receive: Receive, _send: Send) -> None:
        size, more = 0, True
        while more:
            message = await receive()
            size, more = size + len(message["body"]), message["more_body"]
        assert whole.answer(202, HEADERS, b"ok" if size == len(body) else b"no")

    async with served(count_it) as talk:
        assert (await call(*talk, begun + begun))[-1] == (await call(*talk))[-1] == b"ok"
        assert (await call(*talk, chunked))[-1] == b"ok"


@pytest.mark.parametrize("begin", [b"2\r\nhi\r\n0\r\nX-A: ", b"2\r\nhi\r\n0;", b"2;"])
@pytest.mark.parametrize("work", [echo, receive_it])
async def test_it_rejects_what_stands_between_and_behind_chunks_without_end(begin: bytes, work: Work) -> None:
    async with served(work, protocol=ShortTimeoutProtocol) as talk, saying(talk, CHUNKED + begin + b"a" * LIMIT * 4):
        said = await until_the_end(talk)

    assert b" 431 " not in said


async def test_a_head_that_is_too_long_is_refused_behind_the_answer_to_the_call_before_it() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def wait(whole: BufferedCall, _receive: Receive, _send: Send) -> None:
        begun.set()
        await may_end.wait()
        assert whole.answer(202, HEADERS, b"ok")

    async with served(wait, protocol=ShortTimeoutProtocol) as talk:
        talk[1].write(HEAD + b"{}")
        await begun.wait()
        async with saying(talk, BEGIN + b"a" * LIMIT * 2):
            may_end.set()
            said = await until_the_end(talk)

    assert [line for line in said.split(b"\r\n") if b"HTTP/1.1" in line] == [
        b"HTTP/1.1 202 Accepted", b"okHTTP/1.1 431 Request Header Fields Too Large",
    ]  # fmt: skip


@pytest.mark.parametrize("begin", [b"", b"GET", HEAD[:-2], b"\r\n", HEAD + b"{}" + HEAD[:-2]])
async def test_a_connection_ends_when_the_head_does_not_come(begin: bytes) -> None:
    async with served(echo, protocol=ShortTimeoutProtocol, idle_seconds=0.2) as talk:
        talk[1].write(begin)
        said = await until_the_end(talk)

    assert said.count(b"HTTP/1.1") == begin.count(b"{}")


@pytest.mark.parametrize("begin", [b"", HEAD + b"{}"])
@pytest.mark.parametrize("endless", [b"\r\n", b"X: a\r\n"])
async def test_a_connection_ends_when_the_head_does_not_end(begin: bytes, endless: bytes) -> None:
    async with served(echo, protocol=ShortTimeoutProtocol, idle_seconds=0.2) as talk:
        talk[1].write(begin + (b"GET / HTTP/1.1\r\n" if b"X" in endless else b""))
        async with dripping(talk, endless):
            said = await until_the_end(talk)

    assert said.count(b"HTTP/1.1") == begin.count(b"{}")


async def test_a_call_that_is_under_way_is_not_ended_by_half_a_head_behind_it() -> None:
    may_end = asyncio.Event()

    async def take_long(whole: BufferedCall, _receive: Receive, _send: Send) -> None:
        await may_end.wait()
        assert whole.answer(202, HEADERS, b"ok")

    async with served(take_long, protocol=ShortTimeoutProtocol) as talk:
        talk[1].write(HEAD + b"{}")
        await talk[1].drain()
        await say(talk, HEAD[:20], piece=5)
        asyncio.get_running_loop().call_later(ShortTimeoutProtocol.head_seconds * 2, may_end.set)

        assert (await call(*talk))[-1] == b"ok"
        assert (await call(*talk, HEAD[20:] + b"{}"))[-1] == b"ok"


@pytest.mark.parametrize("piece", [1, 10_000])
@pytest.mark.parametrize(
    ("head", "body"), [(HEAD, b"{}"), (CHUNKED, b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"), (HEAD.replace(b"2", b"0"), b"")]
)
async def test_an_upgrade_that_is_not_offered_is_ignored(
    head: bytes, body: bytes, piece: int, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[dict[bytes, bytes]] = []

    class RecordingProtocol(ServerProtocol):
        def on_headers_complete(self) -> None:
            super().on_headers_complete()
            seen.append(dict(self.scope["headers"]))

    async with served(receive_it if body else echo, protocol=RecordingProtocol) as talk:
        await say(talk, (head.replace(b"Host", UPGRADE) + body) * 2, piece=piece)
        answers = [await call(*talk) for _ in range(2)]

    assert [(each[0], each[-1]) for each in answers] == [(b"HTTP/1.1 202 Accepted", b"{}" if body else b"no")] * 2
    assert (seen[-1][b"host"], seen[-1][b"http2-settings"]) == (b"here", b"AAMAAABk")
    assert not [entry for entry in caplog.records if entry.levelno >= logging.WARNING]


async def test_what_stands_behind_a_body_is_no_header() -> None:
    seen: list[list[tuple[bytes, bytes]]] = []

    class RecordingProtocol(ServerProtocol):
        def on_headers_complete(self) -> None:
            super().on_headers_complete()
            seen.append(self.scope["headers"])  # type: ignore[arg-type]  # It is a list with this server.

    async with served(echo, protocol=RecordingProtocol) as talk:
        answer = await call(*talk, CHUNKED + b"2\r\n{}\r\n0\r\nHost: there\r\nAuthorization: Bearer b\r\n\r\n")

    assert answer[-1] == b"{}"
    assert seen == [[(b"host", b"here"), (b"transfer-encoding", b"chunked")]]


async def test_a_body_behind_an_upgrade_is_no_call() -> None:
    smuggled = b"GET /health/live HTTP/1.1\r\nHost: here\r\n\r\n"
    bodies: list[bytes] = []

    async def keep_it(whole: BufferedCall, receive: Receive, _send: Send) -> None:
        bodies.append((await receive())["body"])
        assert whole.answer(202, HEADERS, b"ok")

    async with served(keep_it) as talk:
        talk[1].write(HEAD.replace(b"Host", UPGRADE).replace(b": 2", b": %d" % len(smuggled)))
        await talk[1].drain()
        await say(talk, smuggled, piece=len(smuggled))
        await call(*talk)
        talk[1].write_eof()
        rest = await talk[0].read()

    assert (bodies[-1], rest) == (smuggled, b"")


async def test_a_connection_ends_where_an_upgrade_comes_with_that_wish() -> None:
    async with served(echo) as talk:
        talk[1].write(HEAD.replace(b"Host", b"Connection: Upgrade, close\r\nUpgrade: foo\r\nHost") + b"{}")

        assert b"connection: close" in (answer := await call(*talk))
        assert answer[-1] == b"{}"
        assert await talk[0].read() == b""


async def test_it_rejects_a_tunnel() -> None:
    async with served(never) as talk:
        talk[1].write(b"CONNECT /there HTTP/1.1\r\nHost: here\r\n\r\nGET / HTTP/1.1\r\n\r\n")
        said = await talk[0].read()

    assert said.startswith(b"HTTP/1.1 400 ")
    assert said.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("dripped", [b"b", b"1\r\nb\r\n"])
async def test_whoever_was_answered_keeps_no_connection_with_the_rest_of_a_body(dripped: bytes) -> None:
    head = HEAD.replace(b": 2", b": 100000000") if len(dripped) == 1 else CHUNKED
    async with served(echo, idle_seconds=0.2) as talk:
        answer = await call(*talk, head)
        async with dripping(talk, dripped):
            rest = await until_the_end(talk)

    assert (answer[-1], rest) == (b"no", b"")


async def test_a_body_that_comes_behind_its_answer_spoils_nothing() -> None:
    may_end = asyncio.Event()

    async def answer(whole: BufferedCall, _receive: Receive, _send: Send) -> None:
        body = whole.body()
        if body == b"[]":
            await may_end.wait()
        assert whole.answer(202, HEADERS, body or b"no")

    async with served(answer, idle_seconds=0.3) as talk:
        first = await call(*talk, HEAD)
        talk[1].write(b"{}" + HEAD + b"[]")
        # The next call takes longer than the connection would have waited for the body of the first.
        asyncio.get_running_loop().call_later(0.5, may_end.set)
        second = await call(*talk)

    assert (first[-1], second[-1]) == (b"no", b"[]")


async def test_a_call_is_over_when_its_body_has_come_behind_its_answer() -> None:
    async with served(echo) as talk:
        await call(*talk, HEAD)
        async with saying(talk, b"{}" + head_of(LIMIT * 2)):
            said = await talk[0].readline()

    assert said == b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
