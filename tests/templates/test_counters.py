# SPDX-License-Identifier: Apache-2.0
"""Numbers for naming rules: a sequence for each template and rule, and for templates of the own tenant only."""

import asyncio
from uuid import UUID, uuid4

import asyncpg
import pytest

from chamberlain.core.ids import TenantId
from tests.databases import Databases
from tests.estates import ESTATE, OTHER_GROUP, OTHER_HOUSE, PROJECT_GROUP, PROJECT_TEAM, Estate, until


async def draw(databases: Databases, template: UUID, rule: str = "name", tenant_id: TenantId = ESTATE) -> object:
    async with databases.application.transaction(tenant_id) as tx:
        (row,) = await tx.fetch("SELECT chamberlain.next_number($1, $2) AS number", template, rule)
    return row["number"]


async def test_it_works(estate: Estate) -> None:
    assert [await draw(estate.databases, PROJECT_GROUP) for _ in range(3)] == [1, 2, 3]


async def test_each_template_and_rule_counts_for_itself(estate: Estate) -> None:
    await draw(estate.databases, PROJECT_GROUP)

    assert await draw(estate.databases, PROJECT_GROUP, "alias") == 1
    assert await draw(estate.databases, PROJECT_TEAM) == 1
    assert await draw(estate.databases, OTHER_GROUP, tenant_id=OTHER_HOUSE) == 1
    assert await draw(estate.databases, PROJECT_GROUP) == 2


async def test_two_first_uses_at_once_share_one_sequence(estate: Estate) -> None:
    async with estate.databases.application.transaction(ESTATE) as tx:
        await tx.execute("SELECT chamberlain.next_number($1, 'name')", PROJECT_GROUP)
        waiting = asyncio.create_task(draw(estate.databases, PROJECT_GROUP))
        await until(lambda: estate.rows("SELECT FROM pg_locks WHERE NOT granted"))

    assert await waiting == 2


@pytest.mark.parametrize("template", [OTHER_GROUP, uuid4()], ids=["of another tenant", "unknown"])
async def test_it_rejects_a_template_that_the_tenant_does_not_have(estate: Estate, template: UUID) -> None:
    with pytest.raises(asyncpg.RaiseError):
        await draw(estate.databases, template)

    sequences = await estate.rows("SELECT relname FROM pg_class WHERE relkind = 'S' AND relname LIKE 'number\\_%'")
    assert sequences == []


async def test_it_rejects_a_call_without_a_tenant(estate: Estate) -> None:
    with pytest.raises(asyncpg.RaiseError):
        async with estate.databases.application.statement() as connection:
            await connection.fetch("SELECT chamberlain.next_number($1, 'name')", PROJECT_GROUP)
