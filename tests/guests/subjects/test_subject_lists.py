# SPDX-License-Identifier: Apache-2.0
"""Lists of groups and sites stay quick: each filter is read along an index, and a million are like a thousand."""

from itertools import product
from uuid import UUID

import pytest

from chamberlain.core.ids import GroupId, PolicyId, TemplateId
from chamberlain.core.paging import NamedPageWanted, NamePosition
from chamberlain.database.transactions import PLANNING, Transaction
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.subjects import store as subject_store
from chamberlain.guests.subjects.models import MetadataFilter, SubjectFilter
from tests.databases import Databases
from tests.estates import ESTATE, OTHER_HOUSE
from tests.guests.assignments.guest_fixture import NINETY_DAYS, NO_GUESTS, PARTNERS, YEARLY_REVIEW
from tests.query_plans import SIZES, rows_looked_at

# One in ten is a site. One in a thousand has the first template, half of all have the second; one in a thousand the
# first policy, of these one in a thousand the first template as well. Half of the names begin alike.
FILL = """
INSERT INTO chamberlain.subject (
    tenant_id, subject_id, type, display_name, name_key, is_team, member_ship_type, observed_at, template_id, policy_id
)
SELECT $1, gen_random_uuid(), CASE n % 10 WHEN 9 THEN 'site' ELSE 'group' END,
    CASE n % 2 WHEN 0 THEN 'Group ' ELSE '' END || n, CASE n % 2 WHEN 0 THEN 'group ' ELSE '' END || n, false, 0, now(),
    CASE WHEN n % 1000 = 1 THEN $2::uuid WHEN n % 2 = 0 THEN $3::uuid END,
    CASE WHEN n % 1000 = 3 OR n % 100000 = 1 THEN $4::uuid WHEN n % 4 = 0 THEN $5::uuid END
FROM generate_series(1, $6::integer) n
"""
IDS = (NO_GUESTS, PARTNERS, NINETY_DAYS, YEARLY_REVIEW)
NONE = TemplateId(UUID(int=7))
FILTERS = [
    SubjectFilter(subject_type, is_assigned, template_id, policy_id, prefix)
    for subject_type, is_assigned, template_id, policy_id, prefix in product(
        SubjectType,
        [None, True, False],
        [None, NO_GUESTS, PARTNERS, NONE],
        [None, NINETY_DAYS, YEARLY_REVIEW, PolicyId(NONE)],
        [None, "Group", "1999", "nobody"],
    )
]


# Twenty groups have the value "rare".
FILL_METADATA = """
INSERT INTO chamberlain.group_metadata (tenant_id, subject_id, name, value, is_boolean)
SELECT tenant_id, subject_id, 'costCentre', CASE WHEN row_number() OVER () <= 20 THEN 'rare' ELSE 'common' END, false
FROM chamberlain.subject WHERE tenant_id = $1 AND type = 'group' LIMIT 5000
"""


async def fill(databases: Databases, number: int) -> None:
    async with databases.worker.across_tenants() as tx:
        await tx.connection.execute("SET LOCAL statement_timeout = '300s'")
        await tx.connection.execute(FILL, ESTATE, *IDS, number, timeout=300)
        await tx.connection.execute(FILL, OTHER_HOUSE, *IDS, number // 10, timeout=300)


def middle_of(wanted: SubjectFilter) -> NamePosition:
    """A place in the middle of a list."""
    return NamePosition(f"{(wanted.prefix or '').lower()}5", GroupId(UUID(int=0)))


@pytest.mark.heavy
@pytest.mark.parametrize("number", SIZES)
async def test_it_works_along_indexes_for_every_filter(databases: Databases, number: int) -> None:
    await fill(databases, number)

    async with databases.application.transaction(ESTATE) as tx:
        for is_first, wanted in product([True, False], FILTERS):
            position = None if is_first else middle_of(wanted)
            if wanted.is_assigned is False and (wanted.template_id or wanted.policy_id):
                continue
            assert await looked_at(tx, wanted, position) <= 250, (wanted, position)


async def test_a_search_by_metadata_reads_the_groups_that_have_it(databases: Databases) -> None:
    await fill(databases, 20_000)
    async with databases.worker.across_tenants() as tx:
        await tx.execute(FILL_METADATA, ESTATE)
    rare = SubjectFilter(SubjectType.GROUP, metadata=MetadataFilter("costCentre", "rare"))

    async with databases.application.transaction(ESTATE) as tx:
        assert await looked_at(tx, rare, None) <= 250
        assert len(await walked(tx, rare)) == 20


async def test_every_filter_finds_what_it_names(databases: Databases) -> None:
    await fill(databases, 2_000)

    async with databases.application.transaction(ESTATE) as tx:
        for wanted in FILTERS:
            (count,) = await tx.fetch(
                "SELECT count(*) AS found FROM chamberlain.subject WHERE tenant_id = $1 AND type = $2 "
                "AND ($3::boolean IS NULL OR (template_id IS NOT NULL OR policy_id IS NOT NULL) = $3) "
                "AND ($4::uuid IS NULL OR template_id = $4) AND ($5::uuid IS NULL OR policy_id = $5) "
                "AND starts_with(name_key, $6)",
                ESTATE,
                wanted.type,
                wanted.is_assigned,
                wanted.template_id,
                wanted.policy_id,
                (wanted.prefix or "").lower(),
            )
            names = await walked(tx, wanted)
            assert len(names) == count["found"], wanted
            assert names == sorted(set(names)), wanted


async def walked(tx: Transaction, wanted: SubjectFilter) -> list[tuple[str, UUID]]:
    """The places of all items, page by page."""
    places: list[tuple[str, UUID]] = []
    page = await subject_store.find_page(tx, wanted, NamedPageWanted(200, None))
    while True:
        found = [each.entry.id for each in page.items]
        keys = await tx.fetch(
            "SELECT name_key, subject_id FROM chamberlain.subject WHERE tenant_id = $1 AND subject_id = ANY ($2)",
            ESTATE,
            found,
        )
        of_id = {row["subject_id"]: row["name_key"] for row in keys}
        places += [(of_id[each], each) for each in found]
        if page.next is None:
            return places
        page = await subject_store.find_page(tx, wanted, NamedPageWanted(200, page.next))


async def looked_at(tx: Transaction, wanted: SubjectFilter, position: NamePosition | None) -> int:
    await tx.execute(PLANNING)
    statement, values = subject_store.page_statement(tx, wanted, NamedPageWanted(50, position))
    return await rows_looked_at(tx, statement, *values)
