"""MSAL signs programs and people in: only authority and credentials are others."""

import pytest

from tests.clients.runs import get, said_by
from tests.services import API, GRAPH, Service

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("as_openid", ["", "true"], ids=["authority", "oidc_authority"])
def test_it_works_for_a_program_with_a_secret(service: Service, as_openid: str) -> None:
    first, again = said_by("msal_confidential", service, SCOPE=f"{API}/.default", AS_OPENID=as_openid)

    assert (first["token_type"], first["token_source"]) == ("Bearer", "identity_provider"), first
    assert (again["access_token"], again["token_source"]) == (first["access_token"], "cache")
    assert get(service, "/mail/v1/mailboxes/", first["access_token"])["items"] == []


def test_it_works_for_the_directory(service: Service) -> None:
    token, _ = said_by("msal_confidential", service, SCOPE=f"{GRAPH}/.default")

    assert get(service, "/graph/v1.0/groups?$top=1", token["access_token"])["value"]


def test_it_tells_a_wrong_secret(service: Service) -> None:
    refused, _ = said_by("msal_confidential", service, SCOPE=f"{API}/.default", AUTOMATION_SECRET="wrong")

    assert refused["error"] == "invalid_client"
    assert refused["error_description"]
