# SPDX-License-Identifier: Apache-2.0
"""A running service for commands that call it or look at it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.browser_user import browser_user
from tests.cli.shell import Shell
from tests.services import API, CLEO_MAIL, Service, restarted_service


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """The service of one command."""
    with restarted_service() as running:
        yield running


@pytest.fixture(scope="session")
def ada(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """An administrator, signed in with a browser."""
    shell = Shell(service, tmp_path_factory.mktemp("ada"))
    with shell.started("login", "--browser") as login, browser_user(service) as somebody:
        somebody.sign_in(login.wait_for(r"https://\S+/authorize\S+")[0])
        ended = login.end()
    assert ended.code == 0, ended.err
    return shell


@pytest.fixture
def nobody(service: Service, tmp_path: Path) -> Shell:
    """A shell without a sign-in."""
    return Shell(service, tmp_path)


@pytest.fixture(scope="session")
def cleo(ada: Shell, service: Service) -> Shell:
    """A user without a licence for teams and without permissions of an administrator."""
    return ada.with_token(service.token(CLEO_MAIL, f"{API}/.default"))
