# SPDX-License-Identifier: Apache-2.0
"""MSAL signs programs and people in: only authority and credentials are others."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from chamberlain.embedded.identity.certificates import make_server_certificate
from chamberlain.embedded.identity.clients import read_clients
from chamberlain.embedded.identity.load import load
from tests.chromium import open_browser_user
from tests.clients.runs import get, running, said_by
from tests.service.estate import ESTATE
from tests.services import ADA, ADA_MAIL, API, COLLAB, GRAPH, Service

pytestmark = pytest.mark.heavy

CONFIG = f"{API}/admin/Config.ReadWrite.All"
WEB_APP = "c11e0000-0000-4000-8000-0000000000e1"
WEB_APP_SECRET = "kept by the web application"
WEB_APP_ENTRY = {
    "id": WEB_APP,
    "tenants": [ESTATE],
    "name": "web application",
    "kind": "confidential",
    "redirectUris": ["http://localhost/signed-in"],
    "delegated": {API: ["collab/App.ReadWrite.All"]},
}


@pytest.mark.parametrize("as_openid", ["", "true"], ids=["authority", "oidc_authority"])
def test_it_works_for_a_program_with_a_secret(service: Service, as_openid: str) -> None:
    first, again = said_by("msal_confidential", service, SCOPE=f"{API}/.default", AS_OPENID=as_openid)

    assert (first["token_type"], first["token_source"]) == ("Bearer", "identity_provider"), first
    assert (again["access_token"], again["token_source"]) == (first["access_token"], "cache")
    assert "items" in get(service, "/mail/v1/mailboxes/", first["access_token"])


def test_it_works_for_the_directory(service: Service) -> None:
    token, _ = said_by("msal_confidential", service, SCOPE=f"{GRAPH}/.default")

    assert get(service, "/graph/v1.0/groups?$top=1", token["access_token"])["value"]


def test_it_tells_a_wrong_secret(service: Service) -> None:
    refused, _ = said_by("msal_confidential", service, SCOPE=f"{API}/.default", AUTOMATION_SECRET="wrong")

    assert refused["error"] == "invalid_client"
    assert refused["error_description"]


def test_certificates_that_the_environment_names_come_before_those_of_the_program(
    service: Service, tmp_path: Path
) -> None:
    foreign = tmp_path / "ca.pem"
    foreign.write_text(make_server_certificate(tmp_path, datetime.now(UTC)).authority_pem)
    asked = {"SCOPE": f"{API}/.default", "VERIFY": str(service.data_dir / "ca.pem")}

    token, _ = said_by("msal_confidential", service, **asked, REQUESTS_CA_BUNDLE="", CURL_CA_BUNDLE="")

    assert token["token_type"] == "Bearer"
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        named = {"REQUESTS_CA_BUNDLE": "", "CURL_CA_BUNDLE": "", name: str(foreign)}
        with pytest.raises(AssertionError, match="CERTIFICATE_VERIFY_FAILED"):
            said_by("msal_confidential", service, **asked, **named)


@pytest.mark.needs("chromium")
def test_it_works_by_device_code(service: Service) -> None:
    with running("msal_device", service) as run:
        flow = run.says()
        with open_browser_user(service.data_dir) as browser_user:
            browser_user.allow(flow["verification_uri"], flow["user_code"])
        first, account, (kept, of_directory), renewed, forgotten = [run.says() for _ in range(5)]

    assert flow["user_code"] in flow["message"]
    assert COLLAB in first["scope"].split()
    assert first["id_token_claims"]["oid"] == ADA
    assert "items" in get(service, "/requests/v1/", first["access_token"])
    # The next time no user is asked: the same token, one for another resource, and one in place of an expired one.
    assert account["username"] == ADA_MAIL
    assert (kept["access_token"], kept["token_source"]) == (first["access_token"], "cache")
    assert of_directory["token_source"] == "identity_provider"
    assert get(service, "/graph/v1.0/me", of_directory["access_token"])["id"] == ADA
    assert renewed["token_source"] == "identity_provider"
    assert "items" in get(service, "/requests/v1/", renewed["access_token"])
    assert forgotten == []


@pytest.mark.needs("chromium")
def test_it_tells_that_somebody_sent_the_program_away(service: Service) -> None:
    with running("msal_device", service) as run:
        flow = run.says()
        with open_browser_user(service.data_dir) as browser_user:
            browser_user.deny(flow["verification_uri"], flow["user_code"])
        refused = run.says()

    assert refused["error"] == "access_denied"
    assert refused["error_description"]


@pytest.mark.needs("chromium")
def test_it_works_with_a_browser(service: Service) -> None:
    with running("msal_interactive", service) as run, open_browser_user(service.data_dir) as browser_user:
        browser_user.page.goto(run.says()["opened"])
        browser_user.sign_in()
        browser_user.go_back()
        result, renewed = run.says(), run.says()

    assert CONFIG in result["scope"].split()
    for token in (result, renewed):
        assert token["token_source"] == "identity_provider"
        assert get(service, "/admin/v1/tenant/", token["access_token"])["name"] == "Example Estate"


@pytest.mark.needs("chromium")
def test_it_works_for_a_web_application(service: Service) -> None:
    asyncio.run(register_web_application(service.embedded_addresses.worker))
    credentials = {"WEB_APP_ID": WEB_APP, "WEB_APP_SECRET": WEB_APP_SECRET}
    with running("msal_web_app", service, **credentials) as run, open_browser_user(service.data_dir) as browser_user:
        browser_user.page.goto(run.says()["opened"])
        browser_user.sign_in()
        result = run.says()

    assert COLLAB in result["scope"].split()
    assert result["id_token_claims"]["aud"] == WEB_APP
    assert result["id_token_claims"]["preferred_username"] == ADA_MAIL
    assert "items" in get(service, "/requests/v1/", result["access_token"])


async def register_web_application(address: str) -> None:
    """Register a client that no configuration file can add after the first start."""
    async with asyncpg.create_pool(address, min_size=1, max_size=1) as pool:
        await load(pool, clients=read_clients([WEB_APP_ENTRY]), secrets={UUID(WEB_APP): WEB_APP_SECRET})
