# SPDX-License-Identifier: Apache-2.0
"""Drift among ten thousand things: what was changed is found, and nothing else."""

import asyncio
from collections import Counter

import pytest

from tests.drift.drift_fixture import DriftFixture, drift_fixture
from tests.estates import BEN, INTERNAL, PROJECT_TEAM, SHARED_MAILBOX, Estate
from tests.guests.assignments.guest_fixture import later

pytestmark = pytest.mark.heavy

SIZES = [
    pytest.param(400, 20, id="400 things, 20 changed"),
    pytest.param(10_000, 100, id="10,000 things, 100 changed", marks=pytest.mark.heavy),
]
# So many are asked for at one moment.
AT_ONCE = 250

MOVE = """
UPDATE directory.users SET properties = properties || '{"city": "Elsewhere"}' WHERE id IN (
    SELECT id FROM directory.users WHERE mail LIKE 'desk%' ORDER BY md5(id::text) LIMIT $1
)
"""
UNLABEL = """
UPDATE directory.groups SET label_id = NULL WHERE id IN (
    SELECT id FROM directory.groups WHERE display_name LIKE 'Apollo%' ORDER BY md5(id::text) LIMIT $1
)
"""
DISOWN = """
UPDATE directory.memberships m SET is_owner = false WHERE m.member_id = $2 AND m.group_id IN (
    SELECT id FROM directory.groups WHERE display_name LIKE 'Apollo%' ORDER BY md5(id::text) DESC LIMIT $1
)
"""
STATES = """
SELECT state, count(*) FROM chamberlain.finding WHERE kind = 'drift' GROUP BY state ORDER BY state
"""


async def fill(drift: DriftFixture, number: int) -> None:
    """Half of them mailboxes, half of them teams."""
    estate = drift.estate
    for first in range(0, number // 2, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, number // 2))
        await asyncio.gather(
            *[
                estate.ask_mailbox(
                    {
                        "name": f"Desk {each}",
                        "displayName": f"Desk {each}",
                        "templateId": str(SHARED_MAILBOX),
                        "city": "Town",
                    }
                )
                for each in numbers
            ],
            *[
                estate.ask(
                    {
                        "displayName": f"Apollo {each}",
                        "templateId": str(PROJECT_TEAM),
                        "owners": [str(BEN)],
                        "labelId": INTERNAL,
                    }
                )
                for each in numbers
            ],
        )
    while await estate.rows("SELECT FROM chamberlain.request WHERE state <> 'succeeded' LIMIT 1"):
        await estate.work()


@pytest.mark.parametrize(("number", "changed"), SIZES)
async def test_it_works(estate: Estate, number: int, changed: int) -> None:
    drift = drift_fixture(estate)
    await drift.set_repair()
    await fill(drift, number)
    await drift.check_all()
    assert await estate.rows(STATES) == []
    await drift.change(MOVE, changed // 2)
    await drift.change(UNLABEL, changed // 4)
    await drift.change(DISOWN, changed // 4, BEN)

    await drift.check_all()

    assert await estate.rows(STATES) == [("repaired", changed)]
    properties = await estate.rows("SELECT property FROM chamberlain.finding")
    assert Counter(properties) == {("city",): changed // 2, ("labelId",): changed // 4, ("owners",): changed // 4}
    assert len(await drift.repairs()) == changed

    # The next check finds all of it repaired, and a stubborn one is reported once.
    later(estate, days=1)
    await drift.check_all()
    assert await estate.rows(STATES) == [("repaired", changed)]
    for _ in range(4):
        await drift.change(MOVE, 1)
        later(estate, days=1)
        await drift.check_all()
    kinds = await estate.rows("SELECT kind, state, count(*) FROM chamberlain.finding GROUP BY 1, 2 ORDER BY 1, 2")
    assert kinds == [("drift", "open", 1), ("drift", "repaired", changed + 1), ("repairDoesNotHold", "open", 1)]
    assert len(await drift.repairs()) == changed + 1
