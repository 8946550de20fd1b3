# SPDX-License-Identifier: Apache-2.0
"""An open transaction holds a name: requests for that name wait, and no others do."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from uuid import uuid4

import httpx2
import pytest

from tests.faults.load import Load
from tests.postgres import connected
from tests.services import GROUP_TEMPLATE, Service, look_up, restarted_service, wait_until

pytestmark = pytest.mark.heavy

HOLD = """
INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id)
VALUES ('e57a7e00-0000-4000-8000-000000000001', 'address', 'held@estate.example', $1)
"""
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
# More than there are connections in the pool, and so many that to look at the name for each of them, one by one, would
# take longer than anybody has patience.
AT_ONE_NAME = 120
HELD = {"displayName": "Held", "templateId": GROUP_TEMPLATE}


def test_it_works_for_all_others() -> None:
    with restarted_service() as service, ExitStack() as beside:
        load = Load([service])
        service.headers()
        with held_name(service):
            stuck = ask_for_it(service, beside.enter_context(ThreadPoolExecutor(AT_ONE_NAME)))
            load.run(200)
            still_wait = sum(not each.done() for each in stuck)
        answers = [each.result(timeout=30) for each in stuck]

        assert (len(load.accepted), load.refused, load.unanswered) == (200, [], 0)
        assert still_wait == AT_ONE_NAME
        # The first has the name, and each of the others one of its own.
        assert {answer.status_code for answer in answers} == {202}
        wait_until(lambda: len(service.provisioned()) == 200 + AT_ONE_NAME, within=30, otherwise=service.said)
        assert set(service.provisioned().values()) == {1}


def test_it_rejects_a_caller_who_has_waited_long_enough() -> None:
    with restarted_service() as service, ExitStack() as beside:
        service.headers()
        with held_name(service):
            stuck = ask_for_it(service, beside.enter_context(ThreadPoolExecutor(AT_ONE_NAME)))
            answers = [each.result(timeout=30) for each in stuck]

        assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(503, "overloaded")}
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers)
        accepted = service.post_group(HELD)
        assert accepted.status_code == 202
        assert service.wait_for_group(accepted.json()["requestId"])["mailNickname"] == "held"
        assert len(service.provisioned()) == 1


def ask_for_it(service: Service, beside: ThreadPoolExecutor) -> list[Future[httpx2.Response]]:
    """Many who want the name that is held, all of whom wait by now."""
    asked = [beside.submit(service.post_group, HELD) for _ in range(AT_ONE_NAME)]
    wait_until(lambda: look_up(service.embedded_addresses.worker, WAITING) != 0, within=10)
    return asked


@contextmanager
def held_name(service: Service) -> Iterator[None]:
    """Take the name in a transaction that stays open until the block ends."""
    with asyncio.Runner() as runner:
        holding = connected(service.embedded_addresses.worker)
        connection = runner.run(holding.__aenter__())
        try:
            runner.run(connection.execute("BEGIN"))
            runner.run(connection.execute(HOLD, uuid4()))
            yield
        finally:
            runner.run(holding.__aexit__(None, None, None))
