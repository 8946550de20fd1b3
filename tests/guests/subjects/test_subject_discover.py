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
from tests.guests.assignments.stewards import (
    ALL_STAFF,
    HANDBOOK,
    NINETY_DAYS,
    NO_GUESTS,
    SUPPLIERS,
    Steward,
    later,
    make_due,
    steward_of,
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
async def steward(estate: Estate) -> Steward:
    return steward_of(estate)


async def change(steward: Steward, statement: str, *values: object) -> None:
    """Let somebody else change the directory."""
    async with steward.estate.databases.worker.across_tenants() as tx:
        await tx.execute(statement, *values)


async def test_it_works(steward: Steward) -> None:
    await steward.look_around()

    assert await steward.names(GROUPS) == ["All staff"]
    assert await steward.names(SITES) == ["Handbook", "Suppliers"]
    record = await steward.record()
    assert (record.entry.mail, record.entry.observed_at) == ("all-staff@estate.example", steward.estate.moment)
    # There is a job for each tenant, and the one that gives new tenants theirs.
    jobs = await steward.estate.rows("SELECT tenant_id FROM chamberlain.job ORDER BY tenant_id")
    assert jobs == [(NOBODY,), (ESTATE,), (OTHER_HOUSE,)]
    assert await steward.estate.rows("SELECT scan_began_at FROM chamberlain.discovery") == [(None,), (None,)]


async def test_what_changes_later_is_followed(steward: Steward) -> None:
    await steward.look_around()
    await steward.assign(templateId=str(NO_GUESTS))
    await steward.work()
    later(steward.estate, minutes=1)
    await change(steward, "UPDATE directory.groups SET display_name = 'Everybody' WHERE id = $1", ALL_STAFF)
    accepted = await steward.estate.request("Apollo")
    await steward.estate.work()

    await steward.look_around()

    assert await steward.names(GROUPS) == ["Apollo", "Everybody"]
    record = await steward.record()
    assert (record.assignment.template_id, record.open_findings) == (NO_GUESTS, 1)
    group = await steward.estate.group(accepted.request_id)
    assert group is not None
    assert (await steward.record(group.id)).entry.request_id == accepted.request_id


async def test_a_group_that_is_gone_is_forgotten_with_all_that_was_found(steward: Steward) -> None:
    await steward.look_around()
    await steward.assign(templateId=str(NO_GUESTS))
    await steward.work()
    await change(steward, "DELETE FROM directory.groups WHERE id = $1", ALL_STAFF)

    await steward.look_around()

    assert await steward.names(GROUPS) == []
    assert [each.state for each in await steward.found()] == ["gone"]


SYSTEM_ROWS = """
SELECT action, payload::json #>> '{subject,id}', payload::json ->> 'before', payload::json ->> 'after'
FROM chamberlain.audit WHERE payload::json #>> '{actor,type}' = 'system' AND action LIKE '%.assign' ORDER BY sequence
"""


async def test_what_was_assigned_to_a_group_that_is_gone_is_on_record_once(steward: Steward) -> None:
    await steward.look_around()
    await steward.assign(templateId=str(NO_GUESTS))
    await steward.assign(HANDBOOK, kind=SubjectType.SITE, policyId=str(NINETY_DAYS))
    await steward.work()
    for group_id in (ALL_STAFF, HANDBOOK, SUPPLIERS):
        await change(steward, "DELETE FROM directory.groups WHERE id = $1", group_id)

    await steward.look_around()
    await steward.look_around()

    # Of what had nothing assigned there is nothing to tell.
    assert sorted(await steward.estate.rows(SYSTEM_ROWS), key=str) == [
        ("group.assign", str(ALL_STAFF), f'{{"templateId":"{NO_GUESTS}"}}', None),
        ("site.assign", str(HANDBOOK), f'{{"policyId":"{NINETY_DAYS}"}}', None),
    ]


async def test_what_was_assigned_to_a_group_that_is_gone_is_told(steward: Steward) -> None:
    await steward.look_around()
    await steward.assign(templateId=str(NO_GUESTS))
    await steward.assign(HANDBOOK, kind=SubjectType.SITE, policyId=str(NINETY_DAYS))
    await steward.work()
    for group_id in (ALL_STAFF, HANDBOOK, SUPPLIERS):
        await change(steward, "DELETE FROM directory.groups WHERE id = $1", group_id)

    await steward.look_around()
    await steward.look_around()

    told = await steward.estate.rows("SELECT type, data::text FROM chamberlain.event WHERE request_id IS NULL")
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


async def test_what_was_assigned_is_on_record_when_a_new_scan_does_not_meet_the_group(steward: Steward) -> None:
    await steward.look_around()
    await steward.assign(templateId=str(NO_GUESTS))
    await steward.work()
    await change(steward, "DELETE FROM directory.groups WHERE id = $1", ALL_STAFF)
    later(steward.estate, minutes=1)
    steward.subject_jobs = replace(steward.subject_jobs, guests=ForgetfulGuests(steward.guests, forgets=True))

    await steward.look_around()

    rows = await steward.estate.rows(SYSTEM_ROWS)
    assert [row[:2] for row in rows] == [("group.assign", str(ALL_STAFF))]


async def test_many_pages_are_taken_in_turns(steward: Steward) -> None:
    await change(steward, NEW_GROUP, ESTATE, 2_300)
    await steward.subject_jobs.begin(TRACE)
    rounds = 0
    while await steward.estate.rows("SELECT 1 FROM chamberlain.subject") == [] or await unfinished(steward):
        rounds += 1
        await make_due(steward.estate)
        await steward.subject_jobs.discover(await steward.estate.claim(kinds=[JobKind.SUBJECT_DISCOVER]))

    assert await steward.estate.rows("SELECT count(*) FROM chamberlain.subject") == [(2_303,)]
    # One gives the tenants their jobs; ten pages are two thousand.
    assert rounds == 3


async def unfinished(steward: Steward) -> bool:
    return bool(await steward.estate.rows("SELECT 1 FROM chamberlain.discovery WHERE scan_began_at IS NOT NULL"))


@dataclass
class ForgetfulGuests(Guests):
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


async def test_a_place_that_the_directory_has_forgotten_means_a_new_scan(steward: Steward) -> None:
    forgetful = ForgetfulGuests(steward.guests)
    steward.subject_jobs = replace(steward.subject_jobs, guests=forgetful)
    await steward.look_around()
    ghost = GroupId(uuid4())
    await haunt(steward, ghost)
    later(steward.estate, minutes=1)
    forgetful.asked.clear()
    forgetful.forgets = True

    await steward.look_around()

    assert None in forgetful.asked
    # What a whole scan does not meet is not there any more.
    assert await steward.estate.rows("SELECT 1 FROM chamberlain.subject WHERE subject_id = $1", ghost) == []
    assert await steward.names(GROUPS) == ["All staff"]


async def haunt(steward: Steward, ghost: UUID) -> None:
    """Let something be known that the directory does not have."""
    await change(
        steward,
        "INSERT INTO chamberlain.subject (tenant_id, subject_id, type, display_name, name_key, is_team, "
        "member_ship_type, observed_at) VALUES ($1, $2, 'group', 'Ghost', 'ghost', false, 0, $3)",
        ESTATE,
        ghost,
        steward.estate.moment,
    )


async def test_a_group_that_a_scan_has_missed_by_a_clock_is_kept(steward: Steward) -> None:
    """Another process has met it, and its clock is behind: before it is forgotten, the directory is asked for it."""
    await steward.assign(templateId=str(NO_GUESTS))
    await change(steward, "UPDATE chamberlain.subject SET observed_at = $1", steward.estate.moment - timedelta(days=1))
    blind = BlindGuests(steward.guests)
    steward.subject_jobs = replace(steward.subject_jobs, guests=blind)

    await steward.look_around()

    assert (await steward.record()).assignment.template_id == NO_GUESTS


@dataclass
class BlindGuests(Guests):
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


async def test_it_waits_while_the_directory_does_not_answer(steward: Steward) -> None:
    steward.guests.trouble = TryAgain(timedelta(minutes=5), "The directory does not answer.")
    await steward.look_around()
    waits = await steward.estate.rows(
        "SELECT run_at - now() > interval '4 minutes' FROM chamberlain.job WHERE tenant_id = $1", ESTATE
    )
    steward.guests.trouble = None

    await steward.look_around()

    assert waits == [(True,)]
    assert await steward.names(GROUPS) == ["All staff"]


async def test_the_job_of_a_tenant_that_is_gone_ends(steward: Steward) -> None:
    await steward.look_around()
    await change(steward, "DELETE FROM chamberlain.tenant WHERE tenant_id = $1", OTHER_HOUSE)

    await steward.look_around()

    jobs = await steward.estate.rows("SELECT tenant_id FROM chamberlain.job ORDER BY tenant_id")
    assert jobs == [(NOBODY,), (ESTATE,)]
    assert await steward.estate.rows("SELECT tenant_id FROM chamberlain.discovery") == [(ESTATE,)]


async def test_a_group_whose_name_has_control_characters_is_known_by_a_clean_name(steward: Steward) -> None:
    await change(
        steward, "UPDATE directory.groups SET display_name = E'All\\x1f staff\\x01' WHERE display_name = 'All staff'"
    )

    await steward.look_around()

    assert await steward.names(GROUPS) == ["All staff"]
