# SPDX-License-Identifier: Apache-2.0
"""Figures of a running service, over HTTP, at the command line and by the SDK."""

from datetime import UTC, datetime

import httpx2

from chamberlain_client import Chamberlain
from tests.services import ADA_MAIL, API, CLEO_MAIL, GROUP_TEMPLATE, TLS, Service, run_command

CONFIG = f"{API}/admin/Config.ReadWrite.All"


def read(service: Service, query: str = "", *, who: str = ADA_MAIL) -> httpx2.Response:
    headers = service.headers(who, CONFIG)
    return httpx2.get(f"{service.url}/admin/v1/figures/{query}", headers=headers, timeout=30, verify=TLS)


def test_it_works(service: Service) -> None:
    request_id = service.post_group({"displayName": "Measured", "templateId": GROUP_TEMPLATE}).json()["requestId"]
    service.wait_for_end(request_id)
    today = datetime.now(UTC).date()

    answer = read(service, f"?from={today}")
    with Chamberlain(service.url, lambda: service.token(ADA_MAIL, CONFIG)) as client:
        figures = client.figures.get(begin=today)
    token = {**service.environment, "CHAMBERLAIN_TOKEN": service.token(ADA_MAIL, CONFIG)}
    shown = run_command("figures", "--from", str(today), "--port", str(service.port), environment=token).stdout

    (times,) = [each for each in answer.json()["timeToReady"] if each["templateId"] == GROUP_TEMPLATE]
    assert answer.headers["cache-control"] == "no-store"
    assert (times["day"], times["templateName"]) == (str(today), "Project group")
    assert 0 < times["p50Ms"] <= times["p95Ms"]
    assert {"succeeded"} <= {each["state"] for each in answer.json()["days"] if each["kind"] == "group"}
    assert [each.count for each in figures.time_to_ready if str(each.template_id) == GROUP_TEMPLATE] == [times["count"]]
    assert {each.day for each in figures.days} == {today}
    assert f"{today}\tProject group\t{GROUP_TEMPLATE}\t{times['count']}" in shown
    assert "findings.open" in shown


def test_it_refuses_days_that_do_not_exist_and_too_many(service: Service) -> None:
    for query in ("?from=2026-02-30", "?from=2026-11-20T00:00:00Z", "?from=2026-01-01&to=2026-11-20"):
        refused = read(service, query)
        assert (refused.status_code, refused.json()["code"]) == (400, "invalidParameter"), query


def test_it_is_for_administrators(service: Service) -> None:
    refused = read(service, "?from=2026-01-01&to=2026-11-20", who=CLEO_MAIL)

    assert (refused.status_code, refused.json()["code"]) == (403, "notAdministrator")
