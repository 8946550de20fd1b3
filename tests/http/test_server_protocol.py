# SPDX-License-Identifier: Apache-2.0
"""Responses leave with one write, large ones in pieces, and none is lost at the end of a connection."""

import asyncio
import logging
import socket

import pytest
from starlette.types import Receive, Scope, Send

from chamberlain.app.listeners import GRACE_SECONDS, Listener, make_server
from chamberlain.fastpath.buffered_response import BufferedCall
from chamberlain.http.connections import Connection, Connections
from chamberlain.http.server_protocol import PacedTransport, ServerProtocol
from tests.garbage_collection import collected_objects
from tests.http.raw_client import HEAD, HEADERS, call, echo, served


class Recording(asyncio.Transport):
    """A transport that keeps what it is given, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.ended = ""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.ended
        self.sent.append(bytes(data))

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"

    def is_closing(self) -> bool:
        return bool(self.ended)

    def get_write_buffer_size(self) -> int:
        return 5


def paced(transport: asyncio.Transport, *, is_paused: bool = False) -> PacedTransport:
    listening = socket.socket()
    server = make_server(Listener(listening, None, no_application), Connections())
    listening.close()
    speaker = ServerProtocol(server.config, server.server_state, {})
    connection = Connection(Connections(), speaker, None)
    connection.transport = transport
    connection.is_paused = is_paused
    return PacedTransport(transport, connection)


async def no_application(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise AssertionError("The application was asked.")


async def test_it_works_and_head_and_body_leave_together() -> None:
    recording = Recording()
    transport = paced(recording)

    transport.write_answer(b"head ", b"body!")
    transport.writelines([b"ne", b"xt"])

    assert recording.sent == [b"head body!", b"ne", b"xt"]


async def test_it_counts_unsent_bytes() -> None:
    transport = paced(Recording(), is_paused=True)

    transport.write(b"four")

    assert transport.get_write_buffer_size() == 9


async def test_closing_loses_nothing() -> None:
    recording = Recording()
    transport = paced(recording)

    transport.write(b"last")
    transport.close()

    assert (recording.sent, recording.ended) == ([b"last"], "closed")


async def test_an_abort_sends_nothing_more() -> None:
    recording = Recording()
    transport = paced(recording, is_paused=True)

    transport.write(b"lost")
    transport.abort()

    assert (recording.sent, recording.ended) == ([], "aborted")


async def test_data_for_a_disconnected_client_is_dropped() -> None:
    recording = Recording()
    transport = paced(recording)

    recording.close()
    transport.write(b"late")

    assert recording.sent == []


async def test_it_speaks_over_a_real_connection() -> None:
    here, there = socket.socketpair()
    there.settimeout(0)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_connection(asyncio.Protocol, sock=here)
    whole = paced(transport)

    whole.pause_reading()
    whole.resume_reading()
    known = (whole.get_protocol(), whole.get_extra_info("socket"))
    whole.write(b"hello")
    whole.close()

    with there:
        assert await loop.sock_recv(there, 100) == b"hello"
    assert whole.is_closing()
    assert known[0] is protocol
    assert known[1] is not None


async def test_a_call_that_has_arrived_whole_is_had_whole() -> None:
    async with served(echo) as (reader, writer):
        first = await call(reader, writer, HEAD + b"{}")
        second = await call(reader, writer, HEAD + b"[]")

    status, *headers, body = first
    assert (status, body) == (b"HTTP/1.1 202 Accepted", b"{}")
    assert b"content-length: 2" in headers
    assert any(header.startswith(b"date: ") for header in headers)
    assert second[-1] == b"[]"


async def test_a_body_that_comes_later_is_received() -> None:
    begun = asyncio.Event()

    async def receive_it(whole: BufferedCall, receive: Receive, _send: Send) -> None:
        assert whole.body() is None
        begun.set()
        message = await receive()
        while message["more_body"]:
            message = await receive()
        assert whole.answer(202, HEADERS, message["body"])

    async with served(receive_it) as (reader, writer):
        writer.write(HEAD)
        await begun.wait()
        answer = await call(reader, writer, b"{}")

    assert answer[-1] == b"{}"


async def test_calls_that_come_together_are_answered_in_their_order() -> None:
    async with served(echo) as (reader, writer):
        writer.write(HEAD + b"11" + HEAD + b"22" + HEAD + b"33")
        bodies = [(await call(reader, writer))[-1] for _ in range(3)]

    assert bodies == [b"11", b"22", b"33"]


async def test_calls_leave_nothing_to_be_collected() -> None:
    number = 200
    async with served(echo) as (reader, writer):
        await call(reader, writer, HEAD + b"{}")
        before = collected_objects()
        for _ in range(number):
            await call(reader, writer, HEAD + b"{}")
        collected = collected_objects() - before

    # Each of them would leave ten objects. Some are the tests' own, and do not depend on the number of calls.
    assert collected < number


async def test_a_connection_ends_where_its_caller_wants_that() -> None:
    async with served(echo) as (reader, writer):
        answer = await call(reader, writer, HEAD.replace(b"Host", b"Connection: close\r\nHost") + b"{}")
        rest = await reader.read()

    assert b"connection: close" in answer
    assert rest == b""


async def test_a_connection_ends_where_the_answer_says_so_though_more_was_to_come() -> None:
    async def refuse(whole: BufferedCall, _receive: Receive, _send: Send) -> None:
        assert whole.body() is None
        assert whole.answer(408, [*HEADERS, (b"connection", b"close")], b"no")

    async with served(refuse) as (reader, writer):
        answer = await call(reader, writer, HEAD + b"{")
        async with asyncio.timeout(1):
            rest = await reader.read()

    assert answer.count(b"connection: close") == 1
    assert rest == b""


async def test_a_caller_who_waits_to_be_asked_for_the_body_is_asked() -> None:
    async def ask(whole: BufferedCall, receive: Receive, _send: Send) -> None:
        assert whole.body() is None
        message = await receive()
        while message["more_body"]:
            message = await receive()
        assert whole.answer(202, HEADERS, message["body"])

    async with served(ask) as (reader, writer):
        writer.write(HEAD.replace(b"Host", b"Expect: 100-continue\r\nHost"))
        asked = await reader.readuntil(b"\r\n\r\n")
        answer = await call(reader, writer, b"{}")

    assert asked == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answer[-1] == b"{}"


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"a\rb"])
async def test_it_rejects_a_header_with_a_line_break(value: bytes) -> None:
    async def answer(whole: BufferedCall, _receive: Receive, send: Send) -> None:
        with pytest.raises(ValueError, match="line break"):
            whole.answer(202, [*HEADERS, (b"location", value)], b"{}")
        await send({"type": "http.response.start", "status": 500, "headers": HEADERS})
        await send({"type": "http.response.body", "body": b"--"})

    async with served(answer) as (reader, writer):
        got = await call(reader, writer, HEAD + b"{}")

    assert got[0] == b"HTTP/1.1 500 Internal Server Error"
    assert not any(line.startswith(b"set-cookie") for line in got)


async def test_a_stop_ends_a_call_whose_body_does_not_come(caplog: pytest.LogCaptureFixture) -> None:
    begun = asyncio.Event()

    class ShortTimeoutProtocol(ServerProtocol):
        upload_seconds = 0.05

    async def application(_scope: Scope, receive: Receive, _send: Send) -> None:
        begun.set()
        while (await receive())["type"] != "http.disconnect":
            pass

    listening = socket.create_server(("127.0.0.1", 0))
    server = make_server(Listener(listening, None, application), Connections(), protocol=ShortTimeoutProtocol)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    reader, writer = await asyncio.open_connection(*listening.getsockname())
    writer.write(HEAD + b"{")
    await begun.wait()

    server.should_exit = True
    async with asyncio.timeout(GRACE_SECONDS / 2):
        await serving
        received = await reader.read()
    writer.close()

    # No work has begun, so the client can send it again.
    assert received == b""
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]
