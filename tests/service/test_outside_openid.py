# SPDX-License-Identifier: Apache-2.0
"""An organisation's own OpenID provider, registered by a file: its tokens work, however it names its resources."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from joserfc.jwk import ECKey, RSAKey

from tests.auth.issuer import Issuer, make_key, run_issuer, sign
from tests.microsoft365.recorder import record
from tests.service.estate import ESTATE, OTHER_HOUSE
from tests.services import ADA, API, BEN, GRAPH, GROUP_TEMPLATE, TLS, Service, run_command

pytestmark = pytest.mark.heavy

# The content of YAML and JSON, whose types are under test.
Document = Any
Claims = dict[str, object]

MANY, ONE = "serves many tenants", "serves one"
# The ids under which the provider of many has registered the parts of the API, each as a resource of its own.
COLLAB_ID, MAIL_ID, ADMIN_ID = (f"4f1c0d5e-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
PROGRAM = "4f1c0d5e-0000-4000-8000-0000000000a1"
ALL_STAFF = "94000000-0000-4000-8000-000000000001"

GROUP = ("POST", "/collab/v1/groups/?dryRun=true", {"displayName": "From outside", "templateId": GROUP_TEMPLATE})
MAILBOX = (
    "POST",
    "/mail/v1/mailboxes/?dryRun=true",
    {"name": "outside", "displayName": "Outside", "metadata": {"equipmentType": "projector"}},
)
MANAGED = ("GET", f"/admin/collab/v1/manage/groups/{ALL_STAFF}/", None)
TEMPLATES = ("GET", "/admin/collab/v1/templates/", None)
DIRECTORY = ("GET", "/graph/v1.0/groups?$top=1", None)
Call = tuple[str, str, Document]


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider with the key that it signs with."""

    issuer: Issuer
    key: RSAKey | ECKey

    def token(self, claims: Claims, **header: object) -> str:
        now = int(time.time())
        good: Claims = {"iss": self.issuer.address, "sub": ADA, "azp": PROGRAM, "iat": now, "exp": now + 600}
        return sign({name: value for name, value in (good | claims).items() if value is not None}, self.key, **header)


@dataclass(frozen=True, slots=True)
class ProviderFixture:
    """The running service, and two providers that speak for its first tenant."""

    service: Service
    providers: dict[str, Provider]

    async def ask(self, call: Call, token: str) -> httpx2.Response:
        method, path, body = call
        async with httpx2.AsyncClient(base_url=self.service.url, verify=TLS, timeout=30) as client:
            return record(await client.request(method, path, json=body, headers={"authorization": f"Bearer {token}"}))


@pytest.fixture(scope="module")
async def provider_fixture(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ProviderFixture]:
    folder = tmp_path_factory.mktemp("outside")
    async with run_issuer() as many, run_issuer() as one:
        curve, rsa = ECKey.generate_key("P-256", {"kid": "2026-11", "use": "sig"}), make_key("main")
        many.keys.append(curve)
        one.keys.append(rsa)
        await asyncio.to_thread(register, service, folder, many.address, one.address)
        yield ProviderFixture(service, {MANY: Provider(many, curve), ONE: Provider(one, rsa)})
        await asyncio.to_thread(run, service, "apply", str(folder / "before.yaml"), "--yes")


def register(service: Service, folder: Path, many: str, one: str) -> None:
    """As an operator does it: the file that says what is true, with two issuers more, is applied."""
    before, after = folder / "before.yaml", folder / "after.yaml"
    run(service, "export", str(before), "--tenant", ESTATE)
    document: Document = yaml.safe_load(before.read_text(encoding="utf-8"))
    audiences = {COLLAB_ID: f"{API}/collab", MAIL_ID: f"{API}/mail", ADMIN_ID: f"{API}/admin"}
    document["tenants"][0]["issuers"] += [
        {"issuer": many, "tid": "green", "audiences": audiences},
        {"issuer": one},
    ]
    after.write_text(yaml.safe_dump(document), encoding="utf-8")
    run(service, "apply", str(after))


def run(service: Service, *arguments: str) -> None:
    done = run_command(*arguments, "--data-dir", str(service.data_dir), environment=service.environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("provider", "claims", "call"),
    [
        pytest.param(MANY, {"tid": "green", "aud": COLLAB_ID, "scp": "App.ReadWrite.All"}, GROUP, id="group"),
        pytest.param(MANY, {"tid": "green", "aud": [MAIL_ID], "scp": "App.ReadWrite.All"}, MAILBOX, id="mailbox"),
        pytest.param(MANY, {"tid": "green", "aud": ADMIN_ID, "scp": "Config.ReadWrite.All"}, MANAGED, id="admin"),
        pytest.param(
            MANY,
            {"tid": "green", "aud": ADMIN_ID, "sub": PROGRAM, "roles": ["Mail.Manage.ReadWrite.All"]},
            MAILBOX,
            id="program",
        ),
        pytest.param(ONE, {"aud": f"{API}/collab", "scope": "openid App.ReadWrite.All"}, GROUP, id="scope"),
        pytest.param(ONE, {"aud": API, "scope": "collab/App.ReadWrite.All"}, GROUP, id="one resource for all"),
        pytest.param(
            ONE,
            {"aud": [f"{API}/collab", "account"], "scope": f"profile {API}/collab/App.ReadWrite.All"},
            GROUP,
            id="absolute",
        ),
        pytest.param(
            ONE,
            {
                "aud": f"{API}/admin",
                "sub": "f0a1c2d3-0000-4000-8000-000000000001",
                "idtyp": "app",
                "client_id": "automation",
                "azp": None,
                "roles": ["Collab.Manage.ReadWrite.All"],
            },
            MANAGED,
            id="program with a service account",
        ),
        pytest.param(ONE, {"aud": GRAPH, "scope": "Group.Read.All"}, DIRECTORY, id="directory"),
    ],
)
async def test_it_works(provider_fixture: ProviderFixture, provider: str, claims: Claims, call: Call) -> None:
    answer = await provider_fixture.ask(call, provider_fixture.providers[provider].token(claims))

    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("provider", "claims", "call", "expected"),
    [
        pytest.param(
            MANY, {"tid": None, "aud": COLLAB_ID, "scp": "App.ReadWrite.All"}, GROUP, (401, "tokenInvalid"), id="no tid"
        ),
        pytest.param(
            MANY,
            {"tid": "blue", "aud": COLLAB_ID, "scp": "App.ReadWrite.All"},
            GROUP,
            (401, "tokenInvalid"),
            id="tid of another organisation",
        ),
        pytest.param(
            ONE,
            {"tid": OTHER_HOUSE, "aud": f"{API}/collab", "scope": "App.ReadWrite.All"},
            GROUP,
            (401, "tokenInvalid"),
            id="tid that is not registered",
        ),
        pytest.param(
            ONE,
            {"aud": COLLAB_ID, "scope": "App.ReadWrite.All"},
            GROUP,
            (401, "audienceUnknown"),
            id="identifier of another issuer",
        ),
        pytest.param(
            ONE,
            {"aud": f"{API}/admin", "scope": "Config.ReadWrite.All"},
            DIRECTORY,
            (401, "InvalidAuthenticationToken"),
            id="directory takes its own audience",
        ),
        pytest.param(
            MANY,
            {"tid": "green", "aud": MAIL_ID, "scp": "App.ReadWrite.All"},
            GROUP,
            (403, "insufficientScope"),
            id="the same name of another resource",
        ),
        pytest.param(
            ONE,
            {"aud": f"{API}/collab", "scope": "collab/App.ReadWrite.All"},
            GROUP,
            (403, "insufficientScope"),
            id="the part named twice",
        ),
        pytest.param(
            ONE,
            {"aud": [f"{API}/collab", "account"], "scope": "App.ReadWrite.All"},
            GROUP,
            (403, "insufficientScope"),
            id="a relative name for two audiences",
        ),
        pytest.param(
            ONE,
            {"aud": f"{API}/collab", "scope": "openid profile"},
            GROUP,
            (403, "insufficientScope"),
            id="nothing of ours",
        ),
        pytest.param(
            MANY,
            {"tid": "green", "aud": ADMIN_ID, "sub": BEN, "scp": "Config.ReadWrite.All"},
            MANAGED,
            (403, "notAdministrator"),
            id="no administrator",
        ),
        pytest.param(
            MANY,
            {"tid": "green", "aud": ADMIN_ID, "sub": PROGRAM, "roles": ["Mail.Manage.ReadWrite.All"]},
            TEMPLATES,
            (403, "insufficientScope"),
            id="another role",
        ),
        pytest.param(
            ONE,
            {"aud": f"{API}/collab", "sub": "ada", "scope": "App.ReadWrite.All"},
            GROUP,
            (401, "tokenInvalid"),
            id="a subject that is no object id",
        ),
        pytest.param(
            ONE,
            {"aud": f"{API}/collab", "sub": PROGRAM.replace("a1", "a2"), "scope": "App.ReadWrite.All"},
            GROUP,
            (422, "notPossible"),
            id="somebody whom the directory does not know",
        ),
    ],
)
async def test_it_rejects(
    provider_fixture: ProviderFixture, provider: str, claims: Claims, call: Call, expected: tuple[int, str]
) -> None:
    answer = await provider_fixture.ask(call, provider_fixture.providers[provider].token(claims))

    told = answer.json()
    assert (answer.status_code, told.get("code") or told["error"]["code"]) == expected, answer.text


async def test_it_rejects_a_token_that_names_no_key(provider_fixture: ProviderFixture) -> None:
    token = provider_fixture.providers[ONE].token({"aud": f"{API}/collab", "scope": "App.ReadWrite.All"}, kid=None)

    answer = await provider_fixture.ask(GROUP, token)

    assert (answer.status_code, answer.json()["code"]) == (401, "tokenInvalid")
    assert "kid" in answer.json()["detail"]


async def test_it_rejects_one_provider_speaking_for_the_other(provider_fixture: ProviderFixture) -> None:
    claims: Claims = {
        "iss": provider_fixture.providers[ONE].issuer.address,
        "aud": f"{API}/collab",
        "scope": "App.ReadWrite.All",
    }

    answer = await provider_fixture.ask(GROUP, provider_fixture.providers[MANY].token(claims))

    assert (answer.status_code, answer.json()["code"]) == (401, "tokenInvalid")
