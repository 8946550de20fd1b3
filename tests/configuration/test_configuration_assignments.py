# SPDX-License-Identifier: Apache-2.0
"""Assignments in configuration files: planned by id or name, made as by a PATCH, and exported."""

from collections.abc import Mapping
from uuid import UUID

import msgspec
import pytest

from chamberlain.app.maintenance import configuration_service
from chamberlain.configuration.files import (
    MOST_FILE_FAULTS,
    Configuration,
    ConfigurationInvalid,
    read_configuration,
)
from chamberlain.configuration.rules import Plan
from chamberlain.directory.subjects import SubjectType
from tests.databases import Databases
from tests.estates import ESTATE, OPERATOR, PROJECT_GROUP, TRACE, Estate, rows
from tests.guests.assignments.guest_fixture import (
    ALL_STAFF,
    HANDBOOK,
    NINETY_DAYS,
    NO_GUESTS,
    PARTNERS,
    GuestFixture,
    guest_fixture,
)

REQUESTS = "SELECT kind, state, subject_id FROM chamberlain.request WHERE kind = 'assignment' ORDER BY created_at"


@pytest.fixture
async def guest_rules(estate: Estate) -> GuestFixture:
    """The estate with its groups and sites discovered."""
    made = guest_fixture(estate)
    await made.discover()
    return made


def with_assignments(*assignments: Mapping[str, object], **members: object) -> Configuration:
    tenant = {
        "id": str(ESTATE),
        "name": "Example Estate",
        "domains": ["estate.example", "rooms.estate.example"],
        "administrators": {"users": ["ada00000-0000-4000-8000-000000000001"]},
        "assignments": list(assignments),
        **members,
    }
    return read_configuration(msgspec.json.encode({"tenants": [tenant]}))


async def apply(databases: Databases, configuration: Configuration) -> Plan:
    return await configuration_service(databases.worker).apply(configuration, actor=OPERATOR, trace_id=TRACE)


async def plan(databases: Databases, configuration: Configuration) -> Plan:
    return await configuration_service(databases.worker).plan(configuration)


async def test_it_works(guest_rules: GuestFixture) -> None:
    databases = guest_rules.estate.databases
    wanted = with_assignments(
        {"group": "all STAFF", "template": "no guests", "policy": str(NINETY_DAYS)},
        {"site": str(HANDBOOK), "template": str(PARTNERS)},
    )

    found = await plan(databases, wanted)
    done = await apply(databases, wanted)
    again = await plan(databases, wanted)

    assigned = [each for each in found.changes if each.noun == "assignment"]
    assert [(each.verb, each.id, each.after) for each in assigned] == [
        ("create", ALL_STAFF, {"templateId": str(NO_GUESTS), "policyId": str(NINETY_DAYS)}),
        ("create", HANDBOOK, {"templateId": str(PARTNERS)}),
    ]
    assert (done, again.changes) == (found, ())
    made = await rows(databases, REQUESTS)
    assert sorted(made, key=str) == sorted(
        [("assignment", "queued", ALL_STAFF), ("assignment", "queued", HANDBOOK)], key=str
    )
    audited = await rows(
        databases, "SELECT action FROM chamberlain.audit WHERE action LIKE '%.assign' ORDER BY sequence"
    )
    assert audited == [("group.assign",), ("site.assign",)]
    await guest_rules.work()
    assert [state for _, state, _ in await rows(databases, REQUESTS)] == ["succeeded", "succeeded"]


async def test_an_entry_is_the_whole_assignment_and_others_stay(guest_rules: GuestFixture) -> None:
    databases = guest_rules.estate.databases
    await guest_rules.assign(ALL_STAFF, templateId=str(NO_GUESTS), policyId=str(NINETY_DAYS))
    await guest_rules.assign(HANDBOOK, kind=SubjectType.SITE, templateId=str(PARTNERS))

    kept = await plan(databases, with_assignments())
    changed = await plan(databases, with_assignments({"group": str(ALL_STAFF), "template": "Partners"}))
    cleared = await apply(databases, with_assignments({"group": str(ALL_STAFF)}))

    assert kept.changes == ()
    (change,) = changed.changes
    assert (change.verb, change.before, change.after) == (
        "change",
        {"templateId": str(NO_GUESTS), "policyId": str(NINETY_DAYS)},
        {"templateId": str(PARTNERS), "policyId": None},
    )
    assert [(each.verb, each.takes_away) for each in cleared.changes] == [("remove", True)]
    assert await rows(databases, "SELECT subject_id FROM chamberlain.subject WHERE is_assigned") == [(HANDBOOK,)]


async def test_the_plan_of_an_export_with_assignments_is_empty(guest_rules: GuestFixture) -> None:
    databases = guest_rules.estate.databases
    await guest_rules.assign(ALL_STAFF, templateId=str(NO_GUESTS), policyId=str(NINETY_DAYS))
    service = configuration_service(databases.worker)

    text = await service.export(ESTATE)
    without = await service.export(ESTATE, with_assignments=False)

    configuration = read_configuration(text.encode())
    assert [each.subject for each in configuration.tenants[0].assignments] == [str(ALL_STAFF)]
    assert (await plan(databases, configuration)).changes == ()
    assert "assignments" not in without


async def test_a_template_goes_with_its_last_assignment(guest_rules: GuestFixture) -> None:
    databases = guest_rules.estate.databases
    await guest_rules.assign(ALL_STAFF, policyId=str(NINETY_DAYS))
    policy = {
        "id": "90110000-0000-4000-8000-0000000000aa",
        "name": "New",
        "expiry": {"afterDays": 30, "action": "remove"},
    }

    with pytest.raises(ConfigurationInvalid) as kept:
        await plan(databases, with_assignments(policies=[policy], templates=[]))
    done = await apply(databases, with_assignments({"group": "All staff", "policy": "New"}, policies=[policy]))

    assert ("/tenants/0/policies", "inUse") in [(each.pointer, each.code) for each in kept.value.faults]
    nouns = [(each.verb, each.noun) for each in done.changes]
    assert nouns[-2:] == [("change", "assignment"), ("remove", "policy")]
    assert await rows(databases, "SELECT policy_id FROM chamberlain.subject WHERE subject_id = $1", ALL_STAFF) == [
        (UUID("90110000-0000-4000-8000-0000000000aa"),)
    ]


@pytest.mark.parametrize(
    ("entry", "pointer", "code"),
    [
        ({"group": "No such group"}, "/group", "groupUnknown"),
        ({"site": "All staff"}, "/site", "groupUnknown"),
        ({"group": "All staff", "template": "No such"}, "/template", "templateUnknown"),
        ({"group": "All staff", "template": "7e000000-0000-4000-8000-0000000000ff"}, "/template", "templateUnknown"),
        ({"group": "All staff", "template": str(PROJECT_GROUP)}, "/template", "templateOfOtherKind"),
        ({"group": "All staff", "policy": "No such"}, "/policy", "policyUnknown"),
    ],
)
async def test_it_rejects_unknown_names(
    guest_rules: GuestFixture, entry: Mapping[str, object], pointer: str, code: str
) -> None:
    before = await rows(guest_rules.estate.databases, REQUESTS)

    with pytest.raises(ConfigurationInvalid) as refused:
        await apply(guest_rules.estate.databases, with_assignments(entry))

    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == (f"/tenants/0/assignments/0{pointer}", code)
    assert await rows(guest_rules.estate.databases, REQUESTS) == before


async def test_it_rejects_ambiguous_names_with_the_ids(guest_rules: GuestFixture) -> None:
    databases = guest_rules.estate.databases
    await rows(databases, "UPDATE chamberlain.subject SET display_name = 'Twin', name_key = 'twin' WHERE type = 'site'")

    with pytest.raises(ConfigurationInvalid) as refused:
        await plan(databases, with_assignments({"site": "twin"}, {"group": str(ALL_STAFF)}, {"group": str(ALL_STAFF)}))

    ambiguous, twice = refused.value.faults
    assert (ambiguous.code, str(HANDBOOK) in ambiguous.detail) == ("nameAmbiguous", True)
    assert (twice.pointer, twice.code) == ("/tenants/0/assignments/2/group", "unknownValue")


@pytest.mark.pure
def test_a_file_full_of_faults_is_not_read_to_its_end() -> None:
    with pytest.raises(ConfigurationInvalid) as refused:
        with_assignments(*[{}] * 100_000)

    assert len(refused.value.faults) == MOST_FILE_FAULTS + 2
    assert (refused.value.faults[-1].pointer, refused.value.faults[-1].code) == (
        "/tenants/0/assignments",
        "invalidBody",
    )


@pytest.mark.parametrize(
    ("entry", "pointer", "code"),
    [
        ({}, "", "missingProperty"),
        ({"group": "a", "site": "b"}, "", "ruleInvalid"),
        ({"group": 2024}, "/group", "wrongType"),
        ({"group": "a", "templateId": str(NO_GUESTS)}, "/templateId", "unknownProperty"),
    ],
)
@pytest.mark.pure
def test_it_rejects_malformed_entries(entry: Mapping[str, object], pointer: str, code: str) -> None:
    with pytest.raises(ConfigurationInvalid) as refused:
        with_assignments(entry)

    assert [(each.pointer, each.code) for each in refused.value.faults] == [
        (f"/tenants/0/assignments/0{pointer}", code)
    ]
