# SPDX-License-Identifier: Apache-2.0
"""Tokens of the fake, taken by msal."""

from datetime import timedelta
from typing import Any

import httpx2
import msal  # type: ignore[import-untyped] # The package has no types.
import pytest

from tests.directory.sample_directory import OTHER_TENANT, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.certificates import new_certificate
from tests.microsoft365.fake.clock import Clock
from tests.microsoft365.fake.sample import APP, PERMISSIONS, SECRET
from tests.microsoft365.graph_client import GRAPH, SCOPE, code, token

pytestmark = pytest.mark.pure

CERTIFIED = "ce471f1e-0000-4000-8000-000000000001"


def client(fake: FakeMicrosoft365, credential: object, app: str = str(APP), tenant: object = TENANT) -> Any:  # noqa: ANN401  msal has no types.
    """Return msal's client, connected to the fake."""
    return msal.ConfidentialClientApplication(
        app,
        authority=f"https://login.microsoftonline.com/{tenant}",
        client_credential=credential,
        http_client=fake.http_client(),
    )


async def read(fake: FakeMicrosoft365, access_token: str) -> httpx2.Response:
    headers = {"authorization": f"Bearer {access_token}"}
    async with httpx2.AsyncClient(transport=fake.transport(), base_url=GRAPH, headers=headers) as graph:
        return await graph.get("/users?$select=id")


async def test_it_works(fake: FakeMicrosoft365) -> None:
    found = client(fake, SECRET).acquire_token_for_client([SCOPE])

    assert found["expires_in"] == 3599
    assert (await read(fake, found["access_token"])).status_code == 200


async def test_a_certificate(fake: FakeMicrosoft365) -> None:
    own, other = new_certificate(), new_certificate()
    fake.add_app(CERTIFIED, public_key=own.public_key)
    fake.consent(str(TENANT), CERTIFIED, PERMISSIONS)

    def acquire(private_key: str) -> dict[str, Any]:
        credential = {"private_key": private_key, "public_certificate": own.certificate}
        found: dict[str, Any] = client(fake, credential, CERTIFIED).acquire_token_for_client([SCOPE])
        return found

    assert (await read(fake, acquire(own.private_key)["access_token"])).status_code == 200
    assert acquire(other.private_key)["error_codes"] == [700027]


@pytest.mark.parametrize(
    ("changed", "scope", "error"),
    [
        ({"credential": "wrong"}, SCOPE, 7000215),
        ({"app": CERTIFIED}, SCOPE, 700016),
        ({"tenant": "00000000-0000-4000-8000-000000000009"}, SCOPE, 700016),
        ({}, "User.Read", 1002012),
    ],
)
def test_refused(fake: FakeMicrosoft365, changed: dict[str, str], scope: str, error: int) -> None:
    found = client(fake, **{"credential": SECRET, **changed}).acquire_token_for_client([scope])

    assert found["error_codes"] == [error]


@pytest.mark.parametrize(
    "scope", ["https://outlook.office365.com/.default", "https://estate-admin.sharepoint.com/.default"]
)
async def test_a_token_has_one_audience(fake: FakeMicrosoft365, scope: str) -> None:
    found = client(fake, SECRET).acquire_token_for_client([scope])

    assert code(await read(fake, found["access_token"])) == (401, "InvalidAuthenticationToken")


async def test_a_token_expires(fake: FakeMicrosoft365, clock: Clock) -> None:
    found = token(fake)

    clock.wait(timedelta(seconds=3598))
    valid = await read(fake, found)
    clock.wait(timedelta(seconds=1))

    assert valid.status_code == 200
    assert code(await read(fake, found)) == (401, "InvalidAuthenticationToken")


async def test_tokens_are_revoked(fake: FakeMicrosoft365) -> None:
    """msal keeps a token that the service refuses, until the caller asks for another one."""
    held = client(fake, SECRET)
    first = held.acquire_token_for_client([SCOPE])["access_token"]
    fake.tokens.revoke_all()

    cached = held.acquire_token_for_client([SCOPE])["access_token"]
    held.remove_tokens_for_client()
    second = held.acquire_token_for_client([SCOPE])["access_token"]

    assert cached == first
    assert (await read(fake, first)).status_code == 401
    assert (await read(fake, second)).status_code == 200


async def test_a_token_is_for_one_tenant(fake: FakeMicrosoft365) -> None:
    own = await read(fake, token(fake))
    other = await read(fake, token(fake, tenant_id=str(OTHER_TENANT)))

    assert len(own.json()["value"]) == 5
    assert len(other.json()["value"]) == 2


async def test_without_a_token(fake: FakeMicrosoft365) -> None:
    assert code(await read(fake, "x")) == (401, "InvalidAuthenticationToken")


async def test_a_delegate(fake: FakeMicrosoft365) -> None:
    refresh = fake.tokens.delegate(str(TENANT), str(APP), "Group.ManageProtection.All")

    found = client(fake, SECRET).acquire_token_by_refresh_token(refresh, [SCOPE])
    lapsed = client(fake, SECRET).acquire_token_by_refresh_token("x", [SCOPE])

    assert "access_token" in found
    assert lapsed["error"] == "invalid_grant"


def test_msal_discovers_the_endpoint(fake: FakeMicrosoft365) -> None:
    http_client = fake.http_client()
    msal.ConfidentialClientApplication(
        str(APP),
        authority=f"https://login.microsoftonline.com/{TENANT}",
        client_credential=SECRET,
        http_client=http_client,
    ).acquire_token_for_client([SCOPE])

    assert [method for method, _ in http_client.requests] == ["GET", "POST"]
