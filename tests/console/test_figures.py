# SPDX-License-Identifier: Apache-2.0
"""The figures of pages: statements, bytes and requests."""

import pytest

from chamberlain.console.app import PAGES
from tests.console.conftest import ConsoleFixture
from tests.console.statements import StatementLog, transfer_of

pytestmark = pytest.mark.heavy
MOST_STATEMENTS = 10
MOST_BYTES = 40 * 1024
MOST_REQUESTS = 4
# Pages without parameters. Other pages need an object, which their own tests make.
PATHS = sorted(path for method, path, _ in PAGES if method == "GET" and "{" not in path)


@pytest.mark.parametrize("path", PATHS)
def test_it_works(console: ConsoleFixture, statement_log: StatementLog, path: str) -> None:
    browser = console.signed_in()

    found = statement_log.of(lambda: browser.get(f"{console.service.url}{path}"))

    assert 0 < len(found) <= MOST_STATEMENTS, found


def test_the_first_page_is_small(console: ConsoleFixture) -> None:
    transfer = transfer_of(console.signed_in(), console.url)

    assert transfer.requests <= MOST_REQUESTS, transfer
    assert 0 < transfer.bytes <= MOST_BYTES, transfer
