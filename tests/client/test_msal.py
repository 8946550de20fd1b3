# SPDX-License-Identifier: Apache-2.0
"""Get tokens by MSAL from the embedded identity platform over TLS."""

import pytest
from msal import (  # type: ignore[import-untyped]  # It comes without types.
    ConfidentialClientApplication,
    PublicClientApplication,
)

from chamberlain_client import AsyncChamberlain, Chamberlain, Clock
from chamberlain_client.errors import Forbidden, NotTrusted, SignInNeeded
from chamberlain_client.msal import async_token_source, token_source
from tests.services import API, Service

TENANT = "e57a7e00-0000-4000-8000-000000000001"
AUTOMATION, COMMAND_LINE = "c11e0000-0000-4000-8000-000000000002", "c11e0000-0000-4000-8000-000000000001"
DEFAULT = f"{API}/.default"


@pytest.fixture(autouse=True)
def default_authorities(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove authorities from the environment, which override those of MSAL."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(service.data_dir / "ca.pem"))


@pytest.fixture
def automation(service: Service) -> ConfidentialClientApplication:
    """A daemon application with a secret."""
    return ConfidentialClientApplication(
        AUTOMATION,
        client_credential=(service.data_dir / "automation.secret").read_text().strip(),
        authority=f"{secure(service)}/identity/{TENANT}",
        instance_discovery=False,
    )


def test_it_works(service: Service, automation: ConfidentialClientApplication) -> None:
    trusted = service.data_dir / "ca.pem"
    with Chamberlain(secure(service), token_source(automation, [DEFAULT]), verify=trusted) as client:
        groups = client.managed_groups.list(limit=1).page()
        with pytest.raises(Forbidden) as refused:
            client.groups.create({"displayName": "A"})

    assert len(groups.items) == 1
    assert refused.value.code == "applicationNotSupported"


async def test_it_works_asynchronously(service: Service, automation: ConfidentialClientApplication) -> None:
    token = async_token_source(automation, [DEFAULT])
    async with AsyncChamberlain(secure(service), token, verify=str(service.data_dir / "ca.pem")) as client:
        assert (await client.managed_sites.list(limit=1).page()).next_cursor


def test_it_rejects_without_a_signed_in_user(service: Service) -> None:
    application = PublicClientApplication(
        COMMAND_LINE,
        authority=f"{secure(service)}/identity/{TENANT}",
        instance_discovery=False,
    )
    account = {"home_account_id": f"{TENANT}.{TENANT}", "environment": "localhost", "username": "ada@estate.example"}

    for source in (token_source(application, [DEFAULT]), token_source(application, [DEFAULT], account)):
        with pytest.raises(SignInNeeded):
            source()


def test_it_rejects_a_wrong_secret(service: Service) -> None:
    application = ConfidentialClientApplication(
        AUTOMATION,
        client_credential="wrong",
        authority=f"{secure(service)}/identity/{TENANT}",
        instance_discovery=False,
    )

    with pytest.raises(SignInNeeded) as error:
        token_source(application, [DEFAULT])()

    assert error.value.code == "invalid_client"


def test_it_rejects_an_untrusted_certificate(service: Service) -> None:
    slept: list[float] = []
    clock = Clock(sleep=slept.append)

    with Chamberlain(secure(service), "t", clock=clock) as client, pytest.raises(NotTrusted, match="certificate"):
        client.tenant.get()

    assert slept == []


def secure(service: Service) -> str:
    return f"https://localhost:{service.port + 1}"
