# SPDX-License-Identifier: Apache-2.0
"""The configuration, the tokens and the refusals of the page about outside OpenID providers are what the service reads,
takes and says."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from chamberlain.auth.issuers import IssuerKeys
from chamberlain.auth.models import ActorType, Caller, Issuer
from chamberlain.auth.permissions import ScopePrefixes
from chamberlain.auth.tokens import Claims, Header, api_audiences
from chamberlain.auth.verifier import Verifier
from chamberlain.configuration.files import read_configuration
from chamberlain.core.errors import ChamberlainError, Unauthenticated, Unavailable
from chamberlain.tenants.schema import to_issuers
from tests.auth.issuer import make_key, run_issuer, sign
from tests.docs.pages import ROOT, named, rows, section

PAGE = ROOT / "docs" / "how-to" / "outside-openid.md"
PREFIX = "https://api.green.example"
MANY, ONE = "https://login.green.example/v2.0", "https://login.green.example/realms/house"
KEY, UNPUBLISHED = make_key("published"), make_key("unpublished")
# A little before the tokens of the page expire.
NOW = datetime.fromtimestamp(1795170000 - 60, UTC)

# A token of the page, whose types are what is tested with it.
Token = dict[str, Any]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def tokens() -> list[Token]:
    return [json.loads(block) for block in blocks("json")]


def registered() -> list[Issuer]:
    """The issuers of both files of the page."""
    documents = [read_configuration(block.encode()) for block in blocks("yaml")]
    return [issuer for each in documents for entry in each.tenants for issuer in to_issuers(entry.tenant)]


@dataclass(frozen=True, slots=True)
class PageFixture:
    """The check of tokens for who has followed the page, and where its two providers really are."""

    addresses: Mapping[str, str]
    verifier: Verifier

    async def verify(self, token: Token, key: RSAKey = KEY, **header: object) -> Caller:
        claims = {name: value for name, value in token.items() if value is not None}
        claims["iss"] = self.addresses.get(claims["iss"], claims["iss"])
        return await self.verifier.verify(f"Bearer {sign(claims, key, **header)}")


@pytest.fixture
async def page_fixture() -> AsyncIterator[PageFixture]:
    async with run_issuer() as many, run_issuer() as one:
        many.keys.append(KEY)
        one.keys.append(KEY)
        addresses = {MANY: many.address, ONE: one.address, "https://away.green.example": "http://127.0.0.1:1"}
        known = [replace(each, issuer=addresses[each.issuer]) for each in registered()]
        known.append(replace(known[0], issuer="http://127.0.0.1:1"))

        async def find(issuer: str, tid: str | None) -> Issuer | None:
            return next((each for each in known if (each.issuer, each.tid) == (issuer, tid)), None)

        keys = IssuerKeys(lambda: NOW)
        yield PageFixture(addresses, Verifier(api_audiences(ScopePrefixes(PREFIX, PREFIX)), find, keys, lambda: NOW))
        await keys.close()


async def test_it_works_with_the_tokens_of_the_page(page_fixture: PageFixture) -> None:
    of_person, by_the_standards, of_program = [await page_fixture.verify(token) for token in tokens()]

    for caller in (of_person, by_the_standards):
        assert (caller.type, caller.client_id) == (ActorType.USER, "portal")
        assert f"{PREFIX}/collab/App.ReadWrite.All" in caller.permissions
    assert of_person.id == by_the_standards.id
    assert (of_program.type, of_program.client_id) == (ActorType.APPLICATION, "automation")
    assert of_program.permissions == {f"{PREFIX}/admin/Mail.Manage.ReadWrite.All"}


async def test_both_ways_to_register_give_the_same_names(page_fixture: PageFixture) -> None:
    person = tokens()[1]
    lines = [
        re.findall(r"`([^`]+)`", "|".join(row)) for row in rows(section(PAGE, "## 2. Register the API at the provider"))
    ]

    whole, part = [
        (await page_fixture.verify(person | {"aud": resource, "scope": name})).permissions
        for resource, name, *_ in lines[:2]
    ]
    named_by_the_rest = {name for _, *names, _ in lines[2:] for name in names}

    assert whole == part == {lines[0][2]}
    assert {f"{resource}/{first}" for resource, first, *_ in lines[2:]} == {line[-1] for line in lines[2:]}
    assert len(named_by_the_rest) == 6


def test_it_names_every_claim_that_is_read() -> None:
    text = section(PAGE, "## 4. See that the token says who it is")

    claims = {name for row in rows(text) for name in re.findall(r"`(\w+)`", row[0])}
    header = {name for name in Header.__struct_fields__ if f"`{name}`" in text}
    assert claims == set(Claims.__struct_fields__)
    # The two others refuse a token by being there.
    assert header == set(Header.__struct_fields__) - {"crit", "b64"}


async def test_the_refusals_are_those_that_it_says(page_fixture: PageFixture) -> None:
    person, *_ = tokens()
    wrong: list[tuple[Token, RSAKey, dict[str, object]]] = [
        (person | {"tid": None}, KEY, {}),
        (person | {"aud": "portal"}, KEY, {}),
        (person | {"sub": "ada"}, KEY, {}),
        (person | {"azp": None}, KEY, {}),
        (person | {"idtyp": "app", "sid": "5f1c"}, KEY, {}),
        (person | {"scp": None}, KEY, {}),
        (person, KEY, {"kid": None}),
        (person, UNPUBLISHED, {}),
        (person, KEY, {"alg": "HS256"}),
    ]

    told = [await refusal(page_fixture, *each) for each in wrong]
    told.append(await refusal_of(page_fixture, "opaque"))
    told.append(await refusal(page_fixture, person | {"iss": "https://away.green.example"}, KEY, {}))

    table = [row for row in rows(section(PAGE, "## When it does not work")) if row[1]]
    assert named(section(PAGE, "## When it does not work"))[: len(told)] == [code for code, _ in told]
    for row, (_, detail) in zip(table, told, strict=True):
        assert detail.startswith(row[1])


async def refusal(page_fixture: PageFixture, token: Token, key: RSAKey, header: dict[str, object]) -> tuple[str, str]:
    with pytest.raises((Unauthenticated, Unavailable)) as refused:
        await page_fixture.verify(token, key, **header)
    return told_by(refused.value)


async def refusal_of(page_fixture: PageFixture, text: str) -> tuple[str, str]:
    with pytest.raises(Unauthenticated) as refused:
        await page_fixture.verifier.verify(f"Bearer {text}")
    return told_by(refused.value)


def told_by(error: ChamberlainError) -> tuple[str, str]:
    assert isinstance(error, (Unauthenticated, Unavailable))
    return error.code, error.detail
