# SPDX-License-Identifier: Apache-2.0
"""Behaviour that needs a real server and a real connection."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from chamberlain.app.listeners import Listener, make_server
from chamberlain.http.connections import Connections
from tests.http.http_fixture import TEMPLATE, HttpFixture

BODY = b'{"displayName": "Hooked", "templateId": "%s"}' % TEMPLATE.encode()


@dataclass
class Connection:
    """A connection that sends exactly the given bytes."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def say(self, data: bytes) -> None:
        self.writer.write(data)

    async def hear(self) -> tuple[int, dict[str, str], bytes]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("ascii").split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return int(head[0].split()[1]), headers, body


def post(length: int | None = len(BODY)) -> bytes:
    framing = b"Transfer-Encoding: chunked" if length is None else b"Content-Length: %d" % length
    return (
        b"POST /collab/v1/groups/ HTTP/1.1\r\nHost: 127.0.0.1:8365\r\nAuthorization: Bearer ada\r\n"
        b"Content-Type: application/json\r\n" + framing + b"\r\n\r\n"
    )


@pytest.fixture
async def port(http_fixture: HttpFixture) -> AsyncIterator[int]:
    # The socket listens before the server starts, so no client has to wait for it.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = make_server(Listener(listener, None, http_fixture.app()), Connections())
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        yield listener.getsockname()[1]
        server.should_exit = True
        await serving


@pytest.fixture
async def connection(port: int) -> AsyncIterator[Connection]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with asyncio.timeout(10):
        yield Connection(reader, writer)
    writer.close()


async def test_it_works(connection: Connection) -> None:
    for _ in range(2):
        connection.say(post() + BODY)
        status, headers, _ = await connection.hear()

        assert status == 202
        assert "request-id" in headers


async def test_it_takes_a_body_in_pieces(connection: Connection) -> None:
    connection.say(post(None))
    for byte in BODY:
        connection.say(b"1\r\n%c\r\n" % byte)
    connection.say(b"0\r\n\r\n")

    assert (await connection.hear())[0] == 202


async def test_it_does_not_read_on_when_a_body_is_too_large(connection: Connection) -> None:
    connection.say(post(10_000_000) + b" " * 1000)

    status, headers, _ = await connection.hear()

    assert (status, headers["connection"]) == (413, "close")
    # Long before the server closes connections on which nothing happens.
    async with asyncio.timeout(1):
        assert await connection.reader.read() == b""


async def test_a_refused_token_spoils_nothing_that_follows(connection: Connection) -> None:
    connection.say(post().replace(b"Bearer ada", b"Bearer forged") + BODY + post() + BODY)

    assert [(await connection.hear())[0] for _ in range(2)] == [401, 202]


async def test_head_has_no_body(connection: Connection) -> None:
    connection.say(b"HEAD /health/live HTTP/1.1\r\nHost: 127.0.0.1:8365\r\n\r\n")

    head = await connection.reader.readuntil(b"\r\n\r\n")
    connection.say(post() + BODY)

    assert b"content-length: 29" in head
    assert (await connection.hear())[0] == 202


async def test_a_caller_who_leaves_is_no_error(
    connection: Connection, http_fixture: HttpFixture, caplog: pytest.LogCaptureFixture
) -> None:
    connection.say(post() + BODY[:10])
    await connection.writer.drain()
    connection.writer.close()

    async with asyncio.timeout(10):
        await http_fixture.answered.wait()
    assert http_fixture.observed == [("/collab/v1/groups/", "POST", 499)]
    assert not [entry for entry in caplog.records if entry.levelno >= logging.WARNING]


async def test_a_bug_is_logged_once_with_its_traceback(
    connection: Connection, http_fixture: HttpFixture, caplog: pytest.LogCaptureFixture
) -> None:
    http_fixture.refusal = ZeroDivisionError("the secret of the service")

    connection.say(post() + BODY)
    status, headers, body = await connection.hear()

    assert status == 500
    assert headers["content-type"] == "application/problem+json"
    assert b"secret" not in body
    [entry] = [entry for entry in caplog.records if entry.levelno >= logging.WARNING]
    assert entry.exc_info is not None
    assert entry.exc_info[1] is http_fixture.refusal
    assert http_fixture.refusal.__notes__ == [f"traceId: {headers['request-id']}"]
