# SPDX-License-Identifier: Apache-2.0
"""Drift: what was changed in the directory behind our back is found, and put right where the tenant says so."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from uuid import UUID

import pytest

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.directory.capabilities import Capabilities, Limits
from chamberlain.directory.groups import GroupReference, MemberShipType, ObservedGroup
from chamberlain.directory.port import ActOutcome, GuestAct, GuestOutcome, Guests, GuestWork, SubjectChanges
from chamberlain.directory.properties import DriftProperty, Treatment
from chamberlain.directory.subjects import ObservedSubject, SubjectReference, SubjectType
from chamberlain.guests.models import FindingFilter, FindingKind, FindingState
from chamberlain.queue.models import NOBODY
from tests.drift.drift_fixture import DriftFixture, drift_fixture
from tests.estates import BEN, CLEO, ESTATE, INTERNAL, OTHER_HOUSE, PROJECT_TEAM, TRACE, Estate
from tests.faulty_directory import FaultyDirectory
from tests.guests.assignments.guest_fixture import (
    ALL_STAFF,
    GIL,
    HANDBOOK,
    NINETY_DAYS,
    NO_GUESTS,
    PARTNERS,
    YEARLY_REVIEW,
    ZERO,
    expire_leases,
    later,
)
from tests.guests.policies.policy_runs import Runs
from tests.queue.crash_injection import CrashingDatabase, CrashPoint, InjectedCrash

ELI = UUID("e1100000-0000-4000-8000-000000000005")
OPEN, REPAIRED, GONE = FindingState.OPEN, FindingState.REPAIRED, FindingState.GONE
MOVE = "UPDATE directory.users SET properties = properties || '{\"city\": \"Elsewhere\"}' WHERE mail LIKE 'desk%'"


@pytest.fixture
async def drift(estate: Estate) -> DriftFixture:
    return drift_fixture(estate)


async def test_it_works(drift: DriftFixture) -> None:
    await drift.set_repair()
    request_id = await drift.mailbox(city="Town")
    await drift.change(MOVE)

    await drift.check_all()

    (finding,) = await drift.records()
    assert (finding.kind, finding.state, finding.property) == ("drift", "repaired", "city")
    assert (finding.wanted, finding.observed) == ("Town", "Elsewhere")
    assert (finding.subject.type, finding.subject.display_name) == ("mailbox", "The desk")
    mailbox = await drift.estate.mailbox(request_id)
    assert mailbox is not None
    assert mailbox.address_fields.city == "Town"
    (repair,) = await drift.repairs()
    assert (repair["action"], repair["before"], repair["after"]) == (
        "mailbox.repair", {"city": "Elsewhere"}, {"city": "Town"},
    )  # fmt: skip
    assert repair["actor"] == {"type": "system", "id": None, "displayName": "Drift"}


async def test_without_repair_it_is_only_told(drift: DriftFixture) -> None:
    await drift.mailbox(city="Town")
    await drift.change(MOVE)

    await drift.check_all()
    await drift.check_all()

    assert await drift.findings() == [("drift", "open", "city")]
    assert drift.estate.directory.ensured_mailboxes[1:] == []
    assert await drift.repairs() == []


async def test_what_others_put_right_is_gone(drift: DriftFixture) -> None:
    await drift.mailbox(city="Town")
    await drift.change(MOVE)
    await drift.check_all()
    await drift.change(MOVE.replace("Elsewhere", "Town"))

    await drift.check_all()

    assert await drift.findings() == [("drift", "gone", "city")]


async def test_what_is_as_it_should_be_is_no_finding(drift: DriftFixture) -> None:
    await drift.set_repair(dict.fromkeys(DriftProperty, Treatment.OBSERVED))
    await drift.mailbox(permissions={str(BEN): "FullAccess", str(CLEO): "None"}, automaticReply="Thanks.")
    await drift.mailbox(name="Zurich", displayName="Room", capacity=12, roomMailboxMetadata={"hasWhiteboard": True})
    await drift.group(owners=[str(BEN)], members=[str(CLEO)], labelId=INTERNAL, description="Rockets")
    await drift.group(templateId=str(PROJECT_TEAM), memberShipType=1)
    await drift.assignments.discover()
    await drift.assignments.assign(templateId=str(PARTNERS), policyId=str(YEARLY_REVIEW))
    await drift.assignments.work()

    await drift.check_all()

    assert [each for each in await drift.records() if each.kind is FindingKind.DRIFT] == []


ROOM: Mapping[str, object] = {
    "capacity": 12,
    "isWheelChairAccessible": True,
    "roomMailboxMetadata": {"hasWhiteboard": True, "hasConferencePhone": True, "hasVideoConferencing": True},
    "audioDeviceName": "Speaker",
    "displayDeviceName": "Screen",
    "videoDeviceName": "Camera",
    "tags": ["quiet"],
    "officeLocation": "HQ",
    "automaticReply": "Thanks.",
}
SHARED: Mapping[str, object] = {
    "alias": "counter",
    "capacity": 100,
    "streetAddress": "1 High Street",
    "companyName": "Estate",
    "postalCode": "8000",
    "city": "Town",
    "country": "Switzerland",
    "phone": "1",
    "department": "Sales",
    "businessPhones": ["1"],
    "notes": "A note.",
    "automaticReply": "Thanks.",
    "hideFromGAL": True,
    "permissions": {str(BEN): "FullAccess", str(CLEO): "SendAs"},
    "primaryOwner": str(BEN),
}
EQUIPMENT: Mapping[str, object] = {"metadata": {"equipmentType": "projector"}, "capacity": 3}


def properties(change: str) -> str:
    return f"UPDATE directory.users SET properties = properties || '{change}' WHERE mail LIKE 'desk%'"  # noqa: S608 - text of ours alone.


def mailboxes(change: str) -> str:
    return f"UPDATE directory.mailboxes SET {change} WHERE name = 'Desk'"  # noqa: S608 - as above.


JOIN = """
INSERT INTO directory.memberships
SELECT tenant_id, $1, id, false, true, false FROM directory.users WHERE mail LIKE 'dara%'
"""
PERMIT_DARA = """
INSERT INTO directory.mailbox_permissions
SELECT tenant_id, user_id, 'da7a0000-0000-4000-8000-000000000004', 'FullAccess', false
FROM directory.mailboxes WHERE name = 'Desk'
"""


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("sent", "change", "name"),
    [
        (SHARED, "UPDATE directory.users SET display_name = 'X' WHERE mail LIKE 'desk%'", "displayName"),
        (SHARED, "UPDATE directory.users SET mail = 'x@estate.example' WHERE mail LIKE 'desk%'",
         "primarySmtpAddress"),
        (SHARED, mailboxes("aliases = '{}'"), "alias"),
        (SHARED, properties('{"streetAddress": "X"}'), "streetAddress"),
        (SHARED, properties('{"companyName": "X"}'), "companyName"),
        (SHARED, properties('{"postalCode": "X"}'), "postalCode"),
        (SHARED, properties('{"city": "X"}'), "city"),
        (SHARED, properties('{"country": "X"}'), "country"),
        (SHARED, properties('{"department": "X"}'), "department"),
        (SHARED, mailboxes("contact = contact - 'phone'"), "phone"),
        (SHARED, mailboxes("contact = contact - 'businessPhones'"), "businessPhones"),
        (SHARED, mailboxes("contact = contact - 'notes'"), "notes"),
        (SHARED, mailboxes("quota_megabytes = 1"), "capacity"),
        (SHARED, mailboxes("automatic_reply = 'X'"), "automaticReply"),
        (SHARED, mailboxes("is_hidden = false"), "hideFromGAL"),
        (SHARED, "DELETE FROM directory.mailbox_permissions", "permissions"),
        (SHARED, "UPDATE directory.mailbox_permissions SET auto_mapping = false", "autoMapping"),
        (SHARED, PERMIT_DARA, "additionalPermissions"),
        (SHARED, mailboxes("owners = '{}'"), "owners"),
        (EQUIPMENT, mailboxes("resource_capacity = 1"), "capacity"),
        (EQUIPMENT, mailboxes("automate_processing = 'None'"), "booking"),
        (ROOM, mailboxes("resource_capacity = 1"), "capacity"),
        (ROOM, mailboxes("additional_response = 'X'"), "automaticReply"),
        (ROOM, properties('{"officeLocation": "X"}'), "officeLocation"),
        (ROOM, mailboxes("place = place - 'audioDeviceName'"), "audioDeviceName"),
        (ROOM, mailboxes("place = place - 'displayDeviceName'"), "displayDeviceName"),
        (ROOM, mailboxes("place = place - 'videoDeviceName'"), "videoDeviceName"),
        (ROOM, mailboxes("place = place - 'isWheelChairAccessible'"), "isWheelChairAccessible"),
        (ROOM, mailboxes("place = place - 'tags'"), "tags"),
        (ROOM, mailboxes("place = place - 'hasWhiteboard'"), "roomMailboxMetadata.hasWhiteboard"),
        (ROOM, mailboxes("place = place - 'hasConferencePhone'"), "roomMailboxMetadata.hasConferencePhone"),
        (ROOM, mailboxes("place = place - 'hasVideoConferencing'"), "roomMailboxMetadata.hasVideoConferencing"),
    ],
)  # fmt: skip
async def test_every_property_of_a_mailbox(
    drift: DriftFixture, sent: Mapping[str, object], change: str, name: str
) -> None:
    await drift.set_repair()
    await drift.mailbox(**sent)
    await drift.change(change)
    is_managed = name not in {"displayName", "primarySmtpAddress", "additionalPermissions"}

    await drift.check_all()
    await drift.check_all()

    assert await drift.findings() == [("drift", REPAIRED if is_managed else OPEN, name)]


@pytest.mark.parametrize(
    ("change", "name", "state"),
    [
        ("UPDATE directory.groups SET display_name = 'X' WHERE id = $1", "displayName", OPEN),
        ("UPDATE directory.groups SET mail = 'x@estate.example' WHERE id = $1", "mail", OPEN),
        ("UPDATE directory.groups SET description = 'X' WHERE id = $1", "description", None),
        ("UPDATE directory.groups SET visibility = 'Public' WHERE id = $1", "memberShipType", OPEN),
        ("UPDATE directory.groups SET label_id = NULL WHERE id = $1", "labelId", REPAIRED),
        ("UPDATE directory.groups SET label_id = '1abe1000-0000-4000-8000-000000000002' WHERE id = $1", "labelId",
         REPAIRED),
        ("UPDATE directory.memberships SET is_owner = false WHERE group_id = $1 AND member_id::text LIKE 'be%'",
         "owners", REPAIRED),
        ("UPDATE directory.memberships SET is_owner = true WHERE group_id = $1 AND member_id::text LIKE 'c1%'",
         "additionalOwners", None),
        ("DELETE FROM directory.memberships WHERE group_id = $1 AND member_id::text LIKE 'c1%'", "members", None),
        (JOIN, "additionalMembers", None),
        ("DELETE FROM directory.teams WHERE group_id = $1", "isTeam", REPAIRED),
        ("DELETE FROM directory.channels WHERE group_id = $1 AND display_name = 'Planning'", "channels", OPEN),
    ],
)  # fmt: skip
async def test_every_property_of_a_team(
    drift: DriftFixture, change: str, name: str, state: FindingState | None
) -> None:
    """By default: what people of the directory may change by themselves is left alone."""
    await drift.set_repair()
    _, group_id = await drift.group(
        templateId=str(PROJECT_TEAM), owners=[str(BEN)], members=[str(CLEO)], labelId=INTERNAL, description="Rockets"
    )
    await drift.change(change, group_id)

    await drift.check_all()
    await drift.check_all()

    assert await drift.findings() == ([] if state is None else [("drift", state, name)])


async def test_what_a_group_is_called_is_put_right_where_the_tenant_says_so(drift: DriftFixture) -> None:
    named = (DriftProperty.GROUP_DISPLAY_NAME, DriftProperty.GROUP_MEMBER_SHIP_TYPE)
    await drift.set_repair(dict.fromkeys(named, Treatment.MANAGED))
    request_id, group_id = await drift.group(description="Rockets")
    change = "UPDATE directory.groups SET display_name = 'X', description = 'Y', visibility = 'Public' WHERE id = $1"
    await drift.change(change, group_id)

    await drift.check_all()

    group = await drift.estate.group(request_id)
    assert group is not None
    # The description is what its owners have made of it.
    shown = (group.display_name, group.description, group.member_ship_type)
    assert shown == ("Apollo", "Y", MemberShipType.PRIVATE)
    assert await drift.findings() == [("drift", REPAIRED, "displayName"), ("drift", REPAIRED, "memberShipType")]


async def test_what_a_mailbox_is_called_is_put_right_where_the_tenant_says_so(drift: DriftFixture) -> None:
    await drift.set_repair({DriftProperty.MAILBOX_DISPLAY_NAME: Treatment.MANAGED})
    await drift.mailbox(displayName="The desk", city="Town")
    await drift.change("UPDATE directory.users SET display_name = 'X' WHERE mail LIKE 'desk%'")

    await drift.check_all()

    called = "SELECT display_name FROM directory.users WHERE mail LIKE 'desk%'"
    assert await drift.estate.rows(called) == [("The desk",)]
    assert await drift.findings() == [("drift", REPAIRED, "displayName")]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("UPDATE directory.groups SET extensions = extensions #- '{chamberlain_group,templateId}'", "templateId"),
        ("UPDATE directory.groups SET extensions = extensions #- '{chamberlain_group,policyId}'", "policyId"),
        ("UPDATE directory.guest_settings SET allow_to_add_guests = false", "guests.allowed"),
        ("UPDATE directory.guest_settings SET guests_added_by = 'members'", "guests.addedBy"),
        ("UPDATE directory.guest_settings SET allowed_guest_domains = '{}'", "guests.allowedDomains"),
        ("UPDATE directory.guest_settings SET blocked_guest_domains = '{x.example}'", "guests.blockedDomains"),
        ("UPDATE directory.sites SET sharing_capability = 'externalUserAndGuestSharing'", "sharingCapability"),
    ],
)
async def test_what_is_assigned_is_put_right(drift: DriftFixture, change: str, name: str) -> None:
    await drift.set_repair()
    await drift.assignments.discover()
    await drift.assignments.assign(
        HANDBOOK, kind=SubjectType.SITE, templateId=str(PARTNERS), policyId=str(YEARLY_REVIEW)
    )
    await drift.assignments.work()
    before = await drift.assignments.shown(HANDBOOK)
    await drift.change(change)
    assert await drift.assignments.shown(HANDBOOK) != before

    await drift.check_all()

    assert await drift.findings() == [("drift", "repaired", name)]
    assert await drift.assignments.shown(HANDBOOK) == before
    assert [each["action"] for each in await drift.repairs()] == ["site.repair"]


@pytest.mark.parametrize("treatment", Treatment)
async def test_a_tenant_says_how_a_property_is_treated(drift: DriftFixture, treatment: Treatment) -> None:
    await drift.set_repair({DriftProperty.GROUP_MEMBERS: treatment})
    request_id, group_id = await drift.group(members=[str(BEN)])
    await drift.change("DELETE FROM directory.memberships WHERE group_id = $1 AND member_id = $2", group_id, BEN)

    await drift.check_all()

    states = {Treatment.MANAGED: [REPAIRED], Treatment.OBSERVED: [OPEN], Treatment.IGNORED: []}
    assert [each.state for each in await drift.records()] == states[treatment]
    group = await drift.estate.group(request_id)
    assert group is not None
    assert (BEN in group.members) is (treatment is Treatment.MANAGED)


async def test_a_repair_takes_back_nothing_that_people_may_change(drift: DriftFixture) -> None:
    """A directory does at once all that is wanted of it."""
    await drift.set_repair({DriftProperty.MAILBOX_NOTES: Treatment.IGNORED})
    request_id = await drift.mailbox(
        city="Town", notes="Ours.", automaticReply="Ours.", isAllowAutomaticReplyOverride=True
    )
    await drift.change(mailboxes("contact = '{\"notes\": \"Theirs.\"}', automatic_reply = 'Theirs.'"))
    await drift.change(MOVE)

    await drift.check_all()

    mailbox = await drift.estate.mailbox(request_id)
    assert mailbox is not None
    assert (mailbox.address_fields.city, mailbox.address_fields.notes) == ("Town", "Theirs.")
    assert mailbox.automatic_reply == "Theirs."
    assert await drift.findings() == [("drift", "repaired", "city")]


async def test_what_is_gone_is_reported_and_not_made_again(drift: DriftFixture) -> None:
    await drift.set_repair()
    request_id, group_id = await drift.group()
    await drift.mailbox()
    await drift.change("DELETE FROM directory.groups WHERE id = $1", group_id)
    await drift.change("DELETE FROM directory.mailboxes")

    await drift.check_all()
    soon = await drift.findings()
    later(drift.estate, days=1)
    await drift.check_all()

    # An object that is not shown soon after its creation is only late.
    assert soon == []
    assert await drift.findings() == [("drift", "open", "exists"), ("drift", "open", "exists")]
    assert await drift.estate.group(request_id) is None


async def stubborn(drift: DriftFixture) -> None:
    """A directory that reverts every repair."""
    await drift.change(MOVE)
    await drift.check_all()
    later(drift.estate, days=1)


async def test_a_repair_that_does_not_hold_twice_is_reported_once(drift: DriftFixture) -> None:
    await drift.set_repair()
    await drift.mailbox(city="Town")
    for _ in range(6):
        await stubborn(drift)

    assert await drift.findings() == [
        ("drift", "open", "city"),
        ("drift", "repaired", "city"),
        ("drift", "repaired", "city"),
        ("repairDoesNotHold", "open", "city"),
    ]
    assert len(await drift.repairs()) == 2
    (report,) = await drift.records(FindingFilter(kind=FindingKind.REPAIR_DOES_NOT_HOLD))
    assert (report.property, report.wanted, report.observed) == ("city", "Town", "Elsewhere")


async def test_a_directory_that_does_not_do_what_it_says_is_reported_once(drift: DriftFixture) -> None:
    """It says that all is done, and shows what it showed before."""
    await drift.set_repair()
    await drift.mailbox(city="Town")
    await drift.change(MOVE)
    for _ in range(5):
        drift.estate.directory.acknowledges_only = True
        await drift.check_all()
        later(drift.estate, days=1)

    assert await drift.findings() == [("drift", "open", "city"), ("repairDoesNotHold", "open", "city")]
    assert await drift.repairs() == []


async def test_accepting_the_report_releases_the_property(drift: DriftFixture) -> None:
    await drift.set_repair()
    request_id = await drift.mailbox(city="Town")
    for _ in range(4):
        await stubborn(drift)
    await drift.accept("repairDoesNotHold", "city")

    await drift.check_all()

    assert (("repairDoesNotHold", "gone", "city") in await drift.findings()) is True
    mailbox = await drift.estate.mailbox(request_id)
    assert mailbox is not None
    assert mailbox.address_fields.city == "Town"


async def test_what_somebody_has_accepted_is_left_as_it_is(drift: DriftFixture) -> None:
    await drift.mailbox(city="Town")
    await drift.change(MOVE)
    await drift.check_all()
    await drift.accept("drift", "city")
    await drift.set_repair()

    await drift.check_all()

    assert await drift.findings() == [("drift", "accepted", "city")]
    assert await drift.repairs() == []


async def test_what_is_refused_is_reported_with_the_reason(drift: DriftFixture) -> None:
    await drift.set_repair()
    await drift.mailbox(city="Town")
    await drift.change(MOVE)
    refusal = Rejected("locked", "The mailbox is on hold.")
    drift.estate.directory.faults["The desk"] = refusal

    await drift.check_all()

    (finding,) = await drift.records()
    assert (finding.state, finding.action) == ("open", None)
    assert finding.detail.endswith(refusal.detail)


async def test_a_directory_that_does_not_answer_is_asked_again(drift: DriftFixture) -> None:
    await drift.set_repair()
    await drift.mailbox(city="Town")
    await drift.change(MOVE)
    drift.estate.directory.error = TryAgain(timedelta(seconds=10), "Busy.")
    for _ in range(4):
        await drift.check_all()
    busy = await drift.records()
    drift.estate.directory.error = None

    await drift.check_all()

    assert [(each.state, each.action) for each in busy] == [("open", "repair")]
    # A repair that could not be tried is no repair that did not hold.
    assert await drift.findings() == [("drift", "repaired", "city")]


async def test_it_goes_on_where_it_was_cut_short(drift: DriftFixture) -> None:
    for place in range(5):
        await drift.mailbox(name=f"Desk {place}", city="Town")
    await drift.change(MOVE)
    await drift.check_all(page_size=2)

    assert await drift.findings() == [("drift", "open", "city")] * 5
    ((phase, finished_at),) = await drift.estate.rows(
        "SELECT phase, finished_at FROM chamberlain.drift_check WHERE tenant_id = $1", ESTATE
    )
    assert (phase, finished_at) == (None, drift.estate.moment)


async def test_every_tenant_has_its_job_at_its_time_of_the_night(drift: DriftFixture) -> None:
    await drift.jobs.begin(TRACE)
    await drift.run_due()
    first = await drift.estate.rows(
        "SELECT tenant_id FROM chamberlain.job WHERE kind = 'driftCheck' ORDER BY tenant_id"
    )
    await drift.run_due()

    again = await drift.estate.rows(
        "SELECT tenant_id, run_at > now() + interval '10 minutes' FROM chamberlain.job "
        "WHERE kind = 'driftCheck' AND tenant_id <> $1 ORDER BY 1",
        NOBODY,
    )
    assert first == [(NOBODY,), (ESTATE,), (OTHER_HOUSE,)]
    assert again == [(ESTATE, True), (OTHER_HOUSE, True)]


async def test_what_is_not_through_is_left_alone(drift: DriftFixture) -> None:
    await drift.estate.ask_mailbox({"name": "Desk", "displayName": "The desk", "alias": "counter"})
    await drift.assignments.discover()
    await drift.assignments.assign(templateId=str(NO_GUESTS))
    later(drift.estate, days=1)

    await drift.check_all()

    assert await drift.findings() == []


@pytest.mark.heavy
async def test_what_was_cut_short_anywhere_is_made_up_for(drift: DriftFixture) -> None:
    """A worker is killed between any two things that it does; another one takes over."""
    await drift.set_repair()
    request_id = await drift.mailbox(city="Town")
    await drift.check_all()
    for place in count():
        # A difference after a month is a new finding.
        later(drift.estate, days=31)
        await drift.change(MOVE)
        crash_point = CrashPoint(place)
        crashing = replace(drift.jobs, database=CrashingDatabase(drift.estate.databases.worker, crash_point))
        was_killed = False
        try:
            await drift.run_due(crashing)
        except InjectedCrash:
            was_killed = True
        await expire_leases(drift.estate)

        await drift.finish()

        mailbox = await drift.estate.mailbox(request_id)
        assert mailbox is not None
        assert mailbox.address_fields.city == "Town"
        assert await drift.findings() == [("drift", "repaired", "city")] * (place + 1), place
        assert len(await drift.repairs()) == place + 1, place
        if not was_killed:
            break
    assert place > 20


@dataclass
class ConcurrentAssignmentGuests:
    """A guests port of a directory during whose work an assignment changes."""

    guests: Guests
    assign: Callable[[], Awaitable[object]]

    async def observe(self, references: Sequence[SubjectReference]) -> Sequence[ObservedSubject | None]:
        return await self.guests.observe(references)

    async def ensure(self, works: Sequence[GuestWork]) -> Sequence[GuestOutcome]:
        await self.assign()
        return await self.guests.ensure(works)

    async def act(self, acts: Sequence[GuestAct]) -> Sequence[ActOutcome]:
        return await self.guests.act(acts)

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        return await self.guests.changes(tenant_id, extension, cursor)


async def test_what_is_assigned_again_meanwhile_is_not_held_against_the_directory(drift: DriftFixture) -> None:
    await drift.set_repair()
    guest_rules = drift.assignments
    await guest_rules.discover()
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()
    await drift.change("UPDATE directory.guest_settings SET allow_to_add_guests = true")

    async def assign() -> None:
        if (await guest_rules.record()).assignment.template_id == NO_GUESTS:
            await guest_rules.assign(templateId=str(PARTNERS))
            await guest_rules.work()

    drift.jobs = replace(drift.jobs, guests=ConcurrentAssignmentGuests(guest_rules.guests, assign))
    await drift.check_all()

    # The repair was of what is not assigned any more; the page was looked at once more.
    shown = await guest_rules.shown()
    assert shown.rules is not None
    assert (shown.template_id, shown.rules.allowed) == (PARTNERS, True)
    states = {each.state for each in await drift.records(FindingFilter(kind=FindingKind.DRIFT))}
    assert OPEN not in states


async def test_a_guest_whom_a_policy_has_removed_is_not_given_back(drift: DriftFixture) -> None:
    await drift.set_repair()
    _, group_id = await drift.group(owners=[str(GIL)])
    runs = Runs(drift.assignments, GroupId(group_id))
    await drift.assignments.ask({"policyId": str(NINETY_DAYS)}, runs.group_id)
    await drift.assignments.work()
    await runs.run_daily(90)
    removed = [each for each in await drift.records() if each.kind is FindingKind.GUEST_EXPIRED]
    before = await runs.members()

    await drift.check_all()

    assert [each.state for each in removed] == [REPAIRED]
    assert (before, await runs.members(), await drift.repairs()) == ([], [], [])
    assert [each for each in await drift.records() if each.kind is FindingKind.DRIFT] == []


UNMARK = "UPDATE directory.groups SET extensions = '{}' WHERE id = $1"
FAIL = "UPDATE chamberlain.request SET state = 'failed' WHERE kind = 'assignment'"
WITHOUT_POLICY = """
UPDATE directory.groups SET extensions = extensions #- '{chamberlain_group,policyId}' WHERE id = $1
"""
EMPTY = "UPDATE chamberlain.request SET body = '{}' WHERE kind = 'group'"


async def test_what_is_not_assigned_any_more_does_not_differ(drift: DriftFixture) -> None:
    await drift.assignments.discover()
    await drift.assignments.assign(ALL_STAFF, policyId=str(YEARLY_REVIEW))
    await drift.assignments.work()
    await drift.change(UNMARK, ALL_STAFF)
    await drift.check_all()
    before = await drift.findings()
    await drift.assignments.assign(ALL_STAFF, policyId=ZERO)

    await drift.check_all()

    assert (before, await drift.findings()) == ([("drift", OPEN, "policyId")], [("drift", GONE, "policyId")])


@pytest.mark.parametrize(("change", "state"), [(FAIL, GONE), (FAIL.replace("failed", "running"), OPEN)])
async def test_what_has_failed_to_be_assigned_does_not_differ(drift: DriftFixture, change: str, state: str) -> None:
    await drift.assignments.discover()
    await drift.assignments.assign(ALL_STAFF, policyId=str(YEARLY_REVIEW))
    await drift.assignments.work()
    await drift.change(UNMARK, ALL_STAFF)
    await drift.check_all()
    await drift.change(change)

    await drift.check_all()

    assert await drift.findings() == [("drift", state, "policyId")]


async def test_a_group_whose_request_is_emptied_is_let_go(drift: DriftFixture) -> None:
    _, group_id = await drift.group()
    await drift.change("UPDATE directory.groups SET display_name = 'X' WHERE id = $1", group_id)
    await drift.check_all()
    before = await drift.findings()
    await drift.change(EMPTY)

    await drift.check_all()

    assert (before, await drift.findings()) == ([("drift", OPEN, "displayName")], [("drift", GONE, "displayName")])


async def test_a_group_that_is_hidden_for_a_night_keeps_its_findings(drift: DriftFixture) -> None:
    _, group_id = await drift.group()
    await drift.change("UPDATE directory.groups SET display_name = 'X' WHERE id = $1", group_id)
    await drift.assignments.ask({"policyId": str(YEARLY_REVIEW)}, GroupId(group_id))
    await drift.assignments.work()
    await drift.change(WITHOUT_POLICY, group_id)
    await drift.check_all()
    await drift.accept(FindingKind.DRIFT, "displayName")
    await drift.accept(FindingKind.DRIFT, "policyId")
    before = await drift.findings()
    later(drift.estate, hours=2)
    await drift.change("UPDATE directory.groups SET tenant_id = $2 WHERE id = $1", group_id, OTHER_HOUSE)

    await drift.check_all()

    accepted = [("drift", FindingState.ACCEPTED, name) for name in ("displayName", "policyId")]
    assert before == accepted
    assert await drift.findings() == [*accepted, ("drift", OPEN, "exists")]


async def test_it_handles_a_group_that_two_requests_name(drift: DriftFixture) -> None:
    _, group_id = await drift.group()
    await drift.group(displayName="Borealis")
    both = "UPDATE chamberlain.request SET result = jsonb_set(result::jsonb, '{id}', to_jsonb($1::text))::json"
    await drift.change(both, str(group_id))
    await drift.change("UPDATE directory.groups SET display_name = 'X'")

    await drift.check_all()

    (finding,) = await drift.records()
    assert (finding.property, finding.wanted) == ("displayName", "Borealis")


@dataclass
class ThrottlingDirectory(FaultyDirectory):
    """A directory that asks to wait after so many looks at groups."""

    looks: int = 0

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        self.looks -= 1
        if self.looks < 0:
            raise TryAgain(timedelta(minutes=1), "Busy.")
        return await super().observe(references)


async def test_groups_with_many_members_end_a_page(drift: DriftFixture) -> None:
    for place in range(5):
        await drift.group(displayName=f"Apollo {place}")
    await drift.change("UPDATE directory.groups SET display_name = 'X' WHERE display_name LIKE 'Apollo%'")
    tired = ThrottlingDirectory(drift.estate.directory, looks=2)
    drift.estate.restrict(Capabilities(timedelta(0), limits=Limits(observe_batch=2)))
    check = replace(drift.jobs, max_people=1, directory=tired)
    await check.begin(TRACE)
    await drift.run_due(check)
    await drift.run_due(check)
    # Each has an owner: what was seen of two is written before the next two are looked at.
    seen = await drift.findings()
    tired.looks = 100

    await drift.finish(check)

    assert seen == [("drift", OPEN, "displayName")] * 4
    assert await drift.findings() == [("drift", OPEN, "displayName")] * 5
