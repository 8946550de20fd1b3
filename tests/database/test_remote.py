# SPDX-License-Identifier: Apache-2.0
"""Connections to another database whose server has no usable TLS."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from ssl import SSLContext

import pytest

from chamberlain.core.errors import ConnectionBroken
from chamberlain.database.remote import open_remote_pool
from chamberlain.embedded.identity.certificates import make_server_certificate


@asynccontextmanager
async def fake_postgres_server(tls: SSLContext | None) -> AsyncIterator[int]:
    """The start of a PostgreSQL server, to its answer to a request for TLS. It yields its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readexactly(8)
            writer.write(b"N" if tls is None else b"S")
            if tls is not None:
                await writer.start_tls(tls)
            await reader.read()
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def refusal(address: str) -> str | None:
    """The code with which the first call of a pool is refused."""
    pool = await open_remote_pool(lambda: address, name="test")
    try:
        with pytest.raises(ConnectionBroken) as caught:
            await pool.fetchval("SELECT 1")
    finally:
        pool.terminate()
    return caught.value.because.code


async def test_a_server_without_tls_is_broken() -> None:
    async with fake_postgres_server(None) as port:
        found = await refusal(f"postgresql://role:secret@127.0.0.1:{port}/directory?sslmode=require")

    assert found == "tlsRefused"


async def test_a_server_with_a_certificate_of_another_authority_is_broken(tmp_path: Path) -> None:
    server, other = (make_server_certificate(tmp_path, datetime.now(UTC)) for _ in range(2))
    (tmp_path / "other.pem").write_text(other.authority_pem)

    async with fake_postgres_server(server.context) as port:
        found = await refusal(
            f"postgresql://role:secret@127.0.0.1:{port}/directory?sslmode=verify-full&sslrootcert={tmp_path}/other.pem"
        )

    assert found == "tlsRefused"


async def test_a_service_without_the_certificate_authority_is_broken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The driver looks there for the file of the authority.
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PGSSLROOTCERT", raising=False)

    found = await refusal("postgresql://role:secret@127.0.0.1:1/directory?sslmode=verify-full")

    assert found == "tlsRefused"
