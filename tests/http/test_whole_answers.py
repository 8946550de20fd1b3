"""What is written in one turn of the event loop leaves together, and nothing is lost at the end."""

import asyncio
import logging
import socket

import pytest
from starlette.types import Receive, Scope, Send

from chamberlain.app.listeners import GRACE_SECONDS, Listener, make_server
from chamberlain.http.body import WholeCall
from chamberlain.http.buffered_response import GatheringTransport, WholeAnswers
from chamberlain.http.connections import Connection, Connections
from tests.garbage import ever_collected
from tests.http.talks import HEAD, HEADERS, call, echo, served


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


def gathering(transport: asyncio.Transport) -> GatheringTransport:
    listening = socket.socket()
    server = make_server(Listener(listening, None, no_application), Connections())
    listening.close()
    speaker = WholeAnswers(server.config, server.server_state, {})
    connection = Connection(Connections(), speaker, None)
    connection.transport = transport
    return GatheringTransport(transport, asyncio.get_running_loop(), connection)


async def no_application(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise AssertionError("The application was asked.")


async def test_it_works_and_head_and_body_leave_together() -> None:
    recording = Recording()
    transport = gathering(recording)

    transport.write(b"head ")
    transport.writelines([b"body", b"!"])
    before = list(recording.sent)
    await asyncio.sleep(0)
    transport.write(b"next")
    await asyncio.sleep(0)

    assert before == []
    assert recording.sent == [b"head body!", b"next"]


async def test_it_counts_what_is_not_sent_yet() -> None:
    transport = gathering(Recording())

    transport.write(b"four")

    assert transport.get_write_buffer_size() == 9


async def test_a_polite_end_loses_nothing() -> None:
    recording = Recording()
    transport = gathering(recording)

    transport.write(b"farewell")
    transport.close()
    await asyncio.sleep(0)

    assert (recording.sent, recording.ended) == ([b"farewell"], "closed")


async def test_an_abrupt_end_sends_nothing_more() -> None:
    recording = Recording()
    transport = gathering(recording)

    transport.write(b"lost")
    transport.abort()
    await asyncio.sleep(0)

    assert (recording.sent, recording.ended) == ([], "aborted")


async def test_what_was_kept_is_dropped_when_the_client_has_left() -> None:
    recording = Recording()
    transport = gathering(recording)

    transport.write(b"late")
    recording.close()
    transport.flush()

    assert recording.sent == []


async def test_it_speaks_over_a_real_connection() -> None:
    here, there = socket.socketpair()
    there.settimeout(0)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_connection(asyncio.Protocol, sock=here)
    whole = gathering(transport)

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


async def test_what_was_kept_goes_before_what_is_sent_through() -> None:
    recording = Recording()
    transport = gathering(recording)

    transport.write(b"first ")
    transport.write_answer(b"sec", b"ond")
    await asyncio.sleep(0)
    transport.write_answer(b"thi", b"rd")

    assert recording.sent == [b"first second", b"third"]


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

    async def receive_it(whole: WholeCall, receive: Receive, _send: Send) -> None:
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
        before = ever_collected()
        for _ in range(number):
            await call(reader, writer, HEAD + b"{}")
        collected = ever_collected() - before

    # Each of them would leave ten objects. Some are the tests' own, and do not depend on the number of calls.
    assert collected < number


async def test_a_connection_ends_where_its_caller_wants_that() -> None:
    async with served(echo) as (reader, writer):
        answer = await call(reader, writer, HEAD.replace(b"Host", b"Connection: close\r\nHost") + b"{}")
        rest = await reader.read()

    assert b"connection: close" in answer
    assert rest == b""


async def test_a_connection_ends_where_the_answer_says_so_though_more_was_to_come() -> None:
    async def refuse(whole: WholeCall, _receive: Receive, _send: Send) -> None:
        assert whole.body() is None
        assert whole.answer(408, [*HEADERS, (b"connection", b"close")], b"no")

    async with served(refuse) as (reader, writer):
        answer = await call(reader, writer, HEAD + b"{")
        async with asyncio.timeout(1):
            rest = await reader.read()

    assert answer.count(b"connection: close") == 1
    assert rest == b""


async def test_whoever_waits_to_be_asked_for_the_body_is_asked() -> None:
    async def ask(whole: WholeCall, receive: Receive, _send: Send) -> None:
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
    async def answer(whole: WholeCall, _receive: Receive, send: Send) -> None:
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

    class Hasty(WholeAnswers):
        upload_seconds = 0.05

    async def application(_scope: Scope, receive: Receive, _send: Send) -> None:
        begun.set()
        while (await receive())["type"] != "http.disconnect":
            pass

    listening = socket.create_server(("127.0.0.1", 0))
    server = make_server(Listener(listening, None, application), Connections(), protocol=Hasty)
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
