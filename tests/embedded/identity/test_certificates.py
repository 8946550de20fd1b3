# SPDX-License-Identifier: Apache-2.0
import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from chamberlain.embedded.identity.certificates import ServerCertificate, make_server_certificate

NOW = datetime.now(UTC)


async def connect(certificate: ServerCertificate, trusting: ssl.SSLContext, name: str) -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0, ssl=certificate.context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting, server_hostname=name)
        writer.close()


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
async def test_it_works(tmp_path: Path, name: str) -> None:
    certificate = make_server_certificate(tmp_path, NOW)
    trusting = ssl.create_default_context(cadata=certificate.authority_pem)
    # The strictest flag, and the default of newer versions.
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT

    await connect(certificate, trusting, name)


async def test_it_rejects_another_name(tmp_path: Path) -> None:
    certificate = make_server_certificate(tmp_path, NOW)
    trusting = ssl.create_default_context(cadata=certificate.authority_pem)

    with pytest.raises(ssl.SSLCertVerificationError):
        await connect(certificate, trusting, "estate.example")


async def test_it_is_not_trusted_by_default(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        await connect(make_server_certificate(tmp_path, NOW), ssl.create_default_context(), "localhost")


async def test_each_start_creates_another_authority(tmp_path: Path) -> None:
    first, second = make_server_certificate(tmp_path, NOW), make_server_certificate(tmp_path, NOW)

    with pytest.raises(ssl.SSLCertVerificationError):
        await connect(second, ssl.create_default_context(cadata=first.authority_pem), "localhost")


def test_no_private_key_stays_in_the_folder(tmp_path: Path) -> None:
    certificate = make_server_certificate(tmp_path, NOW)

    assert list(tmp_path.iterdir()) == []
    assert "PRIVATE" not in certificate.authority_pem


def test_the_authority_is_limited_to_this_machine(tmp_path: Path) -> None:
    authority = x509.load_pem_x509_certificate(make_server_certificate(tmp_path, NOW).authority_pem.encode())

    constraints = authority.extensions.get_extension_for_class(x509.NameConstraints)

    assert constraints.critical
    assert authority.not_valid_after_utc - NOW < timedelta(days=825)
