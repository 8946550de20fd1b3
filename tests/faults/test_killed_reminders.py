# SPDX-License-Identifier: Apache-2.0
"""Workers are killed while they remind approvers: each level is reminded of once, and no decision is lost."""

import asyncio
import re
from collections import defaultdict
from dataclasses import replace

import httpx2
import pytest

from tests.faults.load import AT_ONCE
from tests.faults.test_killed_policies import number, reach
from tests.faults.test_killed_reports import running_smtp_server
from tests.services import API, Service, look_up, outside_database, wait_until

REQUESTS = 60
KILLS = 2
WITHIN = 120.0
DARA = "dara@estate.example"
BEN = "be000000-0000-4000-8000-000000000002"
CONFIDENTIAL_TEAM = "7e000000-0000-4000-8000-000000000013"
WAITING = "SELECT count(*) FROM chamberlain.request WHERE state = 'pendingApproval'"
NOTICES = "SELECT count(*) FROM chamberlain.notice"
REMINDED = """
SELECT count(*) FROM chamberlain.request WHERE approvals -> 0 ->> 'reminded_at' IS NOT NULL
"""
SUBSTITUTED = "SELECT count(*) FROM chamberlain.request WHERE approvals -> 0 -> 'substitutes' -> 0 IS NOT NULL"
# As half a day before the deadline.
LET_TIME_PASS = """
WITH passed AS (
    UPDATE chamberlain.request SET approvals = jsonb_set(
        approvals::jsonb, '{0,deadline}', to_jsonb(now() + interval '12 hours')
    )::json
    WHERE state = 'pendingApproval'
)
UPDATE chamberlain.job SET run_at = now() WHERE kind = 'approvalAttend'
"""


@pytest.mark.heavy
@pytest.mark.timeout(300)
def test_it_reminds_of_every_level_once() -> None:
    with outside_database() as empty, running_smtp_server() as smtp_server:
        outside = replace(empty, environment={**empty.environment, "CHAMBERLAIN_SMTP_URL": smtp_server.url})
        service = outside.ready_service("--no-worker")
        headers = service.headers(DARA)
        named = httpx2.put(f"{service.url}/me/v1/substitute/", json={"userId": BEN, "days": 1}, headers=headers)
        assert named.status_code == 200
        asked = ask(service)
        worker = outside.start_worker()
        reach(outside, SUBSTITUTED, REQUESTS)
        wait_until(lambda: number(outside, NOTICES) == 0, WITHIN, lambda: str(number(outside, NOTICES)))
        first = len(smtp_server.received)

        look_up(outside.addresses.owner, LET_TIME_PASS)
        for kill in range(1, KILLS + 1):
            reach(outside, REMINDED, REQUESTS * kill // (KILLS + 1))
            worker.kill()
            approve(service, asked[kill])
            worker = outside.start_worker()
        reach(outside, REMINDED, REQUESTS)
        wait_until(lambda: number(outside, NOTICES) == 0, WITHIN, lambda: str(number(outside, NOTICES)))

        found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for received in smtp_server.received[first:]:
            if received.message["Subject"].startswith("Reminder:"):
                (request_id,) = re.findall(r"^Request (\S+) of", received.part("plain"), re.MULTILINE)
                found[request_id][received.to].add(received.message["Message-ID"])
        decided = set(asked[1 : KILLS + 1])
        assert number(outside, WAITING) == REQUESTS - KILLS
        # A decision may come before the reminder, which is then sent to none.
        assert set(asked) - decided <= set(found)
        assert {frozenset(found[each]) for each in asked if each not in decided} == {
            frozenset({DARA, "ben@estate.example"})
        }
        # A mail is sent twice when its sending was not recorded, and is then the same.
        assert {len(ids) for of_request in found.values() for ids in of_request.values()} == {1}
        for each in decided:
            service.wait_for_end(each, WITHIN)


def ask(service: Service) -> list[str]:
    """Request teams that Dara approves, and return the ids of the requests."""
    headers = service.headers()

    async def together() -> list[str]:
        limits = httpx2.Limits(max_connections=AT_ONCE)
        async with httpx2.AsyncClient(base_url=service.url, headers=headers, limits=limits, timeout=60) as client:
            answers = await asyncio.gather(
                *[
                    client.post(
                        "/collab/v1/groups/", json={"displayName": f"Team {each}", "templateId": CONFIDENTIAL_TEAM}
                    )
                    for each in range(REQUESTS)
                ]
            )
        return [str(answer.json()["requestId"]) for answer in answers]

    return asyncio.run(together())


def approve(service: Service, request_id: str) -> None:
    """Approve a request while no worker runs."""
    answer = httpx2.post(
        f"{service.url}/requests/v1/{request_id}/approve/", headers=service.headers(DARA, f"{API}/.default"), timeout=30
    )
    assert (answer.status_code, answer.json()["state"]) == (200, "queued")
