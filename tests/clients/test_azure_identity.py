"""azure-identity gets tokens for programs and people: only authority and credentials are others."""

import pytest

from tests.clients.runs import get, said_by
from tests.services import API, GRAPH, Service

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize(
    ("resource", "path", "member"),
    [(API, "/mail/v1/mailboxes/", "items"), (GRAPH, "/graph/v1.0/groups?$top=1", "value")],
    ids=["api", "directory"],
)
def test_it_works_for_a_program_with_a_secret(service: Service, resource: str, path: str, member: str) -> None:
    token = said_by("azure_secret", service, SCOPE=f"{resource}/.default")["token"]

    assert member in get(service, path, token)
