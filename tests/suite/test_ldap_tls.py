# SPDX-License-Identifier: Apache-2.0
"""TLS of the LDAP client, against a slapd with a certificate of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from chamberlain.core.errors import ConnectionBroken
from chamberlain.directory.opensuite.ldap import Client, Scope, Server
from deploy.suite.folder import HOST
from tests.services import free_port, wait_until

ROOT = Path(__file__).parents[2]
CONFIG = """
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile {folder}/server.pem
TLSCertificateKeyFile {folder}/server.key
security simple_bind=128
database mdb
suffix dc=estate,dc=example
directory {folder}
rootdn cn=root,dc=estate,dc=example
rootpw secret
"""


@dataclass(frozen=True, slots=True)
class Encrypted:
    """A server that wants TLS, and another one's certificate."""

    ldaps: str
    ldap: str
    authorities: str
    strange: str


@pytest.fixture(scope="module")
def encrypted() -> Iterator[Encrypted]:
    folder = Path(tempfile.mkdtemp(prefix="tls-", dir="/var/tmp"))
    ldaps, ldap = f"ldaps://{HOST}:{free_port()}", f"ldap://{HOST}:{free_port()}"
    try:
        for name in ("server", "strange"):
            certify(folder, name)
        (folder / "slapd.conf").write_text(CONFIG.format(folder=folder), encoding="utf-8")
        command = ["/usr/sbin/slapd", "-d", "0", "-f", str(folder / "slapd.conf"), "-h", f"{ldaps} {ldap}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: answers(ldap), 20.0)
            yield Encrypted(ldaps, ldap, str(folder / "server.pem"), str(folder / "strange.pem"))
        finally:
            process.terminate()
            process.wait(20)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def certify(folder: Path, name: str) -> None:
    """Make a certificate that is its own authority."""
    words = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test "
        f"-addext subjectAltName=IP:{HOST} -keyout {name}.key -out {name}.pem"
    )
    subprocess.run(words.split(), check=True, capture_output=True, cwd=folder)


def answers(url: str) -> bool:
    """Return whether the server answers."""
    read = ["ldapsearch", "-x", "-H", url, "-b", "", "-s", "base", "1.1"]
    return subprocess.run(read, capture_output=True, check=False).returncode == 0


def server(url: str, authorities: str | None, *, starts_tls: bool = False) -> Server:
    """The server, with its root account."""
    root = "cn=root,dc=estate,dc=example"
    return Server(url, root, "secret", starts_tls, authorities, timeout=timedelta(seconds=10))


async def read(server: Server) -> int:
    client = Client(server)
    try:
        response = await client.search("", Scope.BASE, "(objectClass=*)", ["1.1"])
    finally:
        await client.close()
    return len(response.rows)


async def test_it_works(encrypted: Encrypted) -> None:
    assert await read(server(encrypted.ldaps, encrypted.authorities)) == 1
    assert await read(server(encrypted.ldap, encrypted.authorities, starts_tls=True)) == 1


@pytest.mark.parametrize("starts_tls", [True, False], ids=["StartTLS", "ldaps"])
@pytest.mark.parametrize("is_strange", [True, False], ids=["another", "the system"])
async def test_a_certificate_of_another_authority_is_refused(
    encrypted: Encrypted, *, starts_tls: bool, is_strange: bool
) -> None:
    url = encrypted.ldap if starts_tls else encrypted.ldaps
    authorities = encrypted.strange if is_strange else None

    with pytest.raises(ConnectionBroken) as broken:
        await read(server(url, authorities, starts_tls=starts_tls))

    assert "The certificate is refused" in str(broken.value)


@pytest.mark.parametrize("settings", [{"LDAPNOINIT": "1"}, {}], ids=["no ldap.conf", "ldap.conf"])
def test_the_authorities_of_the_system_are_the_default(encrypted: Encrypted, settings: dict[str, str]) -> None:
    """libldap reads its settings once, so this needs a process of its own."""
    variable = "SSL_CERT_FILE" if settings else "LDAPTLS_CACERT"
    code = (
        "import asyncio; from tests.suite.test_ldap_tls import read, server; "
        f"print(asyncio.run(read(server({encrypted.ldaps!r}, None))))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **settings, variable: encrypted.authorities},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout.strip(), done.returncode) == ("1", 0), done.stderr


async def test_missing_authorities_are_named(encrypted: Encrypted) -> None:
    with pytest.raises(ConnectionBroken) as broken:
        await read(server(encrypted.ldaps, "/absent/authorities.pem"))

    assert "/absent/authorities.pem" in str(broken.value)


async def test_a_server_that_wants_tls_gets_no_password_in_clear(encrypted: Encrypted) -> None:
    with pytest.raises(ConnectionBroken) as broken:
        await read(server(encrypted.ldap, encrypted.authorities))

    assert broken.value.because.code == "serverRefusesAccess"
