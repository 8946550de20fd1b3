# SPDX-License-Identifier: Apache-2.0
"""Bodies that are wrong in every way come in the same moment as good ones: each gets its own answer, no other's."""

import asyncio
import json

import httpx2
import pytest

from bench.bad_requests import BAD, SCOPE, TAKEN, Bad
from tests.faults.load import Load
from tests.services import ADA_MAIL, TLS, Service, restarted_service, wait_until

pytestmark = pytest.mark.heavy

GOOD = 200
# Of each kind that is wrong.
OF_EACH = 8
# Only the database detects a text that it cannot store, and no other transaction fails.
UNPAIRED = Bad('{"displayName": "\\ud800", "templateId": "7e000000-0000-4000-8000-000000000011"}', 400, "notJson")
ALL_BAD = (*BAD, UNPAIRED)


def test_it_works() -> None:
    with restarted_service() as service:
        taken = httpx2.post(
            f"{service.url}/mail/v1/mailboxes/", json=TAKEN, headers=service.headers(ADA_MAIL, SCOPE), verify=TLS
        )
        assert taken.status_code == 202

        load = Load([service])
        service.headers()
        answers = asyncio.run(together(service, load))

        told = {(bad, status, code) for bad, status, code in answers}
        assert told == {(bad, bad.status, bad.code) for bad in ALL_BAD}
        assert (len(load.accepted), load.refused, load.unanswered) == (GOOD, [], 0)
        wait_until(lambda: set(load.accepted) <= service.provisioned().keys(), within=30, otherwise=service.said)
        # The mailbox is no group, and nothing that is wrong has become one.
        assert sorted(service.provisioned().elements()) == sorted(load.accepted)


async def together(service: Service, load: Load) -> list[tuple[Bad, int, str]]:
    """The answers to bad requests among good ones."""
    wrong = [bad for bad in ALL_BAD for _ in range(OF_EACH)]
    async with httpx2.AsyncClient(timeout=60, verify=TLS, trust_env=False) as client:
        _, *answers = await asyncio.gather(
            asyncio.to_thread(load.run, GOOD), *(refused(client, service, bad) for bad in wrong)
        )
    return [answer for answer in answers if answer is not None]


async def refused(client: httpx2.AsyncClient, service: Service, bad: Bad) -> tuple[Bad, int, str]:
    headers = service.headers(ADA_MAIL, SCOPE) if bad.is_signed_in else {}
    answer = await client.post(
        f"{service.url}{bad.path}", content=bad.body, headers={**headers, "content-type": "application/json"}
    )
    told = json.loads(answer.content)
    return bad, answer.status_code, told["errors"][0]["code"] if told.get("errors") else told["code"]
