# SPDX-License-Identifier: Apache-2.0
"""Changes of assignments as the database writes them: a held row is another outcome than an outdated decision.

The owner writes here, whom row-level security does not bind: the functions themselves keep to each tenant.
"""

from datetime import UTC, datetime
from typing import TypeAlias
from uuid import UUID, uuid4

import msgspec
import pytest

from chamberlain.guests.assignments.store import CHANGE, FIND
from tests.estates import ADA, CLIENT, ESTATE, OTHER_GROUP, OTHER_HOUSE, TRACE, Estate
from tests.guests.assignments.guest_fixture import NINETY_DAYS, NO_GUESTS, PARTNERS, YEARLY_REVIEW
from tests.postgres import Connection, connected

MOMENT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
SUBJECT = """
INSERT INTO chamberlain.subject (
    tenant_id, subject_id, type, display_name, name_key, is_team, member_ship_type, observed_at
) VALUES ($1, gen_random_uuid(), 'group', 'All staff', 'all staff', false, 0, now()) RETURNING subject_id
"""
SUBJECT_COPY = """
INSERT INTO chamberlain.subject (
    tenant_id, subject_id, type, display_name, name_key, is_team, member_ship_type, observed_at
) SELECT $1, subject_id, type, display_name, name_key, is_team, member_ship_type, observed_at
FROM chamberlain.subject WHERE subject_id = $2 RETURNING 1
"""
FINDING = """
INSERT INTO chamberlain.finding (
    tenant_id, finding_id, kind, state, source, subject_type, subject_id, subject_name, about, detail, first_seen_at,
    last_seen_at
) SELECT $1, gen_random_uuid(), 'guestAgainstRule', state, 'assignment', 'group', $2, '', gen_random_uuid(), '', now(),
    now()
FROM unnest($3::text[]) state RETURNING 1
"""
POLICY_COPY = """
INSERT INTO chamberlain.policy (tenant_id, policy_id, revision, active, content, created_by)
SELECT $1, gen_random_uuid(), revision, active, content, created_by FROM chamberlain.policy WHERE policy_id = $2
RETURNING policy_id
"""
BEGIN = "UPDATE chamberlain.subject SET policy_begun = true WHERE subject_id = $1 RETURNING 1"
DEACTIVATE = "UPDATE chamberlain.{0} SET active = false WHERE {0}_id = $1 RETURNING 1"

# Another change of one group: its tenant, its id, and the template and the policy that it is to get.
Order: TypeAlias = tuple[UUID, UUID, UUID | None, UUID | None]


async def subject(estate: Estate, tenant_id: UUID = ESTATE) -> UUID:
    """A group to which nothing is assigned."""
    ((subject_id,),) = await estate.rows(SUBJECT, tenant_id)
    return UUID(str(subject_id))


async def change(estate: Estate, *orders: Order, generation: int = 0, has_event: bool = True) -> list[int]:
    """Write changes in one call. The answer has the places of those that are written, and those of held ones below
    zero."""
    async with connected(estate.databases.addresses.owner) as owner:
        return await write(owner, *orders, generation=generation, has_event=has_event)


async def write(owner: Connection, *orders: Order, generation: int = 0, has_event: bool = True) -> list[int]:
    about = ("Template", '{"sent": true}', "[]", CLIENT, "user", ADA, "Ada", TRACE, "group.assign", "{}")
    values = []
    for tenant, group, template, policy in orders:
        decided = (tenant, group, generation, template, policy, template, policy, MOMENT, '{"type": "user"}')
        event = (uuid4(), "group.assignmentChanged", "{}") if has_event else (None, None, None)
        values.append((*decided, uuid4(), "All staff", template, 1, *about, *event))
    return sorted(row["ordinal"] for row in await owner.fetch(CHANGE, *zip(*values, strict=True)))


async def test_it_works(estate: Estate) -> None:
    first, second, third = [await subject(estate) for _ in range(3)]
    other = await subject(estate, OTHER_HOUSE)

    apply_draft = await change(
        estate,
        (ESTATE, first, NO_GUESTS, NINETY_DAYS),
        (ESTATE, second, None, YEARLY_REVIEW),
        (OTHER_HOUSE, other, OTHER_GROUP, None),
        (ESTATE, third, PARTNERS, None),
    )

    assert apply_draft == [1, 2, 3, 4]
    columns = "subject_id, tenant_id, template_id, policy_id, generation, assigned_at, policy_assigned_at"
    found = await estate.rows(f"SELECT {columns} FROM chamberlain.subject WHERE generation > 0")  # noqa: S608 - ours.
    assert sorted(found) == sorted(
        [
            (first, ESTATE, NO_GUESTS, NINETY_DAYS, 1, MOMENT, MOMENT),
            (second, ESTATE, None, YEARLY_REVIEW, 1, MOMENT, MOMENT),
            (other, OTHER_HOUSE, OTHER_GROUP, None, 1, MOMENT, None),
            (third, ESTATE, PARTNERS, None, 1, MOMENT, None),
        ]
    )


async def test_a_change_is_written_with_its_request_jobs_audit_row_and_event(estate: Estate) -> None:
    group = await subject(estate)

    await change(estate, (ESTATE, group, NO_GUESTS, NINETY_DAYS))

    ((request_id, *request),) = await estate.rows(
        "SELECT request_id, tenant_id, kind, state, subject_id, template_id, body::text, approval_required, "
        "people_checked FROM chamberlain.request"
    )
    assert request == [ESTATE, "assignment", "queued", group, NO_GUESTS, '{"sent": true}', False, True]
    jobs = "SELECT kind, subject, trace_id FROM chamberlain.job WHERE subject = ANY ($1) ORDER BY kind"
    assert await estate.rows(jobs, [request_id, group]) == [
        ("assignmentApply", request_id, TRACE),
        ("policyEvaluate", group, TRACE),
    ]
    audit = "SELECT tenant_id, action, trace_id FROM chamberlain.audit WHERE request_id = $1"
    assert await estate.rows(audit, request_id) == [(ESTATE, "group.assign", TRACE)]
    event = "SELECT tenant_id, type, at FROM chamberlain.event WHERE request_id = $1"
    assert await estate.rows(event, request_id) == [(ESTATE, "group.assignmentChanged", MOMENT)]


async def test_a_change_that_is_no_news_has_no_event(estate: Estate) -> None:
    assert await change(estate, (ESTATE, await subject(estate), NO_GUESTS, None), has_event=False) == [1]

    assert await estate.rows("SELECT count(*) FROM chamberlain.event") == [(0,)]


async def test_it_locks_the_templates_and_policies_that_it_assigns_and_no_others(estate: Estate) -> None:
    await estate.rows(POLICY_COPY, OTHER_HOUSE, NINETY_DAYS)
    ((foreign,),) = await estate.rows("SELECT policy_id FROM chamberlain.policy WHERE tenant_id = $1", OTHER_HOUSE)
    first, second = await subject(estate), await subject(estate)
    orders = [(ESTATE, first, NO_GUESTS, NINETY_DAYS), (ESTATE, second, OTHER_GROUP, UUID(str(foreign)))]

    async with connected(estate.databases.addresses.owner) as owner, owner.transaction():
        await write(owner, *orders)
        locked = [
            await estate.rows(
                f"SELECT {table}_id FROM chamberlain.{table} EXCEPT ALL "  # noqa: S608 - ours.
                f"SELECT {table}_id FROM (SELECT {table}_id FROM chamberlain.{table} FOR UPDATE SKIP LOCKED) free"
            )
            for table in ("template", "policy")
        ]

    assert locked == [[(NO_GUESTS,)], [(NINETY_DAYS,)]]


async def test_a_group_of_another_tenant_with_the_same_id_stays_as_it_is(estate: Estate) -> None:
    group = await subject(estate)
    await estate.rows(SUBJECT_COPY, OTHER_HOUSE, group)

    await change(estate, (ESTATE, group, NO_GUESTS, None))

    generations = "SELECT tenant_id, generation FROM chamberlain.subject WHERE subject_id = $1 ORDER BY generation"
    assert await estate.rows(generations, group) == [(OTHER_HOUSE, 0), (ESTATE, 1)]


async def test_a_group_that_another_transaction_holds_is_put_aside_by_itself(estate: Estate) -> None:
    first, second, free = [await subject(estate) for _ in range(3)]
    other = await subject(estate, OTHER_HOUSE)

    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("SELECT FROM chamberlain.subject WHERE subject_id = ANY ($1) FOR UPDATE", [first, second])
        apply_draft = await change(
            estate,
            (ESTATE, first, NO_GUESTS, None),
            (ESTATE, free, NO_GUESTS, None),
            (ESTATE, uuid4(), NO_GUESTS, None),
            (OTHER_HOUSE, first, None, None),
            (OTHER_HOUSE, other, None, None),
            (ESTATE, second, NO_GUESTS, None),
        )

    assert apply_draft == [-6, -1, 2, 5]


@pytest.mark.parametrize(
    ("table", "held", "free"), [("template", PARTNERS, NO_GUESTS), ("policy", NINETY_DAYS, YEARLY_REVIEW)]
)
async def test_a_template_or_policy_that_is_being_removed_is_put_aside_by_itself(
    estate: Estate, table: str, held: UUID, free: UUID
) -> None:
    groups = [await subject(estate) for _ in range(3)]
    wanted = [(each, None) if table == "template" else (None, each) for each in (held, free, None)]

    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute(f"SELECT FROM chamberlain.{table} WHERE {table}_id = $1 FOR UPDATE", held)
        alone = await change(estate, (ESTATE, groups[0], *wanted[0]))
        together = await change(estate, *[(ESTATE, group, *each) for group, each in zip(groups, wanted, strict=True)])

    assert (alone, together) == ([-1], [-1, 2, 3])


async def test_a_template_or_policy_of_another_tenant_is_not_there(estate: Estate) -> None:
    ((policy,),) = await estate.rows(POLICY_COPY, OTHER_HOUSE, NINETY_DAYS)
    first, second = await subject(estate), await subject(estate)

    apply_draft = await change(estate, (ESTATE, first, OTHER_GROUP, None), (ESTATE, second, None, UUID(str(policy))))

    assert apply_draft == []
    assert await estate.rows("SELECT count(*) FROM chamberlain.request") == [(0,)]


@pytest.mark.parametrize(
    ("table", "off", "other"), [("template", NO_GUESTS, PARTNERS), ("policy", NINETY_DAYS, YEARLY_REVIEW)]
)
async def test_it_assigns_nothing_that_is_switched_off(estate: Estate, table: str, off: UUID, other: UUID) -> None:
    groups = [await subject(estate) for _ in range(3)]
    wanted = [(each, None) if table == "template" else (None, each) for each in (off, other, off)]

    await estate.rows(DEACTIVATE.format(table), off)

    orders = [(ESTATE, group, *each) for group, each in zip(groups, wanted, strict=True)]
    assert await change(estate, *orders) == [2]


async def test_a_change_of_another_generation_is_not_written(estate: Estate) -> None:
    group = await subject(estate)

    assert await change(estate, (ESTATE, group, NO_GUESTS, None), generation=1) == []
    assert await change(estate, (ESTATE, group, NO_GUESTS, None)) == [1]
    assert await change(estate, (ESTATE, group, None, None)) == []
    assert await change(estate, (ESTATE, group, None, None), generation=1) == [1]


async def test_the_policy_runs_only_where_another_one_is_assigned(estate: Estate) -> None:
    group = await subject(estate)
    jobs = "SELECT count(*) FROM chamberlain.job WHERE kind = 'policyEvaluate' AND subject = $1"

    numbers = []
    for generation, policy in enumerate([NINETY_DAYS, NINETY_DAYS, None, None]):
        # A change at the moment of the last one would look as if it had brought the policy.
        await estate.rows(
            "UPDATE chamberlain.subject SET policy_assigned_at = policy_assigned_at - interval '1 s' "
            "WHERE subject_id = $1 RETURNING 1",
            group,
        )
        await change(estate, (ESTATE, group, None, policy), generation=generation)
        numbers += await estate.rows(jobs, group)

    assert numbers == [(1,), (1,), (2,), (2,)]


async def test_a_policy_has_begun_as_long_as_it_stays_assigned(estate: Estate) -> None:
    group = await subject(estate)
    begun = "SELECT policy_begun FROM chamberlain.subject WHERE subject_id = $1"

    found = []
    for generation, policy in enumerate([NINETY_DAYS, NINETY_DAYS, YEARLY_REVIEW]):
        await change(estate, (ESTATE, group, None, policy), generation=generation)
        found += await estate.rows(begun, group)
        if generation == 0:
            await estate.rows(BEGIN, group)

    assert found == [(False,), (True,), (False,)]


async def test_a_policy_that_has_not_begun_does_not_begin_with_another_template(estate: Estate) -> None:
    group = await subject(estate)

    await change(estate, (ESTATE, group, None, NINETY_DAYS))
    await change(estate, (ESTATE, group, NO_GUESTS, NINETY_DAYS), generation=1)

    assert await estate.rows("SELECT policy_begun FROM chamberlain.subject WHERE subject_id = $1", group) == [(False,)]


async def test_it_finds_what_is_assigned_and_what_is_wanted(estate: Estate) -> None:
    group, unknown = await subject(estate), uuid4()
    other = await subject(estate, OTHER_HOUSE)
    await change(estate, (ESTATE, group, NO_GUESTS, NINETY_DAYS))
    await change(estate, (ESTATE, await subject(estate), NO_GUESTS, NINETY_DAYS))
    await estate.rows(FINDING, ESTATE, group, ["open", "open", "resolved"])
    await estate.rows(FINDING, OTHER_HOUSE, group, ["open"])
    places = [
        (ESTATE, group, PARTNERS, YEARLY_REVIEW),
        (ESTATE, unknown, None, None),
        (OTHER_HOUSE, group, None, None),
        (OTHER_HOUSE, other, OTHER_GROUP, NINETY_DAYS),
        (ESTATE, group, OTHER_GROUP, None),
    ]

    async with connected(estate.databases.addresses.owner) as owner:
        rows = await owner.fetch(FIND, *zip(*places, strict=True))

    names = ("ordinal", "template_name", "policy_name", "open_findings", "wanted_template_name", "wanted_policy_name")
    assert sorted(tuple(row[name] for name in names) for row in rows) == [
        (1, "No guests", "90 days", 2, "Partners", "Yearly review"),
        (4, None, None, 0, "House group", None),
        (5, "No guests", "90 days", 2, None, None),
    ]
    effects = [msgspec.json.decode(row["effects"] or "null") for row in sorted(rows, key=lambda row: row["ordinal"])]
    for each in (effects[0], effects[2]):
        updated_at = datetime.fromisoformat(each.pop("updated_at"))
        assert (each, updated_at) == ({"steps": [], "state": "queued", "waiting": None}, MOMENT)
    assert effects[1] is None
