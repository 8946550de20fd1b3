# SPDX-License-Identifier: Apache-2.0
"""Of several hosts the one that leads is found, whatever the others do."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from chamberlain.core.errors import Unavailable
from chamberlain.database.connection import Hosts, are_several, single_addresses
from chamberlain.database.notify import listen
from chamberlain.database.transactions import Database, connect, open_database
from tests.databases import Databases
from tests.postgres import connected

pytestmark = pytest.mark.heavy


@contextmanager
def hanging_host() -> Iterator[str]:
    """A host whose connections are made by its system, and which then says nothing, as one that is frozen."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def absent_host() -> Iterator[str]:
    """A host without a listener."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgresql://role:p%40ss@one/name", ["postgresql://role:p%40ss@one/name"]),
        ("postgresql://role@/name?host=/run/one&port=5432", ["postgresql://role@/name?host=/run/one&port=5432"]),
        (
            "postgresql://role:p%40ss@one:5432,[::1]:5433/name",
            [
                "postgresql://role:p%40ss@one:5432/name?target_session_attrs=primary",
                "postgresql://role:p%40ss@[::1]:5433/name?target_session_attrs=primary",
            ],
        ),
        (
            "postgresql://role@one,two/name?sslmode=require&target_session_attrs=read-write",
            [
                "postgresql://role@one/name?sslmode=require&target_session_attrs=read-write",
                "postgresql://role@two/name?sslmode=require&target_session_attrs=read-write",
            ],
        ),
    ],
)
def test_it_works(address: str, expected: list[str]) -> None:
    assert single_addresses(address) == expected
    assert are_several(address) is (len(expected) > 1)


@pytest.mark.parametrize("other", [hanging_host, absent_host])
async def test_it_finds_who_answers_and_begins_with_it_the_next_time(
    databases: Databases, other: Callable[[], AbstractContextManager[str]]
) -> None:
    async with reached_by_tcp(databases) as proxy:
        with other() as before:
            hosts = Hosts(address_of(databases, before, proxy.place))
            first = await hosts.connect()
            begin = time.monotonic()
            second = await hosts.connect()
            taken = time.monotonic() - begin
            await first.close()
            await second.close()

    assert taken < 2


async def test_it_rejects_hosts_that_do_not_lead(databases: Databases) -> None:
    async with reached_by_tcp(databases) as one, reached_by_tcp(databases) as other:
        address = address_of(databases, one.place, other.place, option="?target_session_attrs=standby")

        with pytest.raises(Unavailable):
            await connect(address)


async def test_a_pool_finds_who_answers(databases: Databases) -> None:
    async with reached_by_tcp(databases) as proxy:
        with hanging_host() as before:
            pool = await open_database(address_of(databases, before, proxy.place), most=1, name="test")
            async with pool.statement() as connection:
                found = await connection.fetchval("SELECT 1")
            await pool.close()

    assert found == 1


async def test_a_pool_leaves_a_server_that_has_begun_to_hang(databases: Databases) -> None:
    patience = timedelta(milliseconds=1_200)
    async with reached_by_tcp(databases) as one, reached_by_tcp(databases) as other:
        pool = await open_database(
            address_of(databases, one.place, other.place), most=2, name="test", patience=patience
        )
        await asyncio.gather(select(pool), select(pool))
        one.open.clear()

        with pytest.raises(Unavailable):
            await select(pool)
        begin = time.monotonic()
        await asyncio.gather(select(pool), select(pool))
        taken = time.monotonic() - begin
        await pool.close()

    # A hanging host is waited for once, while a connection is made, and never for an answer.
    assert taken < 5


async def test_a_listener_leaves_a_server_that_has_begun_to_hang(databases: Databases) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    async with reached_by_tcp(databases) as one, reached_by_tcp(databases) as other:
        address = address_of(databases, one.place, other.place)
        look, pause = timedelta(milliseconds=100), timedelta(0)
        listening = asyncio.create_task(listen(address, "trial", heard.put_nowait, look=look, pause=pause))
        begun = await asyncio.wait_for(heard.get(), timeout=10)
        one.open.clear()

        again = await asyncio.wait_for(heard.get(), timeout=20)
        async with connected(databases.addresses.application) as connection:
            await connection.execute("SELECT pg_notify('trial', 'news')")
        news = await asyncio.wait_for(heard.get(), timeout=10)
        listening.cancel()
        await asyncio.wait({listening})

    assert (begun, again, news) == ("", "", "news")


async def select(pool: Database) -> None:
    """A statement that does nothing."""
    async with pool.statement() as connection:
        await connection.execute("SELECT")


@dataclass(slots=True)
class HangingProxy:
    """A place on loopback from which everything goes on to the socket of the server, until it hangs."""

    socket: str
    place: str = ""
    open: asyncio.Event = field(default_factory=asyncio.Event)
    travellers: list[asyncio.Task[None]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what comes in both directions."""
        from_server, to_server = await asyncio.open_unix_connection(self.socket)
        self.travellers += map(asyncio.create_task, (self._pump(reader, to_server), self._pump(from_server, writer)))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while some := await reader.read(65536):
                await self.open.wait()
                writer.write(some)
                await writer.drain()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@asynccontextmanager
async def reached_by_tcp(databases: Databases) -> AsyncIterator[HangingProxy]:
    """One more way to the server."""
    where = parse_qs(urlsplit(databases.addresses.application).query)
    proxy = HangingProxy(f"{where['host'][0]}/.s.PGSQL.{where['port'][0]}")
    proxy.open.set()
    async with await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as server:
        proxy.place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield proxy
        proxy.open.set()
        await asyncio.gather(*proxy.travellers)


def address_of(databases: Databases, *places: str, option: str = "") -> str:
    """One address of several hosts."""
    name = urlsplit(databases.addresses.application).path
    return f"postgresql://chamberlain_application@{','.join(places)}{name}{option}"
