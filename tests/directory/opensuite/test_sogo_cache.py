# SPDX-License-Identifier: Apache-2.0
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from chamberlain.core.errors import Cause, TryAgain
from chamberlain.directory.opensuite.sogo_cache import SogoCache


@asynccontextmanager
async def memcached(stored: set[bytes], *, answers: bool = True) -> AsyncIterator[SogoCache]:
    """Run a fake memcached server that deletes stored keys."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while answers and (line := await reader.readline()):
            command, key = line.split()
            assert command == b"delete"
            writer.write(b"DELETED\r\n" if key in stored else b"NOT_FOUND\r\n")
            stored.discard(key)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        yield SogoCache("127.0.0.1", server.sockets[0].getsockname()[1])


async def test_it_works() -> None:
    stored = {b"quay@estate.example+attributes", b"quay+attributes", "hafen-zürich@estate.example+attributes".encode()}
    kept = {b"ada@estate.example+attributes", b"quay+settings"}
    stored |= kept

    async with memcached(stored) as cache:
        await cache.forget(["quay", "quay@estate.example", "hafen-zürich@estate.example", "free", "quay"])

    assert stored == kept


async def test_impossible_keys_are_skipped() -> None:
    stored = {b"quay+attributes"}

    async with memcached(stored) as cache:
        await cache.forget(["two words", "x\r\nflush_all", "x" * 300, "quay"])
        await cache.forget(["two words"])

    assert stored == set()


async def test_nothing_is_sent_without_names() -> None:
    await SogoCache("127.0.0.1", 1).forget([])


async def test_a_server_that_is_away() -> None:
    async with memcached(set()) as cache:
        pass

    with pytest.raises(TryAgain) as raised:
        await cache.forget(["quay"])

    assert raised.value.cause is Cause.AWAY


async def test_a_server_that_closes_the_connection() -> None:
    async with memcached(set(), answers=False) as cache:
        with pytest.raises(TryAgain):
            await cache.forget(["quay"])
