# SPDX-License-Identifier: Apache-2.0
"""The tokens of the recipes for OpenID providers work over HTTP, and only as the user or application that they name."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
import yaml
from joserfc.jwk import RSAKey

from tests.auth.issuer import Issuer, make_key, run_issuer, sign
from tests.docs.pages import ROOT
from tests.service.estate import ESTATE
from tests.services import ADA, API, GROUP_TEMPLATE, TLS, Service, run_command

pytestmark = pytest.mark.heavy

# YAML and JSON of the page.
Document = Any

PAGE = (ROOT / "docs" / "how-to" / "openid-recipes.md").read_text(encoding="utf-8")
TOKEN = re.compile(r"^### ([^\n]+)\n\n[^`]*```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOKENS: Mapping[str, Document] = {name: json.loads(block) for name, block in TOKEN.findall(PAGE)}
USERS = [name for name in TOKENS if name.endswith(": user")]
APPLICATIONS = [name for name in TOKENS if name.endswith(": application")]

Call = tuple[str, str, Document]
GROUP: Call = (
    "POST",
    "/collab/v1/groups/?dryRun=true",
    {"displayName": "From a recipe", "templateId": GROUP_TEMPLATE},
)
MAILBOX: Call = (
    "POST",
    "/mail/v1/mailboxes/?dryRun=true",
    {"name": "recipe", "displayName": "Recipe", "metadata": {"equipmentType": "projector"}},
)


def for_the_estate(text: str) -> str:
    """The page names the API and the user of an organisation of its own."""
    return text.replace("https://api.green.example", API).replace("40c5e000-0000-4000-8000-0000000000a1", ADA)


@dataclass(frozen=True, slots=True)
class ProviderFixture:
    """The running service, and one issuer that answers for all providers of the page."""

    service: Service
    issuer: Issuer
    key: RSAKey

    def address(self, documented: str) -> str:
        """The documented issuer at the address of the test. Each provider has a path of its own."""
        parts = urlsplit(documented)
        return f"{self.issuer.address}/{parts.hostname}{parts.path}"

    def token(self, name: str, **changes: object) -> str:
        now = int(time.time())
        claims = json.loads(for_the_estate(json.dumps(TOKENS[name])))
        claims |= {"iss": self.address(claims["iss"]), "iat": now, "exp": now + 600} | changes
        if "nbf" in claims:
            claims["nbf"] = now
        return sign({name: value for name, value in claims.items() if value is not None}, self.key)

    async def ask(self, call: Call, token: str) -> httpx2.Response:
        method, path, body = call
        async with httpx2.AsyncClient(base_url=self.service.url, verify=TLS, timeout=30) as client:
            return await client.request(method, path, json=body, headers={"authorization": f"Bearer {token}"})

    async def outcome(self, call: Call, token: str) -> tuple[int, str]:
        answer = await self.ask(call, token)
        return answer.status_code, answer.json().get("code", "")


@pytest.fixture(scope="module")
async def provider_fixture(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ProviderFixture]:
    folder = tmp_path_factory.mktemp("recipes")
    async with run_issuer() as issuer:
        provider_fixture = ProviderFixture(service, issuer, make_key("main"))
        issuer.keys.append(provider_fixture.key)
        await asyncio.to_thread(register, provider_fixture, folder)
        yield provider_fixture
        await asyncio.to_thread(run, service, "apply", str(folder / "before.yaml"), "--yes")


def register(provider_fixture: ProviderFixture, folder: Path) -> None:
    """Register the issuers that the page shows, and publish them."""
    before, after = folder / "before.yaml", folder / "after.yaml"
    run(provider_fixture.service, "export", str(before), "--tenant", ESTATE)
    document: Document = yaml.safe_load(before.read_text(encoding="utf-8"))
    for block in re.findall(r"^```yaml\n(.*?)^```$", for_the_estate(PAGE), re.MULTILINE | re.DOTALL):
        for entry in yaml.safe_load(block)["issuers"]:
            entry["issuer"] = provider_fixture.address(entry["issuer"])
            publish(provider_fixture.issuer, entry["issuer"])
            document["tenants"][0]["issuers"].append(entry)
    after.write_text(yaml.safe_dump(document), encoding="utf-8")
    run(provider_fixture.service, "apply", str(after))


def publish(issuer: Issuer, address: str) -> None:
    discovery = json.dumps({"issuer": address, "jwks_uri": f"{issuer.address}/keys"}).encode()
    path = urlsplit(address).path.rstrip("/")
    issuer.answers[f"{path}/.well-known/openid-configuration"] = lambda: (200, discovery)


def run(service: Service, *arguments: str) -> None:
    done = run_command(*arguments, "--data-dir", str(service.data_dir), environment=service.environment)
    assert done.returncode == 0, done.stderr


def test_the_page_has_a_token_of_each_kind_for_each_provider() -> None:
    providers = ["Entra ID v2", "Entra ID v1", "Keycloak", "Hydra", "Okta"]

    assert list(TOKENS) == [f"{provider}: {kind}" for provider in providers for kind in ("user", "application")]


@pytest.mark.parametrize("name", USERS)
async def test_the_token_of_a_user_works(provider_fixture: ProviderFixture, name: str) -> None:
    assert await provider_fixture.outcome(GROUP, provider_fixture.token(name)) == (200, "")


@pytest.mark.parametrize("name", APPLICATIONS)
async def test_the_token_of_an_application_works(provider_fixture: ProviderFixture, name: str) -> None:
    assert await provider_fixture.outcome(MAILBOX, provider_fixture.token(name)) == (200, "")


@pytest.mark.parametrize("name", APPLICATIONS)
async def test_scopes_give_an_application_nothing(provider_fixture: ProviderFixture, name: str) -> None:
    scopes = [f"{API}/collab/App.ReadWrite.All", f"{API}/admin/Mail.Manage.ReadWrite.All"]
    token = provider_fixture.token(name, aud=API, roles=None, idtyp="app", scp=scopes)

    assert await provider_fixture.outcome(GROUP, token) == (403, "applicationNotSupported")
    assert await provider_fixture.outcome(MAILBOX, token) == (403, "insufficientScope")


@pytest.mark.parametrize("name", USERS)
async def test_roles_give_a_user_nothing(provider_fixture: ProviderFixture, name: str) -> None:
    token = provider_fixture.token(
        name, roles=[f"{API}/admin/Mail.Manage.ReadWrite.All", f"{API}/mail/App.ReadWrite.All"]
    )

    assert await provider_fixture.outcome(MAILBOX, token) == (403, "insufficientScope")


@pytest.mark.parametrize("name", [name for name in USERS if name != "Hydra: user"])
async def test_idtyp_does_not_turn_a_signed_in_user_into_an_application(
    provider_fixture: ProviderFixture, name: str
) -> None:
    token = provider_fixture.token(name, idtyp="app", roles=["Mail.Manage.ReadWrite.All"])

    assert await provider_fixture.outcome(MAILBOX, token) == (401, "tokenInvalid")


async def test_a_service_account_without_idtyp_is_no_user(provider_fixture: ProviderFixture) -> None:
    answer = await provider_fixture.ask(MAILBOX, provider_fixture.token("Keycloak: application", idtyp=None))

    assert (answer.status_code, answer.json()["code"]) == (401, "tokenInvalid")
    assert "idtyp" in answer.json()["detail"]


async def test_a_client_is_no_user_whatever_idtyp_says(provider_fixture: ProviderFixture) -> None:
    assert await provider_fixture.outcome(MAILBOX, provider_fixture.token("Hydra: application", idtyp="user")) == (
        401,
        "tokenInvalid",
    )
