# SPDX-License-Identifier: Apache-2.0
"""azure-identity gets tokens for programs and people: only authority and credentials are others."""

import pytest

from tests.chromium import open_browser_user
from tests.clients.runs import CLI, get, running, said_by
from tests.service.estate import ESTATE
from tests.services import ADA, ADA_MAIL, API, GRAPH, Service

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize(
    ("resource", "path", "member"),
    [(API, "/mail/v1/mailboxes/", "items"), (GRAPH, "/graph/v1.0/groups?$top=1", "value")],
    ids=["api", "directory"],
)
def test_it_works_for_a_program_with_a_secret(service: Service, resource: str, path: str, member: str) -> None:
    token = said_by("azure_secret", service, SCOPE=f"{resource}/.default")["token"]

    assert member in get(service, path, token)


@pytest.mark.needs("chromium")
def test_it_works_by_device_code(service: Service) -> None:
    with running("azure_device", service) as run:
        prompt = run.says()
        with open_browser_user(service.data_dir) as browser_user:
            browser_user.allow(prompt["verification_uri"], prompt["user_code"])
        (of_api, of_directory), record = run.says(), run.says()

    assert "items" in get(service, "/requests/v1/", of_api["token"])
    assert get(service, "/graph/v1.0/me", of_directory["token"])["id"] == ADA
    assert record == [ADA_MAIL, ESTATE, f"localhost:{service.port + 1}", CLI]


@pytest.mark.needs("chromium")
def test_it_works_with_a_browser(service: Service) -> None:
    with running("azure_browser", service) as run, open_browser_user(service.data_dir) as browser_user:
        browser_user.page.goto(run.says()["opened"])
        browser_user.sign_in()
        browser_user.go_back()
        token = run.says()["token"]

    assert "items" in get(service, "/mail/v1/mailboxes/", token)
