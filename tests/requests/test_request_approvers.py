# SPDX-License-Identifier: Apache-2.0
"""The database keeps the list of those who have to decide beside the request (sql/approvals.sql)."""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
import pytest

from chamberlain.auth.models import Actor, ActorType
from chamberlain.core.ids import RequestId, UserId
from chamberlain.directory.models import NamedPerson
from chamberlain.requests.models import ApprovalMode, ApprovalRecord, ApprovalState, Decision, DecisionOutcome
from tests.estates import ADA, BEN, CLEO, CONFIDENTIAL_TEAM, DARA, ESTATE, OTHER_HOUSE, Estate

MOMENT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
WRITE = "UPDATE chamberlain.request SET approvals = $2 WHERE request_id = $1 RETURNING 1"
MOVE = "UPDATE chamberlain.request SET state = $2 WHERE request_id = $1 RETURNING 1"
OF_ANOTHER_TENANT = """
INSERT INTO chamberlain.request_approver (tenant_id, user_id, kind, created_at, request_id)
VALUES ($1, $2, 'group', now(), $3) RETURNING 1
"""
APPROVERS = """
SELECT a.user_id FROM chamberlain.request_approver a JOIN chamberlain.request r USING (tenant_id, request_id, kind)
WHERE a.request_id = $1 AND a.created_at = r.created_at ORDER BY 1
"""


def level(
    *approvers: UserId, state: ApprovalState = ApprovalState.PENDING, decided: Sequence[UserId] = ()
) -> ApprovalRecord:
    people = tuple(NamedPerson(each, "") for each in approvers)
    decisions = [Decision(Actor(ActorType.USER, each, ""), DecisionOutcome.APPROVED, None, MOMENT) for each in decided]
    return ApprovalRecord(1, ApprovalMode.ALL, state, None, people, tuple(decisions))


async def request(estate: Estate, *levels: ApprovalRecord, name: str = "Secret") -> RequestId:
    """A request that waits for approval, with these levels."""
    accepted = await estate.request(name, templateId=str(CONFIDENTIAL_TEAM))
    await estate.rows(WRITE, accepted.request_id, msgspec.json.encode(levels).decode())
    return accepted.request_id


async def approvers(estate: Estate, request_id: RequestId) -> list[object]:
    return [user for (user,) in await estate.rows(APPROVERS, request_id)]


async def test_it_works(estate: Estate) -> None:
    request_id = await request(estate, level(ADA, BEN), level(CLEO, state=ApprovalState.NOT_REACHED))

    assert await approvers(estate, request_id) == sorted([ADA, BEN])
    assert await estate.rows("SELECT DISTINCT tenant_id FROM chamberlain.request_approver") == [(ESTATE,)]


async def test_an_approver_who_is_named_twice_is_listed_once(estate: Estate) -> None:
    request_id = await request(estate, level(ADA, BEN, ADA), level(BEN, DARA))

    assert await approvers(estate, request_id) == sorted([ADA, BEN, DARA])


async def test_an_approver_who_has_decided_is_listed_no_more(estate: Estate) -> None:
    request_id = await request(estate, level(ADA, BEN, CLEO, decided=[BEN]), level(DARA, state=ApprovalState.APPROVED))

    assert await approvers(estate, request_id) == sorted([ADA, CLEO])


@pytest.mark.parametrize("state", ["queued", "cancelled", "rejected"])
async def test_the_list_ends_with_the_wait(estate: Estate, state: str) -> None:
    request_id = await request(estate, level(ADA, BEN))
    other = await request(estate, level(CLEO), name="Other")

    await estate.rows(MOVE, request_id, state)

    assert await approvers(estate, request_id) == []
    assert await approvers(estate, other) == [CLEO]


async def test_the_list_ends_with_the_request(estate: Estate) -> None:
    request_id = await request(estate, level(ADA, BEN))
    await request(estate, level(CLEO), name="Other")
    await estate.rows(OF_ANOTHER_TENANT, OTHER_HOUSE, DARA, request_id)

    await estate.rows("DELETE FROM chamberlain.request WHERE request_id = $1 RETURNING 1", request_id)

    kept = "SELECT tenant_id, user_id FROM chamberlain.request_approver ORDER BY 2"
    assert await estate.rows(kept) == [(ESTATE, CLEO), (OTHER_HOUSE, DARA)]
