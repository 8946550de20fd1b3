# SPDX-License-Identifier: Apache-2.0
"""The service describes itself, to programs and to people, and sends neither elsewhere."""

import re

import httpx2
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.services import Service


@pytest.mark.heavy
def test_it_works_for_programs(service: Service) -> None:
    answer = httpx2.get(f"{service.url}/openapi.json")

    assert answer.status_code == 200
    document = answer.json()
    OpenAPIV31SpecValidator(document).validate()
    assert document["openapi"].startswith("3.1")
    assert {server["url"] for server in document["servers"]} == {service.url}
    # A path is named as documents show it, whatever follows the last slash.
    assert {"/collab/v1/groups/", "/requests/v1/{requestId}/", "/health/ready"} <= document["paths"].keys()


def test_it_works_for_people(service: Service) -> None:
    answer = httpx2.get(f"{service.url}/docs")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    # All files that a browser loads by itself come from this service.
    loaded = re.findall(r"""<(?:script|link|img)[^>]*(?:src|href)="([^"]+)""", answer.text)
    assert loaded
    for address in loaded:
        assert httpx2.get(f"{service.url}{address}").status_code == 200


def test_it_has_a_landing_page(service: Service) -> None:
    answer = httpx2.get(service.url, headers={"accept": "text/html"})

    assert answer.status_code == 200
    assert f'href="https://localhost:{service.port + 1}/identity/device"' in answer.text
    assert "set-cookie" not in answer.headers


def test_it_explains_every_problem(service: Service) -> None:
    problem = httpx2.get(f"{service.url}/requests/v1/x/").json()

    answer = httpx2.get(f"{service.url}{problem['type']}", follow_redirects=True)

    assert answer.status_code == 200
    assert f'id="{problem["code"]}"' in answer.text
