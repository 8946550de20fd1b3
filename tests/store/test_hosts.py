"""Of several hosts the one that leads is found, whatever the others do."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from urllib.parse import parse_qs, urlsplit

import pytest

from chamberlain.rules.errors import Unavailable
from chamberlain.store.database import connect, open_database
from chamberlain.store.hosts import Hosts, are_several, single_addresses
from tests.databases import Databases


@contextmanager
def hanging_host() -> Iterator[str]:
    """A host whose connections are made by its system, and which then says nothing, as one that is frozen."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def absent_host() -> Iterator[str]:
    """A host on which nobody listens."""
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
    async with reached_by_tcp(databases.addresses.application) as (host, database):
        with other() as before:
            hosts = Hosts(f"postgresql://chamberlain_application@{before},{host}/{database}")
            first = await hosts.connect()
            begin = time.monotonic()
            second = await hosts.connect()

            taken = time.monotonic() - begin
            await first.close()
            await second.close()

    assert taken < 2


async def test_it_rejects_hosts_that_do_not_lead(databases: Databases) -> None:
    async with (
        reached_by_tcp(databases.addresses.application) as (host, database),
        reached_by_tcp(databases.addresses.application) as (another, _),
    ):
        address = f"postgresql://chamberlain_application@{host},{another}/{database}?target_session_attrs=standby"

        with pytest.raises(Unavailable):
            await connect(address)


async def test_a_pool_finds_who_answers(databases: Databases) -> None:
    async with reached_by_tcp(databases.addresses.application) as (host, database):
        with hanging_host() as before:
            pool = await open_database(
                f"postgresql://chamberlain_application@{before},{host}/{database}", most=1, name="test"
            )
            async with pool.statement() as connection:
                found = await connection.fetchval("SELECT current_database()")
            await pool.close()

    assert found == database


@asynccontextmanager
async def reached_by_tcp(address: str) -> AsyncIterator[tuple[str, str]]:
    """A place on loopback from which everything goes on to the socket of the server, and the name of the database."""
    parts = urlsplit(address)
    folder = parse_qs(parts.query)["host"][0]
    port = parse_qs(parts.query)["port"][0]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(f"{folder}/.s.PGSQL.{port}")
        await asyncio.gather(pump(reader, to_server), pump(from_server, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", parts.path.lstrip("/")


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes until one side is gone."""
    with suppress(ConnectionError):
        while some := await reader.read(65536):
            writer.write(some)
            await writer.drain()
    writer.close()
