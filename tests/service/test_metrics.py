# SPDX-License-Identifier: Apache-2.0
"""The figures, on a listener of their own that is on loopback alone."""

import re

import httpx2
import pytest

from tests.services import GROUP_TEMPLATE, Service, restarted_service, wait_until

pytestmark = pytest.mark.heavy


def test_it_works(service: Service) -> None:
    request_id = service.post_group({"displayName": "Counted", "templateId": GROUP_TEMPLATE}).json()["requestId"]
    service.wait_for_end(request_id)

    # Jobs of the service itself, such as sealing the audit trail, are due for a moment now and then.
    wait_until(lambda: figure(httpx2.get(f"{metrics_of(service)}/metrics").text, "chamberlain_jobs_queued") == 0, 20)
    answer = httpx2.get(f"{metrics_of(service)}/metrics")

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    posts = 'chamberlain_http_request_duration_seconds_count{endpoint="/collab/v1/groups/",method="POST",status="202"}'
    assert figure(answer.text, posts) >= 1
    assert figure(answer.text, 'chamberlain_jobs_done_total{kind="groupProvision",outcome="done"}') >= 1
    assert figure(answer.text, "chamberlain_jobs_queued") >= 0
    assert figure(answer.text, "chamberlain_jobs_held") == 0
    assert figure(answer.text, 'chamberlain_findings_open{kind="guestExpired"}') >= 0


def test_it_counts_calls_of_mounted_applications_under_their_routes(service: Service) -> None:
    service.graph("/groups/94000000-0000-4000-8000-000000000001")
    service.answers("/graph/made-up-by-a-stranger")
    service.answers("/scim/v2/Users/ada00000-0000-4000-8000-000000000001")
    service.answers("/identity/e57a7e00-0000-4000-8000-000000000001/v2.0/.well-known/openid-configuration")
    service.answers("/console/")
    service.answers("/console/assets/0123456789abcdef/console.css")
    service.answers("/console/made-up-by-a-stranger")

    counts = httpx2.get(f"{metrics_of(service)}/metrics").text
    for endpoint, status in (
        ("/graph/v1.0/groups/{id}", 200),
        ("/graph/{path}", 401),
        ("/scim/v2/Users/{id}", 401),
        ("/identity/{tenant_id}/v2.0/.well-known/openid-configuration", 200),
        ("/console/", 303),
        ("/console/assets/{digest}/{name}", 404),
        ("/console/{path}", 404),
    ):
        labels = f'endpoint="{endpoint}",method="GET",status="{status}"'
        assert figure(counts, f"chamberlain_http_request_duration_seconds_count{{{labels}}}") >= 1, endpoint


def test_it_counts_no_path_that_a_stranger_makes_up(service: Service) -> None:
    httpx2.get(f"{service.url}/made-up-by-a-stranger")

    assert "made-up" not in httpx2.get(f"{metrics_of(service)}/metrics").text


def test_it_shows_nothing_on_the_listener_of_the_api(service: Service) -> None:
    assert httpx2.get(f"{service.url}/metrics").status_code == 404


def test_it_shows_nothing_unless_it_is_asked_for() -> None:
    with restarted_service() as quiet:
        assert quiet.answers("/metrics") == 404


def metrics_of(service: Service) -> str:
    return f"http://127.0.0.1:{service.environment['CHAMBERLAIN_METRICS_PORT']}"


def figure(text: str, name: str) -> float:
    """The value behind a name in Prometheus' text format."""
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert found is not None, f"There is no {name}."
    return float(found[1])
