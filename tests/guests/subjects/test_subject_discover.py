# SPDX-License-Identifier: Apache-2.0
"""Discovery: every group and site of the directory is known, by its name, and what becomes of it later."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from chamberlain.core.errors import ConnectionBroken, Rejected, TryAgain
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.core.reasons import Reason
from chamberlain.directory.embedded.changed_tenants import EmbeddedChangedTenants
from chamberlain.directory.port import (
    ActOutcome,
    ChangedTenants,
    GuestAct,
    GuestOutcome,
    Guests,
    GuestWork,
    SubjectChanges,
    TenantCursors,
)
from chamberlain.directory.routed import Route, RoutedChangedTenants, Routes
from chamberlain.directory.subjects import ObservedSubject, SubjectReference, SubjectType
from chamberlain.embedded.directory.changes import Changes
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
from tests.postgres import connected

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

    told = await guest_rules.estate.rows(
        "SELECT type, data::text FROM chamberlain.event WHERE request_id IS NULL AND type LIKE '%.assignmentChanged'"
    )
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


async def test_a_group_that_a_page_repeats_is_known_once_in_its_last_state(guest_rules: GuestFixture) -> None:
    repeating = RepeatingGuests(guest_rules.guests)
    guest_rules.subject_jobs = replace(guest_rules.subject_jobs, guests=repeating)

    await guest_rules.discover()

    assert await guest_rules.names(GROUPS) == ["All staff"]
    assert await guest_rules.names(SITES) == ["Handbook", "Suppliers"]


@dataclass
class RepeatingGuests(Guests):
    """A directory whose lists repeat their groups under older names, and do not say which ones are sites."""

    guests: Guests

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        return await self.guests.observe(references)

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        return await self.guests.ensure(works)

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        return await self.guests.act(acts)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        page = await self.guests.changes(tenant_id, extension, cursor)
        older = tuple(replace(each, display_name="Before") for each in page.subjects)
        return replace(page, subjects=older + tuple(replace(each, type=None) for each in page.subjects))


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


CHANGED_MAILBOX = """
INSERT INTO directory.changed_mailboxes
SELECT tenant_id, id, pg_current_xact_id(), '{}' FROM directory.groups WHERE id = $1
"""
WAITS = "SELECT tenant_id, run_at > now() + interval '11 hours' FROM chamberlain.job WHERE kind = $1 ORDER BY 1"


def with_sweep(guest_rules: GuestFixture, changed: ChangedTenants | None = None) -> GuestFixture:
    """The parts of a process whose directory names changed tenants."""
    pool = guest_rules.estate.databases.worker.pool
    port = changed or EmbeddedChangedTenants(Changes(pool))
    guest_rules.subject_jobs = replace(guest_rules.subject_jobs, changed=port)
    return guest_rules


async def sweep(guest_rules: GuestFixture) -> list[TenantId]:
    """Run the sweep, and return the tenants whose jobs it wakes."""
    await guest_rules.estate.rows("UPDATE chamberlain.job SET run_at = now() WHERE kind = 'subjectSweep' RETURNING 1")
    await guest_rules.subject_jobs.sweep(await guest_rules.estate.claim(kinds=[JobKind.SUBJECT_SWEEP]))
    return [job.tenant_id for job in (await guest_rules.estate.claim(kinds=[JobKind.SUBJECT_DISCOVER])).jobs]


async def test_the_jobs_of_idle_tenants_sleep_until_a_sweep_wakes_them(guest_rules: GuestFixture) -> None:
    with_sweep(guest_rules)
    await guest_rules.discover()
    asleep = await guest_rules.estate.rows(WAITS, "subjectDiscover")
    nothing = await sweep(guest_rules)
    await change(guest_rules, "UPDATE directory.groups SET display_name = 'Everybody' WHERE id = $1", ALL_STAFF)
    changed = await sweep(guest_rules)
    again = await sweep(guest_rules)

    assert asleep[1:] == [(ESTATE, True), (OTHER_HOUSE, True)]
    assert (nothing, changed, again) == ([], [ESTATE], [])


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM directory.groups WHERE id = $1",
        CHANGED_MAILBOX,
    ],
)
async def test_a_sweep_sees_removed_groups_and_changed_mailboxes(guest_rules: GuestFixture, statement: str) -> None:
    with_sweep(guest_rules)
    await guest_rules.discover()

    await change(guest_rules, statement, ALL_STAFF)

    assert await sweep(guest_rules) == [ESTATE]


@pytest.mark.parametrize("cursor", ["of another directory", '{"database":"1","tenant":"%s","since":"3:3:"}' % ESTATE])  # noqa: UP031 - braces
async def test_a_sweep_wakes_tenants_whose_cursor_it_cannot_compare(guest_rules: GuestFixture, cursor: str) -> None:
    with_sweep(guest_rules)
    await guest_rules.discover()

    await change(guest_rules, "UPDATE chamberlain.discovery SET position = $1 WHERE tenant_id = $2", cursor, ESTATE)

    assert await sweep(guest_rules) == [ESTATE]


@pytest.mark.parametrize("flag", ["suspended", "directory_parked"])
async def test_a_sweep_leaves_out_tenants_whose_jobs_are_not_claimed(guest_rules: GuestFixture, flag: str) -> None:
    with_sweep(guest_rules)
    await guest_rules.discover()
    await change(guest_rules, "DELETE FROM directory.groups WHERE id = $1", ALL_STAFF)
    statement = f"UPDATE chamberlain.tenant SET {flag} = $1 WHERE tenant_id = $2"  # noqa: S608 - our names
    await change(guest_rules, statement, True, ESTATE)  # noqa: FBT003 - a value of the statement
    await sweep(guest_rules)

    await change(guest_rules, statement, False, ESTATE)  # noqa: FBT003 - as above

    assert (await guest_rules.estate.claim(kinds=[JobKind.SUBJECT_DISCOVER])).jobs == ()
    assert await sweep(guest_rules) == [ESTATE]


class AwayTenants(ChangedTenants):
    """A directory that cannot be reached."""

    async def changed_tenants(self, cursors: Sequence[TenantCursors]) -> frozenset[TenantId]:
        assert cursors
        raise TryAgain(timedelta(seconds=1), Reason.build("directoryNotAvailable"))


async def test_a_sweep_without_an_answer_is_repeated(guest_rules: GuestFixture) -> None:
    with_sweep(guest_rules, AwayTenants())
    await guest_rules.discover()

    found = await sweep(guest_rules)

    statement = "SELECT run_at > now(), lease_id FROM chamberlain.job WHERE kind = 'subjectSweep'"
    waits = await guest_rules.estate.rows(statement)
    assert (found, waits) == ([], [(True, None)])


async def test_no_job_sleeps_while_an_older_process_may_run(guest_rules: GuestFixture) -> None:
    with_sweep(guest_rules)
    async with connected(guest_rules.estate.databases.addresses.owner) as owner:
        await owner.execute("DELETE FROM migration.applied WHERE file_name = '0067_scheduled_jobs.post.sql'")

    await guest_rules.discover()

    assert {asleep for _, asleep in await guest_rules.estate.rows(WAITS, "subjectDiscover")} == {False}


class ElsewhereRoutes(Routes):
    """Routes where one tenant has a directory of its own, which cannot be opened."""

    @property
    def elsewhere(self) -> Mapping[TenantId, Route]:
        return {OTHER_HOUSE: Route(None)}

    async def refused(self, tenant_id: TenantId, error: ConnectionBroken) -> None:
        raise AssertionError(tenant_id) from error


async def test_a_sweep_wakes_each_tenant_with_a_directory_of_its_own(guest_rules: GuestFixture) -> None:
    own = EmbeddedChangedTenants(Changes(guest_rules.estate.databases.worker.pool))
    with_sweep(guest_rules, RoutedChangedTenants(own, ElsewhereRoutes()))
    await guest_rules.discover()

    assert await sweep(guest_rules) == [OTHER_HOUSE]
