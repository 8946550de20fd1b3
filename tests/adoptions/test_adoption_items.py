# SPDX-License-Identifier: Apache-2.0
"""Names and addresses of what an adoption has taken are given back without a look at all that are reserved."""

from uuid import UUID

import pytest

from chamberlain.adoptions import store as adoption_store
from tests.databases import Databases
from tests.estates import ESTATE
from tests.query_plans import rows_looked_at

FILL = """
INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id)
SELECT $1, 'address', n || '@estate.example', $2 FROM generate_series(1, 20000) n
"""
LEFT = "SELECT count(*) AS number FROM chamberlain.reservation WHERE tenant_id = $1"


@pytest.mark.heavy
async def test_it_works_along_the_key_of_reservations(databases: Databases) -> None:
    ours = UUID(int=7)
    addresses = [f"{n}@estate.example" for n in range(100, 103)]
    async with databases.worker.across_tenants() as tx:
        await tx.execute(FILL, ESTATE, ours)
        await tx.execute("ANALYZE chamberlain.reservation")

        columns = ["address"] * len(addresses), addresses, [ours] * len(addresses)
        looked_at = await rows_looked_at(tx, adoption_store.GIVE_BACK, ESTATE, *columns)

        assert looked_at <= len(addresses)
        (row,) = await tx.fetch(LEFT, ESTATE)
        assert row["number"] == 20_000 - len(addresses)
