# SPDX-License-Identifier: Apache-2.0
"""Clients that connect and do not go on: which connections are closed, and that all others are served."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from ipaddress import ip_network
from pathlib import Path
from time import monotonic

import pytest
from starlette.types import Receive, Scope, Send

from chamberlain.app.listeners import Listener, make_server
from chamberlain.embedded.identity.certificates import make_server_certificate
from chamberlain.fastpath.buffered_response import BufferedCall
from chamberlain.http.connections import (
    HANDSHAKE_SECONDS,
    LEAST_TAKEN,
    READ_SIZE,
    WRITE_SECONDS,
    Connection,
    ConnectionLimits,
    Connections,
    Refusals,
    Refused,
)
from chamberlain.http.server_protocol import ServerProtocol
from chamberlain.observability.metrics import exposition_without_database
from tests.http.raw_client import HEAD, HEADERS, Talk, call, echo, served

# More than the kernel keeps for a client that does not read.
LARGE = b"x" * 16 * 1024 * 1024
LARGE_HEADERS = [(b"content-length", b"%d" % len(LARGE))]
Tls = tuple[ssl.SSLContext, ssl.SSLContext] | None


@pytest.fixture(params=[False, True], ids=["plain", "TLS"])
def tls(request: pytest.FixtureRequest, tmp_path: Path) -> Tls:
    return tls_in(tmp_path) if request.param else None


def tls_in(folder: Path) -> Tls:
    certificate = make_server_certificate(folder, datetime.now(UTC))
    return certificate.context, ssl.create_default_context(cadata=certificate.authority_pem)


async def answer_large(whole: BufferedCall, _receive: Receive, _send: Send) -> None:
    assert whole.answer(200, LARGE_HEADERS, LARGE)


def refused(kind: Refused) -> float:
    """How many connections were refused for this reason, as the metric shows it."""
    line = f'chamberlain_connections_refused_total{{reason="{kind}"}} '
    found = [each for each in exposition_without_database().decode().splitlines() if each.startswith(line)]
    return float(found[0].removeprefix(line)) if found else 0.0


def in_time(seconds: float) -> float:
    """The moment that is so many seconds away, on the clock of the connections."""
    return monotonic() + seconds


async def until_the_end(talk: Talk) -> int:
    """How many bytes come until the connection ends, however it does."""
    size = 0
    with suppress(ConnectionError):
        while piece := await talk[0].read(1_000_000):
            size += len(piece)
    return size


async def until(met: Callable[[], object]) -> None:
    """Let the server go on until it has come so far; `served` sets the time limit."""
    while True:
        if met():
            return
        await asyncio.sleep(0)


async def until_unread(connections: Connections) -> None:
    await until(lambda: connections.unread)


@asynccontextmanager
async def another(talk: Talk) -> AsyncIterator[Talk]:
    """One more connection to the same server, without TLS."""
    reader, writer = await asyncio.open_connection(*talk[1].get_extra_info("peername"))
    try:
        yield reader, writer
    finally:
        writer.close()


async def test_a_client_that_does_not_read_is_cut_off(tls: Tls) -> None:
    connections, before = Connections(), refused(Refused.ANSWER_NOT_READ)
    async with served(answer_large, connections=connections, tls=tls) as talk:
        talk[1].write(HEAD + b"{}")
        await until_unread(connections)
        connections.sweep(in_time(WRITE_SECONDS - 1))
        kept = connections.unread
        connections.sweep(in_time(WRITE_SECONDS + 1))

        assert await until_the_end(talk) < len(LARGE)
    assert kept == 1
    assert refused(Refused.ANSWER_NOT_READ) == before + 1


async def test_a_client_that_is_cut_off_leaves_nothing_in_the_kernel() -> None:
    connections = Connections()
    async with served(answer_large, connections=connections) as talk:
        talk[1].write(HEAD + b"{}")
        await until_unread(connections)
        connections.sweep(in_time(WRITE_SECONDS + 1))

        # A reset drops what was not sent. An ordinary end waits until the client has read it.
        with pytest.raises(ConnectionResetError):
            await talk[0].read()


async def test_a_client_that_reads_slowly_gets_the_whole_answer(tls: Tls) -> None:
    connections = Connections()
    async with served(answer_large, connections=connections, tls=tls) as talk:
        talk[1].write(HEAD + b"{}")
        await until_unread(connections)
        await talk[0].readuntil(b"\r\n\r\n")
        size = 0
        while size < len(LARGE):
            size += len(await talk[0].readexactly(min(1024 * LEAST_TAKEN, len(LARGE) - size)))
            # Each sweep comes more than one deadline after the last that saw the client read.
            connections.sweep(in_time(WRITE_SECONDS * size / LEAST_TAKEN))

        assert size == len(LARGE)
        assert connections.unread == 0


async def test_a_client_that_ends_its_side_of_the_connection_gets_the_whole_answer() -> None:
    connections = Connections()
    async with served(answer_large, connections=connections) as talk:
        talk[1].write(HEAD + b"{}")
        await until_unread(connections)

        talk[1].write_eof()

        await talk[0].readuntil(b"\r\n\r\n")
        assert await until_the_end(talk) == len(LARGE)


async def test_a_client_that_ends_its_side_and_does_not_read_is_cut_off() -> None:
    connections = Connections()
    async with served(answer_large, connections=connections) as talk:
        talk[1].write(HEAD + b"{}")
        await until_unread(connections)
        talk[1].write_eof()
        for _ in range(20):
            await asyncio.sleep(0)
        connections.sweep(in_time(WRITE_SECONDS + 1))

        assert await until_the_end(talk) < len(LARGE)


async def test_a_quiet_stream_stays_open(tls: Tls) -> None:
    go_on = asyncio.Event()

    async def stream(_whole: BufferedCall, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await go_on.wait()
        await send({"type": "http.response.body", "body": b"two", "more_body": False})

    connections = Connections()
    async with served(stream, connections=connections, tls=tls) as talk:
        talk[1].write(HEAD + b"{}")
        await talk[0].readuntil(b"one\r\n")
        connections.sweep(in_time(1_000))
        go_on.set()

        assert await talk[0].readuntil(b"two\r\n") == b"3\r\ntwo\r\n"


async def test_a_stream_that_is_not_read_is_cut_off(tls: Tls) -> None:
    ended = asyncio.Event()

    async def stream(_whole: BufferedCall, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        gone = asyncio.create_task(receive_end(receive))
        while not gone.done():
            await send({"type": "http.response.body", "body": LARGE[:100_000], "more_body": True})
            await asyncio.sleep(0)
        ended.set()

    connections = Connections()
    async with served(stream, connections=connections, tls=tls) as talk:
        talk[1].write(HEAD + b"{}")
        # The client of the test reads by itself until it has had enough.
        await until_unread(connections)
        connections.sweep(in_time(0))
        connections.sweep(in_time(WRITE_SECONDS + 1))
        await ended.wait()


async def receive_end(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def test_a_call_waits_until_the_answer_before_it_is_read(tls: Tls) -> None:
    begun = 0

    async def count(whole: BufferedCall, receive: Receive, send: Send) -> None:
        nonlocal begun
        begun += 1
        await answer_large(whole, receive, send)

    connections = Connections()
    async with served(count, connections=connections, tls=tls) as talk:
        talk[1].write((HEAD + b"{}") * 3)
        await until_unread(connections)
        begun_unread = begun
        for _ in range(3):
            await talk[0].readuntil(b"\r\n\r\n")
            assert await talk[0].readexactly(len(LARGE)) == LARGE

    assert (begun_unread, begun) == (1, 3)


async def test_a_client_that_hangs_up_before_its_answers_leaves_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def wait(whole: BufferedCall, _receive: Receive, _send: Send) -> None:
        assert whole.body() == b"{}"
        begun.set()
        await may_end.wait()
        assert whole.answer(202, HEADERS, b"ok")
        ended.set()

    connections = Connections()
    async with served(wait, connections=connections) as talk:
        talk[1].write((HEAD + b"{}") * 2)
        await begun.wait()
        talk[1].transport.abort()
        await until(lambda: not connections.count)
        may_end.set()
        await ended.wait()

    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]


async def test_calls_ahead_are_left_in_the_kernel() -> None:
    may_end = asyncio.Event()
    held: list[int] = []

    async def wait(whole: BufferedCall, _receive: Receive, _send: Send) -> None:
        await may_end.wait()
        assert whole.answer(202, HEADERS, b"ok")

    number = 20_000
    connections = Connections()
    async with served(wait, connections=connections) as talk:
        talk[1].write((HEAD + b"{}") * number)
        await until(connections.held)
        for _ in range(200):
            await asyncio.sleep(0)
            held.append(connections.held())
        may_end.set()
        for _ in range(number):
            assert (await call(*talk))[-1] == b"ok"

    assert 0 < max(held) <= 2 * READ_SIZE


async def test_at_the_cap_the_connection_without_progress_for_longest_makes_room() -> None:
    connections, before = Connections(ConnectionLimits(most=3)), refused(Refused.TOO_MANY_CONNECTIONS)
    async with served(echo, connections=connections) as first, another(first) as second, another(first) as third:
        for talk in (first, second, third, first):
            assert (await call(*talk, HEAD + b"{}"))[-1] == b"{}"
        async with another(first) as fourth:
            assert (await call(*fourth, HEAD + b"{}"))[-1] == b"{}"

            assert await until_the_end(second) == 0
            assert (await call(*first, HEAD + b"{}"))[-1] == b"{}"
            assert (await call(*third, HEAD + b"{}"))[-1] == b"{}"
    assert refused(Refused.TOO_MANY_CONNECTIONS) == before + 1


async def test_at_the_cap_a_call_under_way_is_not_cut_off_before_idle_ones() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def wait(whole: BufferedCall, _receive: Receive, _send: Send) -> None:
        if whole.body() == b"[]":
            begun.set()
            await may_end.wait()
        assert whole.answer(202, HEADERS, b"ok")

    async with served(wait, connections=Connections(ConnectionLimits(most=2))) as first:
        first[1].write(HEAD + b"[]")
        await begun.wait()
        async with another(first) as second:
            assert (await call(*second, HEAD + b"{}"))[-1] == b"ok"
            async with another(first) as third:
                assert (await call(*third, HEAD + b"{}"))[-1] == b"ok"
                may_end.set()

                assert (await call(*first))[-1] == b"ok"
                assert await until_the_end(second) == 0


async def test_an_address_at_its_cap_gets_no_further_connection() -> None:
    connections, before = Connections(ConnectionLimits(most_of_address=2)), refused(Refused.TOO_MANY_OF_ADDRESS)
    async with served(echo, connections=connections) as first:
        async with another(first) as second:
            assert (await call(*second, HEAD + b"{}"))[-1] == b"{}"
            async with another(first) as third:
                assert await until_the_end(third) == 0
        await until(lambda: connections.count == 1)
        async with another(first) as fourth:
            assert (await call(*fourth, HEAD + b"{}"))[-1] == b"{}"
    assert refused(Refused.TOO_MANY_OF_ADDRESS) == before + 1


async def test_addresses_of_one_ipv6_network_count_as_one() -> None:
    connections = Connections(ConnectionLimits(most_of_address=1))
    addresses = ["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "::ffff:192.0.2.1", "192.0.2.1", "192.0.2.2"]

    admitted = [connections.admit(connection_from(address)) for address in addresses]

    assert admitted == [True, False, True, True, False, True]


def connection_from(address: str) -> Connection:
    """A connection of such a client, without a socket."""
    with socket.socket() as listening:
        server = make_server(Listener(listening, None, no_application), Connections())
    connection = Connection(Connections(), ServerProtocol(server.config, server.server_state, {}), None)
    connection.address = address
    return connection


async def no_application(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise AssertionError("The application was called.")


async def test_a_trusted_proxy_has_no_cap() -> None:
    limits = ConnectionLimits(most_of_address=1, exempt=(ip_network("127.0.0.0/8"),))
    async with served(echo, connections=Connections(limits)) as first, another(first) as second:
        assert (await call(*second, HEAD + b"{}"))[-1] == b"{}"
        assert (await call(*first, HEAD + b"{}"))[-1] == b"{}"


async def test_a_client_that_does_not_complete_the_handshake_is_cut_off(tmp_path: Path) -> None:
    connections, before = Connections(), refused(Refused.HANDSHAKE_TOO_SLOW)
    async with served(echo, connections=connections, tls=tls_in(tmp_path)) as talk:
        async with another(talk) as silent:
            await until(lambda: connections.count == 2)
            connections.sweep(in_time(HANDSHAKE_SECONDS + 1))

            assert await until_the_end(silent) == 0
        assert (await call(*talk, HEAD + b"{}"))[-1] == b"{}"
    assert refused(Refused.HANDSHAKE_TOO_SLOW) == before + 1


def test_an_attack_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    refusals = Refusals()
    for number in range(1_000):
        refusals.add(Refused.ANSWER_NOT_READ, "192.0.2.1", now=number / 1_000)
    refusals.add(Refused.NOT_HTTP, "192.0.2.2", now=1)
    at_once = len(caplog.records)
    refusals.log_due(now=61)
    refusals.log_due(now=200)

    assert at_once == 2
    lines = [each.__dict__ for each in caplog.records if each.levelno == logging.WARNING]
    assert [(line["kind"], line["count"]) for line in lines] == [
        (Refused.ANSWER_NOT_READ, 1), (Refused.NOT_HTTP, 1), (Refused.ANSWER_NOT_READ, 999),
    ]  # fmt: skip
