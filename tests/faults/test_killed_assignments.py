# SPDX-License-Identifier: Apache-2.0
"""Workers are killed while they bring assignments about: in the end every group shows what was assigned last, whole."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.faults.load import AT_ONCE
from tests.services import API, Outside, Service, look_up, outside_database, wait_until

GROUPS = 400
# A killed worker's leases last for ten seconds; a full machine takes its time for the rest.
DONE_WITHIN = 90.0
TEMPLATES = ("7e000000-0000-4000-8000-000000000021", "7e000000-0000-4000-8000-000000000022")
MAKE = """
INSERT INTO directory.groups (
    tenant_id, id, display_name, mail_nickname, visibility, group_types, mail_enabled, security_enabled, extensions,
    created_at
)
SELECT 'e57a7e00-0000-4000-8000-000000000001', ('94ff0000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid,
    'Group ' || n, 'group-' || n, 'Private', '{Unified}', true, false, '{}', now()
FROM generate_series(1, $1::integer) n
"""
# Groups whose mark or own settings are not what is assigned to them.
HALF = """
SELECT count(*) FROM chamberlain.subject s
JOIN directory.groups g ON g.tenant_id = s.tenant_id AND g.id = s.subject_id
LEFT JOIN directory.guest_settings d ON d.tenant_id = g.tenant_id AND d.group_id = g.id
WHERE s.generation > 0 AND (
    g.extensions -> 'chamberlain_group' ->> 'templateId' IS DISTINCT FROM s.template_id::text
    OR d.allow_to_add_guests IS DISTINCT FROM (s.template_id::text LIKE '%22')
)
"""


@pytest.mark.heavy
@pytest.mark.timeout(300)
def test_it_works_through_the_queue() -> None:
    with outside_database() as outside, ThreadPoolExecutor(max_workers=1) as beside:
        service = outside.ready_service("--no-worker")
        look_up(outside.addresses.owner, MAKE, GROUPS)
        assign(service, 0)

        for turn in (1, 2):
            worker = outside.start_worker()
            assigning = beside.submit(assign, service, turn)
            # It is killed while more comes, and while it still has what came before.
            reach(outside, turn * GROUPS // 2 + 20)
            worker.kill()
            assigning.result()
        outside.start_worker()
        reach(outside, 2 * GROUPS)

        assert outside.value("SELECT count(*) FROM chamberlain.job WHERE kind = 'assignmentApply'") == 0
        assert outside.value("SELECT count(*) FROM chamberlain.subject WHERE generation > 0") == GROUPS
        assert outside.value(HALF) == 0


def assign(service: Service, turn: int) -> None:
    """All groups in the first turn, and then one half or the other; each time something else than they have."""
    headers = service.headers("automation", f"{API}/.default")
    numbers = [number for number in range(1, GROUPS + 1) if turn == 0 or number % 2 == turn - 1]

    async def together() -> list[httpx2.Response]:
        limits = httpx2.Limits(max_connections=AT_ONCE)
        async with httpx2.AsyncClient(base_url=service.url, headers=headers, limits=limits, timeout=60) as client:
            return await asyncio.gather(
                *[
                    client.patch(
                        f"/admin/collab/v1/manage/groups/94ff0000-0000-4000-8000-{number:012}/",
                        json={"templateId": TEMPLATES[(number // 2 + (turn > 0)) % 2]},
                    )
                    for number in numbers
                ]
            )

    assert {answer.status_code for answer in asyncio.run(together())} == {200}


def succeeded(outside: Outside) -> int:
    """How many requests are through."""
    return int(str(outside.value("SELECT count(*) FROM chamberlain.request WHERE state = 'succeeded'")))


def reach(outside: Outside, number: int) -> None:
    """Wait until so many requests are through."""
    wait_until(lambda: succeeded(outside) >= number, DONE_WITHIN, lambda: f"{succeeded(outside)} are through.")
