# SPDX-License-Identifier: Apache-2.0
"""Sessions across rotated keys, and their end by suspended tenants, revoked tokens and lost keys."""

from collections.abc import Iterator

import pytest

from tests.console.browser import Browser
from tests.console.conftest import ConsoleFixture, open_console
from tests.console.test_console import answer_of, begin, change, expire_tokens
from tests.service.estate import OTHER_HOUSE
from tests.services import ADA_MAIL, CLEO_MAIL, ZOE_MAIL, run_command, wait_until

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def console() -> Iterator[ConsoleFixture]:
    """One of its own, since its keys change."""
    with open_console() as found:
        yield found


def run(console: ConsoleFixture, *arguments: str) -> str:
    done = run_command(*arguments, "--data-dir", str(console.service.data_dir))
    assert done.returncode == 0, done.stderr
    return done.stdout


def status(console: ConsoleFixture, browser: Browser) -> int:
    return browser.get(console.url).status


def key_ids(console: ConsoleFixture) -> list[str]:
    return [line.split()[0] for line in (console.service.data_dir / "keys").read_text().splitlines()]


def test_it_works(console: ConsoleFixture) -> None:
    browser, waiting = console.signed_in(), console.browser()
    answer = answer_of(console, waiting, ADA_MAIL)
    (old,) = key_ids(console)

    run(console, "keys", "rotate")
    assert status(console, browser) == 200
    run(console, "keys", "drop", old)

    # The session goes on. A sign-in that had begun is begun again.
    assert old not in key_ids(console)
    assert status(console, browser) == 200
    assert (waiting.get(answer).status, status(console, waiting)) == (400, 303)
    assert waiting.follow(begin(console, waiting, ADA_MAIL)).name == "catalog"


def test_tokens_are_refreshed_with_the_new_key(console: ConsoleFixture) -> None:
    browser = console.signed_in()
    run(console, "keys", "rotate")
    expire_tokens(console)

    assert status(console, browser) == 200


def test_a_session_whose_key_is_lost_ends_and_the_user_signs_in_again(console: ConsoleFixture) -> None:
    browser = console.signed_in()
    change(console, "UPDATE chamberlain.console_session SET sealed = '\\x046c6f7374'::bytea || sealed")

    assert status(console, browser) == 303
    assert browser.follow(begin(console, browser)).name == "catalog"
    change(console, "DELETE FROM chamberlain.console_session")


def test_a_session_ends_when_the_issuer_has_revoked_its_tokens(console: ConsoleFixture) -> None:
    """As for a user who was suspended there."""
    browser, other = console.signed_in(ADA_MAIL), console.signed_in(CLEO_MAIL)
    change(console, "DELETE FROM identity.refresh_tokens WHERE account_id::text LIKE 'ada00000%'")
    expire_tokens(console)

    assert [status(console, each) for each in (browser, other)] == [303, 200]
    assert not [name for _, name in browser.cookies if "console-session" in name]


def test_sessions_of_a_suspended_tenant_end(console: ConsoleFixture) -> None:
    browser, other = console.signed_in(ZOE_MAIL), console.signed_in(CLEO_MAIL)

    run(console, "tenant", "suspend", OTHER_HOUSE)

    # Verified tokens are cached for a minute. A new one is verified at once, unless it equals one of the same second.
    assert wait_until(lambda: expire_tokens(console) and status(console, browser) == 303, 10, console.service.said)
    assert status(console, other) == 200
    assert browser.follow(begin(console, browser, ZOE_MAIL)).name != "catalog"
    run(console, "tenant", "resume", OTHER_HOUSE)
    assert browser.follow(begin(console, browser, ZOE_MAIL)).name == "catalog"
