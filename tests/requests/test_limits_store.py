# SPDX-License-Identifier: Apache-2.0
"""The room that a tenant with limits has: every open request counts, and nothing else (sql/requests.sql)."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.databases import Databases
from tests.estates import CONFIDENTIAL_TEAM, ESTATE, OTHER_GROUP, OTHER_HOUSE, ZOE, Estate, caller_of, rows

LIMIT = """
UPDATE chamberlain.tenant SET open_requests = $2, requests_per_minute = $3 WHERE tenant_id = $1 RETURNING 1
"""
JOB = """
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, held_reason, lane)
VALUES ($1, $2, gen_random_uuid(), '', $3, $4) RETURNING 1
"""


async def room(databases: Databases) -> tuple[object, ...]:
    """The room of the first tenant, as the worker's role finds it, which sees every tenant."""
    (found,) = await rows(databases, "SELECT room, full_limit FROM chamberlain.room_of($1)", ESTATE)
    return found


@pytest.mark.parametrize(
    ("tenant", "kind", "held", "lane", "expected"),
    [
        pytest.param(ESTATE, "groupProvision", None, None, 9, id="group"),
        pytest.param(ESTATE, "mailboxProvision", None, None, 9, id="mailbox"),
        pytest.param(ESTATE, "groupProvision", "A bug.", None, 9, id="held group"),
        pytest.param(ESTATE, "mailboxProvision", "A bug.", None, 9, id="held mailbox"),
        pytest.param(ESTATE, "assignmentApply", None, None, 10, id="assignment"),
        pytest.param(ESTATE, "assignmentApply", "A bug.", None, 10, id="held assignment"),
        pytest.param(ESTATE, "groupProvision", None, ESTATE, 10, id="in a lane"),
        pytest.param(OTHER_HOUSE, "groupProvision", None, None, 10, id="of another tenant"),
        pytest.param(OTHER_HOUSE, "mailboxProvision", "A bug.", None, 10, id="held of another tenant"),
    ],
)
async def test_a_job_that_provisions_is_an_open_request(
    estate: Estate, tenant: UUID, kind: str, held: str | None, lane: UUID | None, *, expected: int
) -> None:
    await estate.rows(LIMIT, ESTATE, 10, None)

    await estate.rows(JOB, tenant, kind, held, lane)

    assert await room(estate.databases) == (expected, None)


async def test_a_request_that_waits_for_approval_is_open(estate: Estate) -> None:
    await estate.rows(LIMIT, ESTATE, 10, None)
    await estate.request("Secret", templateId=str(CONFIDENTIAL_TEAM))
    other = await estate.request("House", caller=caller_of(ZOE, OTHER_HOUSE), templateId=str(OTHER_GROUP))
    await estate.rows(
        "UPDATE chamberlain.request SET state = 'pendingApproval' WHERE request_id = $1 RETURNING 1", other.request_id
    )

    assert await room(estate.databases) == (9, None)


@pytest.mark.parametrize(("age", "expected"), [(0, 1), (59, 1), (61, 2), (-60, 2)])
async def test_a_request_of_the_last_minute_counts(estate: Estate, age: int, expected: int) -> None:
    await estate.rows(LIMIT, ESTATE, None, 2)
    await estate.request("Apollo")
    await estate.request("House", caller=caller_of(ZOE, OTHER_HOUSE), templateId=str(OTHER_GROUP))

    await estate.rows(
        "UPDATE chamberlain.request SET created_at = now() - $1::interval RETURNING 1", timedelta(seconds=age)
    )

    assert await room(estate.databases) == (expected, None)


@pytest.mark.parametrize(
    ("most_open", "in_a_minute", "expected"),
    [
        (5, None, (3, None)),
        (None, 5, (3, None)),
        (5, 4, (2, None)),
        (4, 5, (2, None)),
        (2, 5, (0, "openRequests")),
        (5, 2, (0, "requestsPerMinute")),
        (1, 1, (0, "openRequests")),
    ],
)
async def test_the_narrower_limit_decides(
    estate: Estate, most_open: int | None, in_a_minute: int | None, expected: tuple[int | None, str | None]
) -> None:
    await estate.request("Apollo")
    await estate.request("Borealis")

    await estate.rows(LIMIT, ESTATE, most_open, in_a_minute)

    assert await room(estate.databases) == expected
