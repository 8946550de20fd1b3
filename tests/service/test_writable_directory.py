# SPDX-License-Identifier: Apache-2.0
"""The sample data's directory can be written over HTTP, and the service sees the changes."""

from uuid import uuid4

import httpx2

from tests.services import ADA, BEN, GRAPH, TLS, Service


def send(service: Service, method: str, path: str, body: object = None) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {service.token('automation', f'{GRAPH}/.default')}"}
    url = f"{service.url}/graph/v1.0{path}"
    return httpx2.request(method, url, headers=headers, json=body, timeout=30, verify=TLS)


def test_a_group_of_another_administrator_is_found(service: Service) -> None:
    nickname, mark = f"g{uuid4().hex}", str(uuid4())
    body = {
        "displayName": nickname,
        "mailNickname": nickname,
        "mailEnabled": True,
        "securityEnabled": False,
        "groupTypes": ["Unified"],
        "owners@odata.bind": [f"{service.url}/graph/v1.0/users/{ADA}"],
        "chamberlain_group": {"requestId": mark},
    }

    made = send(service, "POST", "/groups", body)
    reference = {"@odata.id": f"{service.url}/graph/v1.0/directoryObjects/{BEN}"}
    added = send(service, "POST", f"/groups/{made.json()['id']}/members/$ref", reference)

    assert (made.status_code, added.status_code) == (201, 204)
    [found] = service.find_group(mark)
    assert (found["id"], found["mail"]) == (made.json()["id"], f"{nickname}@estate.example")
    members = service.graph(f"/groups/{found['id']}/members").json()["value"]
    assert [member["id"] for member in members] == [BEN]
