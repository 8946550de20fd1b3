# SPDX-License-Identifier: Apache-2.0
"""A worker is killed while it takes the actions of policies: each guest is removed in the end, and reported once."""

import asyncio

import httpx2
import pytest

from tests.faults.load import AT_ONCE
from tests.services import API, Outside, Service, look_up, outside_database, wait_until

GROUPS = 200
GUESTS = 10
# Before the first worker is killed, so many are reported; after that it is in the middle of the others.
KILLED_AFTER = 100
# A killed worker's leases last for ten seconds; a full machine takes its time for the rest.
DONE_WITHIN = 120.0
POLICY = "90110000-0000-4000-8000-000000000001"
MAKE_GROUPS = """
INSERT INTO directory.groups (
    tenant_id, id, display_name, mail_nickname, visibility, group_types, mail_enabled, security_enabled, extensions,
    created_at
)
SELECT 'e57a7e00-0000-4000-8000-000000000001', ('94ff0000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid,
    'Group ' || n, 'group-' || n, 'Private', '{Unified}', true, false, '{}', now()
FROM generate_series(1, $1::integer) n
"""
MAKE_GUESTS = """
WITH made AS (
    INSERT INTO directory.users (
        tenant_id, id, display_name, user_principal_name, mail, user_type, account_enabled, properties
    )
    SELECT 'e57a7e00-0000-4000-8000-000000000001', ('9e57ffff-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid,
        'Guest ' || n, 'guest' || n || '@partner.example', 'guest' || n || '@partner.example', 'Guest', true, '{}'
    FROM generate_series(1, $1::integer) n
    RETURNING tenant_id, id
)
INSERT INTO directory.memberships (tenant_id, group_id, member_id, is_owner, is_member, is_group)
SELECT g.tenant_id, g.id, made.id, false, true, false FROM made CROSS JOIN directory.groups g
WHERE g.id::text LIKE '94ff%'
"""
# As after 90 days in which everybody was reminded of.
LET_TIME_PASS = """
WITH passed AS (
    UPDATE chamberlain.policy_clock SET
        started_at = now() - interval '90 days', action_at = now(), next_at = now(), reminded = 1
), told AS (
    UPDATE chamberlain.subject SET policy_digest = NULL
)
UPDATE chamberlain.job SET run_at = now() WHERE kind = 'policyEvaluate'
"""
TAKEN = "SELECT count(*) FROM chamberlain.event WHERE type = 'policy.actionTaken'"
TWICE = """
SELECT count(*) FROM (
    SELECT FROM chamberlain.event WHERE type = 'policy.actionTaken'
    GROUP BY data #>> '{subject,id}', data #>> '{guest,id}' HAVING count(*) > 1
) twice
"""


@pytest.mark.heavy
@pytest.mark.timeout(300)
def test_it_takes_every_action_once() -> None:
    with outside_database() as outside:
        take_all_with_a_kill(outside)

        assert number(outside, TWICE) == 0
        assert number(outside, "SELECT count(*) FROM chamberlain.audit WHERE action = 'policy.act'") == GROUPS * GUESTS
        assert number(outside, "SELECT count(*) FROM directory.memberships WHERE group_id::text LIKE '94ff%'") == 0
        assert number(outside, "SELECT count(*) FROM chamberlain.finding WHERE state = 'repaired'") == GROUPS * GUESTS
        assert number(outside, "SELECT count(*) FROM chamberlain.policy_clock") == 0
        assert number(outside, "SELECT count(*) FROM chamberlain.job WHERE kind = 'policyEvaluate'") == GROUPS


def take_all_with_a_kill(outside: Outside) -> None:
    """Have all guests meet the action of their policy, by a worker that is killed on the way and by another one."""
    service = outside.ready_service("--no-worker")
    look_up(outside.addresses.owner, MAKE_GROUPS, GROUPS)
    look_up(outside.addresses.owner, MAKE_GUESTS, GUESTS)
    assign(service)
    worker = outside.start_worker()
    reach(outside, "SELECT count(*) FROM chamberlain.policy_clock", GROUPS * GUESTS)

    look_up(outside.addresses.owner, LET_TIME_PASS)
    reach(outside, TAKEN, KILLED_AFTER)
    worker.kill()
    assert number(outside, TAKEN) < GROUPS * GUESTS
    outside.start_worker()
    reach(outside, TAKEN, GROUPS * GUESTS)


def assign(service: Service) -> None:
    """All groups get the policy that removes guests after 90 days."""
    headers = service.headers("automation", f"{API}/.default")

    async def together() -> list[httpx2.Response]:
        limits = httpx2.Limits(max_connections=AT_ONCE)
        async with httpx2.AsyncClient(base_url=service.url, headers=headers, limits=limits, timeout=60) as client:
            return await asyncio.gather(
                *[
                    client.patch(
                        f"/admin/collab/v1/manage/groups/94ff0000-0000-4000-8000-{each:012}/",
                        json={"policyId": POLICY},
                    )
                    for each in range(1, GROUPS + 1)
                ]
            )

    assert {answer.status_code for answer in asyncio.run(together())} == {200}


def number(outside: Outside, statement: str) -> int:
    """How many there are."""
    return int(str(outside.value(statement)))


def reach(outside: Outside, statement: str, wanted: int) -> None:
    """Wait until there are so many."""
    wait_until(lambda: number(outside, statement) >= wanted, DONE_WITHIN, lambda: str(number(outside, statement)))
