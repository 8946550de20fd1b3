# SPDX-License-Identifier: Apache-2.0
"""The caller at a running service, over HTTP, at the command line and by the SDK."""

import json

import httpx2

from chamberlain_client import Chamberlain
from tests.services import ADA_MAIL, API, TLS, Service, run_command

APPLICATION = "automation"


def test_it_works(service: Service) -> None:
    config = f"{API}/admin/Config.ReadWrite.All"

    answer = httpx2.get(f"{service.url}/me/v1/", headers=service.headers(ADA_MAIL, config), timeout=30, verify=TLS)
    with Chamberlain(service.url, lambda: service.token(ADA_MAIL, config)) as client:
        me = client.me.get()
    token = {**service.environment, "CHAMBERLAIN_TOKEN": service.token(ADA_MAIL, config)}
    shown = run_command("me", "--json", "--port", str(service.port), environment=token).stdout

    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert answer.json() == {
        "kind": "user",
        "id": "ada00000-0000-4000-8000-000000000001",
        "displayName": "Ada Achterberg",
        "mail": ADA_MAIL,
        "tenantId": "e57a7e00-0000-4000-8000-000000000001",
        "tenantName": "Example Estate",
        "administrator": True,
        "language": None,
        "toDecide": 0,
    }
    assert (me.kind, str(me.id), me.display_name) == ("user", answer.json()["id"], "Ada Achterberg")
    assert (me.administrator, me.to_decide) == (True, 0)
    assert json.loads(shown) == answer.json()


def test_it_works_for_an_application(service: Service) -> None:
    answer = service.get("/me/v1/", "automation", f"{API}/.default")

    known = answer.json()
    assert (answer.status_code, known["kind"], known["displayName"]) == (200, "application", "automation")
    assert (known["mail"], known["language"], known["administrator"], known["toDecide"]) == (None, None, False, 0)


def test_it_refuses_a_call_without_a_token(service: Service) -> None:
    refused = httpx2.get(f"{service.url}/me/v1/", timeout=30, verify=TLS)

    assert (refused.status_code, refused.json()["code"]) == (401, "tokenMissing")
