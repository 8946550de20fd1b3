# SPDX-License-Identifier: Apache-2.0
"""The figures of pages: statements, bytes and requests."""

import asyncio
from collections.abc import Iterator

import pytest

from chamberlain.console.app import PAGES
from chamberlain.embedded.postgres.roles import SET_UP, address
from tests.chromium import run_chromium
from tests.console.approval_requests import BEN_MAIL
from tests.console.browser import Browser
from tests.console.conftest import ConsoleFixture, open_console
from tests.console.objects import VISITORS, Objects, own_objects
from tests.console.statements import StatementLog, logged_statements, transfer_of
from tests.console.windows import open_signed_in
from tests.postgres import connected

pytestmark = pytest.mark.heavy
MOST_STATEMENTS = 10
# The first page after a sign-in. It may only fall.
MOST_COLD_STATEMENTS = 11
# Session, name, role and badge are one statement each.
GUARD = ("use_console_session", "directory.look_up", "administrators_of", "count_to_decide")
MOST_BYTES = 40 * 1024
MOST_REQUESTS = 4
QUERIES = {"/console/people": "?q=be"}
# Streams have their own limit: the statements of a change.
PATHS = sorted(path for method, path, _ in PAGES if method == "GET" and not path.endswith("/events"))


@pytest.fixture(scope="module")
def console() -> Iterator[ConsoleFixture]:
    """One of its own, so that no other test causes statements."""
    with open_console() as found:
        yield found


@pytest.fixture(scope="module")
def log(console: ConsoleFixture) -> Iterator[StatementLog]:
    with logged_statements(console.service) as found:
        yield found


@pytest.fixture(scope="module")
def objects(console: ConsoleFixture) -> Objects:
    return own_objects(console.service)


@pytest.fixture(scope="module")
def browsers(console: ConsoleFixture) -> list[Browser]:
    return [console.signed_in(address) for address in VISITORS]


@pytest.mark.parametrize("path", PATHS)
def test_it_works(
    console: ConsoleFixture, log: StatementLog, objects: Objects, browsers: list[Browser], path: str
) -> None:
    url = f"{console.service.url}{objects.fill(path)}{QUERIES.get(path, '')}"
    shown = [each for each in browsers if each.get(url).status == 200]
    assert shown

    for browser in shown:
        found = log.of(lambda browser=browser: browser.get(url))  # type: ignore[misc]

        assert 0 < len(found) <= MOST_STATEMENTS, "\n".join(found)


def test_the_first_page_after_the_sign_in_fills_all_caches(console: ConsoleFixture, log: StatementLog) -> None:
    """No other page costs more: the use of the session is due, and neither name nor role of the user is known."""
    browser = console.browser()
    page = browser.follow(browser.get(console.url))
    page = browser.follow(browser.submit(page.form("/console/sign-in"), {"address": BEN_MAIL}))
    page = browser.submit(page.forms[0], {"address": BEN_MAIL, "password": console.passwords[BEN_MAIL]})
    while "/console/signed-in" not in page.url:
        page = browser.get(page.location)
    age_sessions(console)

    found = log.during(lambda: browser.get(console.url))

    # The driver reads unknown types once for each connection, and only a directory of tests has faults.
    counted = [each for each in found if not any(word in each for word in ("typeinfo_tree", "'jit'", "take_faults"))]
    assert 0 < len(counted) <= MOST_COLD_STATEMENTS, "\n".join(counted)
    guard = [each for each in counted if any(name in each for name in GUARD)]
    assert len(guard) == len(GUARD), guard


def age_sessions(console: ConsoleFixture) -> None:
    """Let all sessions record their use at the next visit."""

    async def age() -> None:
        data = console.service.data_dir / "postgres" / "data"
        async with connected(address(data, SET_UP, "chamberlain")) as connection:
            await connection.execute("UPDATE chamberlain.console_session SET used_at = used_at - interval '2 minutes'")

    asyncio.run(age())


def test_the_first_page_is_small(console: ConsoleFixture, browsers: list[Browser]) -> None:
    for browser in browsers:
        transfer = transfer_of(browser, console.url)

        assert transfer.requests <= MOST_REQUESTS, transfer
        assert 0 < transfer.bytes <= MOST_BYTES, transfer


def test_pages_are_not_compressed_and_their_files_are(console: ConsoleFixture, browsers: list[Browser]) -> None:
    """A page has a form token beside the input of users (BREACH)."""
    page = browsers[0].get(console.url, {"Accept-Encoding": "gzip, br, deflate, zstd"})

    assert "content-encoding" not in page.answer.headers


@pytest.mark.needs("chromium")
def test_chromium_loads_no_other_files(console: ConsoleFixture, browsers: list[Browser]) -> None:
    with run_chromium(console.service.data_dir / "ca.pem") as chromium:
        page = chromium.new_page()
        open_signed_in(console, page, VISITORS[0])
        page.locator("main[data-page=catalog]").wait_for()
        loaded: set[str] = set()
        page.on("response", lambda answer: loaded.add(answer.url))
        page.reload(wait_until="networkidle")

        assert loaded == transfer_of(browsers[0], console.url).sizes.keys()
