# SPDX-License-Identifier: Apache-2.0
"""The check names the server that does not answer, or that refuses its secret."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from chamberlain.core.errors import Cause, ConnectionBroken, TryAgain
from chamberlain.core.ids import TenantId
from chamberlain.directory.opensuite.connection import open_suite, read_suite
from chamberlain.directory.opensuite.settings import SuiteSettings
from deploy.suite.connection import FILE, environment_of
from deploy.suite.folder import HOST, TENANT, Suite
from tests.services import free_port

WRONG = "a-wrong-secret"
# Changes the settings to a server at a port.
Move = Callable[[SuiteSettings, int], SuiteSettings]

MOVES: dict[str, Move] = {
    "The LDAP server": lambda found, port: replace(found, ldap=replace(found.ldap, url=f"ldap://{HOST}:{port}")),
    "Dovecot": lambda found, port: replace(found, mail=replace(found.mail, url=f"http://{HOST}:{port}")),
    "Postfix": lambda found, port: replace(found, submission=(HOST, port)),
    "The Matrix server": lambda found, port: replace(
        found, homeserver=found.homeserver and replace(found.homeserver, url=f"http://{HOST}:{port}")
    ),
}
REFUSED: dict[str, Callable[[SuiteSettings], SuiteSettings]] = {
    "LDAP": lambda found: replace(found, ldap=replace(found.ldap, password=WRONG)),
    "Dovecot": lambda found: replace(found, mail=replace(found.mail, key=WRONG)),
}


@pytest.fixture
def settings(suite: Suite) -> SuiteSettings:
    """The settings of the tenant."""
    environment_of(suite)
    folder = Path(suite.values["CONNECTION_FILES"]) / TENANT
    return read_suite(suite.values["LDAP_URL"], folder, FILE)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        listening.listen()
        yield listening.getsockname()[1]


async def failure(settings: SuiteSettings) -> TryAgain:
    """The failure of a check."""
    suite = open_suite(settings)
    try:
        with pytest.raises(TryAgain) as failed:
            await suite.adapters.check(TenantId(UUID(TENANT)))
    finally:
        await suite.close()
    return failed.value


@pytest.mark.parametrize("server", MOVES)
def test_a_wrong_port_names_the_server(settings: SuiteSettings, server: str) -> None:
    found = asyncio.run(failure(MOVES[server](settings, free_port())))

    assert found.cause is Cause.AWAY
    assert found.reason.startswith(server)


@pytest.mark.parametrize("server", MOVES)
def test_a_server_that_hangs_is_named_within_a_minute(settings: SuiteSettings, silent_port: int, server: str) -> None:
    async def limited() -> TryAgain:
        async with asyncio.timeout(60):
            return await failure(MOVES[server](settings, silent_port))

    found = asyncio.run(limited())

    assert found.reason.startswith(server)


@pytest.mark.parametrize("server", REFUSED)
def test_a_wrong_secret_breaks_the_connection_and_is_not_shown(settings: SuiteSettings, server: str) -> None:
    found = asyncio.run(failure(REFUSED[server](settings)))

    assert isinstance(found, ConnectionBroken)
    assert found.because.code == "serverRefusesCredential"
    assert server in found.reason
    assert WRONG not in f"{found!r} {found.reason}"


def test_a_server_without_tls_is_named_if_the_settings_require_it(settings: SuiteSettings) -> None:
    found = asyncio.run(failure(replace(settings, ldap=replace(settings.ldap, starts_tls=True))))

    assert isinstance(found, ConnectionBroken)
    assert found.because.code == "suiteSettingsUnusable"
    assert "start_tls" in found.reason
