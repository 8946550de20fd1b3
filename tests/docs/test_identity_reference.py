# SPDX-License-Identifier: Apache-2.0
"""The page of the embedded identity platform and what the platform does say the same."""

import re
from datetime import timedelta
from uuid import UUID

import msgspec

from chamberlain.database.transactions import open_database
from chamberlain.embedded.identity import authorization_codes, device_authorization, refresh_tokens, session
from chamberlain.embedded.identity.authorization_request import Prompt, ResponseMode
from chamberlain.embedded.identity.clients import Client
from chamberlain.embedded.identity.device_authorization import LETTERS
from chamberlain.embedded.identity.identity_platform import IdentityPlatform, LocalToken
from chamberlain.embedded.identity.scopes import OPENID_SCOPES
from chamberlain.embedded.identity.server import routes
from chamberlain.embedded.identity.signing_keys import TOKEN_LIFE, SigningKeys
from chamberlain.embedded.identity.throttling import LIMITS, Counted
from chamberlain.embedded.identity.token_endpoint import GRANT_TYPES
from tests.docs.pages import REFERENCE, named, rows, section
from tests.embedded.identity.estate import KEYRING, Clock

PAGE = REFERENCE / "identity.md"


def lives(what: str) -> list[int]:
    """The figures in the row about something that ends."""
    row = next(row for row in rows(section(PAGE, "## Lifetimes")) if row[0].startswith(what))
    return [int(figure) for figure in re.findall(r"\d+", row[1])]


def written_paths() -> set[tuple[str, str]]:
    """Method and path of all that the tables name."""
    table = named(section(PAGE, "## Endpoints")) + named(section(PAGE, "## Pages"))
    cells = [name.rpartition(" ") for name in table if "/" in name]
    return {(method, path) for methods, _, path in cells for method in methods.split(", ")}


async def test_it_works_for_every_path() -> None:
    # Nothing is asked of it, so it may lead nowhere.
    database = await open_database("postgresql://nobody@127.0.0.1:1/nothing", most=1, name="test")
    clock = Clock()

    async def record(_: LocalToken) -> None: ...

    async def name_of(_: UUID) -> str | None: ...

    platform = IdentityPlatform(
        base_url="https://localhost:8366/identity",
        pool=database.pool,
        keys=SigningKeys(database.pool, KEYRING, clock),
        now=clock,
        token_now=clock,
        local_secret="secret",
        on_local_token=record,
        organisation=name_of,
    )
    known = {
        (method, route.path.removeprefix("/identity").replace("{tenant_id:uuid}", "{tenantId}"))
        for route in routes(platform)
        for method in (route.methods or set()) - {"HEAD"}
    }
    await database.close()

    assert written_paths() == known


def test_it_names_every_grant_scope_prompt_and_mode() -> None:
    grants = section(PAGE, "## Grants")
    authorize = next(row[1] for row in rows(section(PAGE, "## Pages")) if row[0].endswith("/authorize`"))

    assert [name for name in named(grants) if name in GRANT_TYPES] == list(GRANT_TYPES)
    assert [name for name in named(grants) if name in OPENID_SCOPES] == list(OPENID_SCOPES)
    assert set(re.findall(r"`(\w+)`", authorize)) >= {word.value for word in (*Prompt, *ResponseMode)}


def test_it_says_how_long_everything_lives() -> None:
    assert lives("access token") == [TOKEN_LIFE // timedelta(minutes=1)]
    assert lives("authorization code") == [authorization_codes.LIFE // timedelta(seconds=1)]
    assert lives("device") == [device_authorization.LIFE // timedelta(minutes=1)]
    assert lives("refresh token") == [
        refresh_tokens.IDLE_LIFE // timedelta(days=1),
        refresh_tokens.WHOLE_LIFE // timedelta(days=1),
    ]
    assert lives("session")[0] == session.LIFE // timedelta(hours=1)
    assert f"`{LETTERS}`" in section(PAGE, "## Lifetimes")


def test_it_says_how_often_somebody_may_be_wrong() -> None:
    table = rows(section(PAGE, "## Limits"))
    figures = [tuple(int(figure) for figure in re.findall(r"\d+", row[1])) for row in table]

    assert figures[: len(Counted)] == [
        (LIMITS[each].most, LIMITS[each].within // timedelta(minutes=1)) for each in Counted
    ]
    assert table[len(Counted)][1] == f"{device_authorization.MOST_WAITING:,}"


def test_it_names_every_member_of_a_program() -> None:
    table = section(PAGE, "## Applications")

    assert named(table) == [field.encode_name for field in msgspec.structs.fields(Client)]
