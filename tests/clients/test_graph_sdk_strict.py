# SPDX-License-Identifier: Apache-2.0
"""The vendor's Graph SDK knows every property of strict answers."""

import httpx2
import pytest

from tests.clients.runs import said_by
from tests.services import ADA_MAIL, API, BEN, TEAM_TEMPLATE, TLS, Service, running_service

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]


def make_room(service: Service) -> None:
    body = {"name": "orangery", "displayName": "Orangery", "capacity": 12, "roomMailboxMetadata": {}}
    headers = {**service.headers(ADA_MAIL, f"{API}/mail/App.ReadWrite.All"), "prefer": "wait=30"}
    answer = httpx2.post(f"{service.url}/mail/v1/mailboxes/", json=body, headers=headers, timeout=40, verify=TLS)
    assert answer.status_code == 201, answer.text


def test_it_works() -> None:
    with running_service(environment={"CHAMBERLAIN_GRAPH_STRICT": "true"}) as service:
        body = {"displayName": "Seen", "templateId": TEAM_TEMPLATE, "members": [BEN]}
        request_id = service.post_group(body).json()["requestId"]
        team_id = str(service.wait_for_group(request_id)["id"])
        service.wait_for_end(request_id)
        make_room(service)

        said = said_by("graph_strict", service, TEAM_ID=team_id)

    assert said == {"selected": ["@odata.context", "chamberlain_group"], "unknown": {}, "refused": {}}
