"""Discovery: every group and site of the directory is known, by its name, and what becomes of it later."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.directory.port import ActOutcome, GuestAct, GuestOutcome, Guests, GuestWork, SubjectChanges
from chamberlain.directory.subjects import ObservedSubject, SubjectReference, SubjectType
from chamberlain.guests.subjects.models import SubjectFilter
from chamberlain.queue.models import NOBODY, JobKind
from tests.estates import ESTATE, OTHER_HOUSE, TRACE, Estate
from tests.guests.assignments.guest_fixture import (
    ALL_STAFF,
    HANDBOOK,
    NINETY_DAYS,
    NO_GUESTS,
    SUPPLIERS,
    GuestFixture,
    guest_fixture,
    later,
    make_due,
)

GROUPS, SITES = SubjectFilter(SubjectType.GROUP), SubjectFilter(SubjectType.SITE)
NEW_GROUP = """
INSERT INTO directory.groups (
    tenant_id, id, display_name, mail_nickname, visibility, group_types, mail_enabled, security_enabled, extensions,
    created_at
)
SELECT $1, gen_random_uuid(), 'Group ' || n, 'group-' || n, 'Private', '{Unified}', true, false, '{}', now()
FROM generate_series(1, $2::integer) n
"""


@pytest.fixture
async def guest_rules(estate: Estate) -> GuestFixture:
    return guest_fixture(estate)


async def change(guest_rules: GuestFixture, statement: str, *values: object) -> None:
    """Change the directory from outside of the service."""
    async with guest_rules.estate.databases.worker.across_tenants() as tx:
        await tx.execute(statement, *values)


async def test_it_works(guest_rules: GuestFixture) -> None:
    await guest_rules.discover()

    assert await guest_rules.names(GROUPS) == ["All staff"]
    assert await guest_rules.names(SITES) == ["Handbook", "Suppliers"]
    record = await guest_rules.record()
    assert (record.entry.mail, record.entry.observed_at) == ("all-staff@estate.example", guest_rules.estate.moment)
    # There is a job for each tenant, and the one that gives new tenants theirs.
    jobs = await guest_rules.estate.rows("SELECT tenant_id FROM chamberlain.job ORDER BY tenant_id")
    assert jobs == [(NOBODY,), (ESTATE,), (OTHER_HOUSE,)]
    assert await guest_rules.estate.rows("SELECT scan_began_at FROM chamberlain.discovery") == [(None,), (None,)]


async def test_what_changes_later_is_followed(guest_rules: GuestFixture) -> None:
    await guest_rules.discover()
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()
    later(guest_rules.estate, minutes=1)
    await change(guest_rules, "UPDATE directory.groups SET display_name = 'Everybody' WHERE id = $1", ALL_STAFF)
    accepted = await guest_rules.estate.request("Apollo")
    await guest_rules.estate.work()

    await guest_rules.discover()

    assert await guest_rules.names(GROUPS) == ["Apollo", "Everybody"]
    record = await guest_rules.record()
    assert (record.assignment.template_id, record.open_findings) == (NO_GUESTS, 1)
    group = await guest_rules.estate.group(accepted.request_id)
    assert group is not None
    assert (await guest_rules.record(group.id)).entry.request_id == accepted.request_id


async def test_a_group_that_is_gone_is_forgotten_with_all_that_was_found(guest_rules: GuestFixture) -> None:
    await guest_rules.discover()
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()
    await change(guest_rules, "DELETE FROM directory.groups WHERE id = $1", ALL_STAFF)

    await guest_rules.discover()

    assert await guest_rules.names(GROUPS) == []
    assert [each.state for each in await guest_rules.found()] == ["gone"]


SYSTEM_ROWS = """
SELECT action, payload::json #>> '{subject,id}', payload::json ->> 'before', payload::json ->> 'after'
FROM chamberlain.audit WHERE payload::json #>> '{actor,type}' = 'system' AND action LIKE '%.assign' ORDER BY sequence
"""


async def test_what_was_assigned_to_a_group_that_is_gone_is_on_record_once(guest_rules: GuestFixture) -> None:
    await guest_rules.discover()
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.assign(HANDBOOK, kind=SubjectType.SITE, policyId=str(NINETY_DAYS))
    await guest_rules.work()
    for group_id in (ALL_STAFF, HANDBOOK, SUPPLIERS):
        await change(guest_rules, "DELETE FROM directory.groups WHERE id = $1", group_id)

    await guest_rules.discover()
    await guest_rules.discover()

    # Of what had nothing assigned there is nothing to tell.
    assert sorted(await guest_rules.estate.rows(SYSTEM_ROWS), key=str) == [
        ("group.assign", str(ALL_STAFF), f'{{"templateId":"{NO_GUESTS}"}}', None),
        ("site.assign", str(HANDBOOK), f'{{"policyId":"{NINETY_DAYS}"}}', None),
    ]


async def test_what_was_assigned_to_a_group_that_is_gone_is_reported(guest_rules: GuestFixture) -> None:
    await guest_rules.discover()
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.assign(HANDBOOK, kind=SubjectType.SITE, policyId=str(NINETY_DAYS))
    await guest_rules.work()
    for group_id in (ALL_STAFF, HANDBOOK, SUPPLIERS):
        await change(guest_rules, "DELETE FROM directory.groups WHERE id = $1", group_id)

    await guest_rules.discover()
    await guest_rules.discover()

    told = await guest_rules.estate.rows("SELECT type, data::text FROM chamberlain.event WHERE request_id IS NULL")
    nothing = {"templateId": None, "policyId": None}
    by = {"type": "system", "id": None, "displayName": "Chamberlain"}
    assert sorted((type_, json.loads(str(data))) for type_, data in told) == [
        (
            "group.assignmentChanged",
            {
                "group": {"id": str(ALL_STAFF), "displayName": "All staff"},
                "before": {**nothing, "templateId": str(NO_GUESTS)},
                "after": nothing,
                "changedBy": by,
            },
        ),
        (
            "site.assignmentChanged",
            {
                "site": {"id": str(HANDBOOK), "displayName": "Handbook"},
                "before": {**nothing, "policyId": str(NINETY_DAYS)},
                "after": nothing,
                "changedBy": by,
            },
        ),
    ]


async def test_what_was_assigned_is_on_record_when_a_new_scan_does_not_meet_the_group(
    guest_rules: GuestFixture,
) -> None:
    await guest_rules.discover()
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()
    await change(guest_rules, "DELETE FROM directory.groups WHERE id = $1", ALL_STAFF)
    later(guest_rules.estate, minutes=1)
    guest_rules.subject_jobs = replace(
        guest_rules.subject_jobs, guests=ExpiredCursorGuests(guest_rules.guests, forgets=True)
    )

    await guest_rules.discover()

    rows = await guest_rules.estate.rows(SYSTEM_ROWS)
    assert [row[:2] for row in rows] == [("group.assign", str(ALL_STAFF))]


async def test_many_pages_are_taken_in_turns(guest_rules: GuestFixture) -> None:
    await change(guest_rules, NEW_GROUP, ESTATE, 2_300)
    await guest_rules.subject_jobs.begin(TRACE)
    rounds = 0
    while await guest_rules.estate.rows("SELECT 1 FROM chamberlain.subject") == [] or await unfinished(guest_rules):
        rounds += 1
        await make_due(guest_rules.estate)
        await guest_rules.subject_jobs.discover(await guest_rules.estate.claim(kinds=[JobKind.SUBJECT_DISCOVER]))

    assert await guest_rules.estate.rows("SELECT count(*) FROM chamberlain.subject") == [(2_303,)]
    # One gives the tenants their jobs; ten pages are two thousand.
    assert rounds == 3


async def unfinished(guest_rules: GuestFixture) -> bool:
    return bool(await guest_rules.estate.rows("SELECT 1 FROM chamberlain.discovery WHERE scan_began_at IS NOT NULL"))


@dataclass
class ExpiredCursorGuests(Guests):
    """A directory that does not know a place in its changes any more, once; and that counts its scans."""

    guests: Guests
    forgets: bool = False
    asked: list[str | None] = field(default_factory=list)

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        return await self.guests.observe(references)

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        return await self.guests.ensure(works)

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        return await self.guests.act(acts)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        if tenant_id == ESTATE:
            self.asked.append(cursor)
        if self.forgets and cursor is not None:
            self.forgets = False
            raise Rejected("cursorUnknown", "The directory does not know this place any more.")
        return await self.guests.changes(tenant_id, extension, cursor)


async def test_a_place_that_the_directory_has_forgotten_means_a_new_scan(guest_rules: GuestFixture) -> None:
    forgetful = ExpiredCursorGuests(guest_rules.guests)
    guest_rules.subject_jobs = replace(guest_rules.subject_jobs, guests=forgetful)
    await guest_rules.discover()
    ghost = GroupId(uuid4())
    await haunt(guest_rules, ghost)
    later(guest_rules.estate, minutes=1)
    forgetful.asked.clear()
    forgetful.forgets = True

    await guest_rules.discover()

    assert None in forgetful.asked
    # A subject that a whole scan does not find is gone.
    assert await guest_rules.estate.rows("SELECT 1 FROM chamberlain.subject WHERE subject_id = $1", ghost) == []
    assert await guest_rules.names(GROUPS) == ["All staff"]


async def haunt(guest_rules: GuestFixture, ghost: UUID) -> None:
    """Let something be known that the directory does not have."""
    await change(
        guest_rules,
        "INSERT INTO chamberlain.subject (tenant_id, subject_id, type, display_name, name_key, is_team, "
        "member_ship_type, observed_at) VALUES ($1, $2, 'group', 'Ghost', 'ghost', false, 0, $3)",
        ESTATE,
        ghost,
        guest_rules.estate.moment,
    )


async def test_a_group_that_a_scan_has_missed_by_a_clock_is_kept(guest_rules: GuestFixture) -> None:
    """Another process has met it, and its clock is behind: before it is forgotten, the directory is asked for it."""
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await change(
        guest_rules, "UPDATE chamberlain.subject SET observed_at = $1", guest_rules.estate.moment - timedelta(days=1)
    )
    blind = EmptyGuests(guest_rules.guests)
    guest_rules.subject_jobs = replace(guest_rules.subject_jobs, guests=blind)

    await guest_rules.discover()

    assert (await guest_rules.record()).assignment.template_id == NO_GUESTS


@dataclass
class EmptyGuests(Guests):
    """A directory whose list of everything is empty."""

    guests: Guests

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        return await self.guests.observe(references)

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        return await self.guests.ensure(works)

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        return await self.guests.act(acts)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        return replace(await self.guests.changes(tenant_id, extension, cursor), subjects=())


async def test_it_waits_while_the_directory_does_not_answer(guest_rules: GuestFixture) -> None:
    guest_rules.guests.error = TryAgain(timedelta(minutes=5), "The directory does not answer.")
    await guest_rules.discover()
    waits = await guest_rules.estate.rows(
        "SELECT run_at - now() > interval '4 minutes' FROM chamberlain.job WHERE tenant_id = $1", ESTATE
    )
    guest_rules.guests.error = None

    await guest_rules.discover()

    assert waits == [(True,)]
    assert await guest_rules.names(GROUPS) == ["All staff"]


async def test_the_job_of_a_tenant_that_is_gone_ends(guest_rules: GuestFixture) -> None:
    await guest_rules.discover()
    await change(guest_rules, "DELETE FROM chamberlain.tenant WHERE tenant_id = $1", OTHER_HOUSE)

    await guest_rules.discover()

    jobs = await guest_rules.estate.rows("SELECT tenant_id FROM chamberlain.job ORDER BY tenant_id")
    assert jobs == [(NOBODY,), (ESTATE,)]
    assert await guest_rules.estate.rows("SELECT tenant_id FROM chamberlain.discovery") == [(ESTATE,)]


async def test_a_group_whose_name_has_control_characters_is_known_by_a_clean_name(guest_rules: GuestFixture) -> None:
    await change(
        guest_rules,
        "UPDATE directory.groups SET display_name = E'All\\x1f staff\\x01' WHERE display_name = 'All staff'",
    )

    await guest_rules.discover()

    assert await guest_rules.names(GROUPS) == ["All staff"]
