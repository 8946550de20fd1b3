# SPDX-License-Identifier: Apache-2.0
"""Files and what is true: a plan says exactly what is then done, and what was exported needs nothing."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias
from uuid import UUID

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from chamberlain.app.maintenance import configuration_service
from chamberlain.configuration import records as configuration_records
from chamberlain.configuration.files import Configuration, ConfigurationFault, ConfigurationInvalid, read_configuration
from chamberlain.configuration.rules import Plan
from chamberlain.core.errors import Conflict, NotFound
from chamberlain.core.ids import TenantId
from tests.configuration.configuration_files import HOUSEHOLDS, Document, read_houses
from tests.databases import Databases
from tests.estates import ESTATE, OPERATOR, OTHER_HOUSE, TRACE, apply, changed_estate, rows

# The name of an object by its place in an export.
Things: TypeAlias = dict[tuple[str, str, str], object]

NO_GUESTS = "7e000000-0000-4000-8000-000000000021"
YEARLY = "90110000-0000-4000-8000-000000000002"
AUDIT = "SELECT action, payload FROM chamberlain.audit ORDER BY sequence"
EVERYTHING = """
SELECT
    (SELECT json_agg(t ORDER BY tenant_id)::text FROM chamberlain.tenant t),
    (SELECT json_agg(t ORDER BY issuer, tid)::text FROM chamberlain.issuer t),
    (SELECT json_agg(t ORDER BY tenant_id, template_id, revision)::text FROM chamberlain.template_revision t),
    (SELECT json_agg(t ORDER BY tenant_id, template_id)::text FROM chamberlain.template t),
    (SELECT json_agg(t ORDER BY tenant_id, policy_id)::text FROM chamberlain.policy t),
    (SELECT json_agg(t ORDER BY sequence)::text FROM chamberlain.audit t)
"""


async def plan(databases: Databases, configuration: Configuration) -> Plan:
    return await configuration_service(databases.worker).plan(configuration)


async def carry_out(databases: Databases, configuration: Configuration, agreed: Plan | None = None) -> Plan:
    return await configuration_service(databases.worker).apply(
        configuration, actor=OPERATOR, trace_id=TRACE, agreed=agreed
    )


async def export(databases: Databases, tenant_id: TenantId | None = None) -> str:
    return await configuration_service(databases.worker).export(tenant_id)


async def faults_of(databases: Databases, houses: list[Document]) -> Sequence[ConfigurationFault]:
    """The faults of a plan of these files."""
    try:
        await plan(databases, read_houses(houses))
    except ConfigurationInvalid as error:
        return error.faults
    return ()


def things_in(text: str) -> Things:
    """Every thing of an export by tenant, noun and id."""
    found: Things = {}
    for tenant in yaml.safe_load(text)["tenants"]:
        for noun, things in (("template", tenant.pop("templates")), ("policy", tenant.pop("policies"))):
            found.update({(tenant["id"], noun, thing["id"]): thing for thing in things})
        found[tenant["id"], "tenant", tenant["id"]] = tenant
    return found


def planned(found: Plan) -> set[tuple[str, str, str]]:
    return {(str(each.tenant_id), str(each.noun), str(each.id)) for each in found.changes}


async def test_it_works(databases: Databases) -> None:
    await apply(databases, changed_estate())
    changed = changed_estate(project_group={"name": "Renamed", "active": False})

    found = await plan(databases, changed)

    (change,) = found.changes
    assert (change.verb, change.noun, change.name) == ("change", "template", "Renamed")
    assert (change.before, change.after) == (
        {"name": "Project group", "active": True},
        {"name": "Renamed", "active": False},
    )


async def test_a_plan_writes_nothing(databases: Databases) -> None:
    await apply(databases, changed_estate())
    before = await rows(databases, EVERYTHING)

    await plan(databases, changed_estate(project_group={"name": "Renamed"}))

    assert await rows(databases, EVERYTHING) == before


async def test_the_plan_of_what_was_exported_is_empty(databases: Databases) -> None:
    await apply(databases, changed_estate())

    text = await export(databases)

    assert (await plan(databases, read_configuration(text.encode()))).changes == ()
    assert not [line for line in text.splitlines() if "secret" in line and line[:1] != "#"]


async def test_one_tenant_is_exported_alone(databases: Databases) -> None:
    await apply(databases, changed_estate())

    (entry,) = read_configuration((await export(databases, OTHER_HOUSE)).encode()).tenants

    assert entry.tenant.name == "Other House"
    with pytest.raises(NotFound):
        await export(databases, TenantId(UUID(int=9)))


@pytest.mark.heavy
@settings(
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(houses=HOUSEHOLDS)
async def test_whatever_files_say_is_done_exactly_or_not_at_all(databases: Databases, houses: list[Document]) -> None:
    # The database is one for all examples: each file meets what the one before has left.
    before, everything = things_in(await export(databases)), await rows(databases, EVERYTHING)
    on_record = len(await rows(databases, AUDIT))
    if faults := await faults_of(databases, houses):
        assert all(fault.file and fault.line for fault in faults)
        with pytest.raises(ConfigurationInvalid):
            await carry_out(databases, read_houses(houses))
        assert await rows(databases, EVERYTHING) == everything
        return
    configuration = read_houses(houses)
    found = await plan(databases, configuration)

    done = await carry_out(databases, configuration)

    text = await export(databases)
    after = things_in(text)
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    assert done == found
    assert planned(done) == changed
    assert (await plan(databases, configuration)).changes == ()
    assert (await plan(databases, read_configuration(text.encode()))).changes == ()
    new = (await rows(databases, AUDIT))[on_record:]
    assert [json.loads(str(payload))["subject"]["id"] for _, payload in new] == [str(each.id) for each in done.changes]


FAULTY = [
    pytest.param("kind: guest", "kind: team", "guests: There is no property guests.", id="another kind"),
    pytest.param(NO_GUESTS, "7e000000-0000-4000-8000-00000000002", "id must be a UUID", id="a wrong id"),
    pytest.param("name: No guests", "name: No guests\n        name: A", '"name" is there twice', id="a doubled key"),
    pytest.param(
        "name: No guests", "name: &a No guests", "Anchors and aliases (& and *) are not read.", id="an anchor"
    ),
    pytest.param("name: No guests", "name: *a", "Anchors and aliases (& and *) are not read.", id="an alias"),
    pytest.param("name: No guests", "name: !secret A", "Tags (!secret) are not read.", id="a tag"),
]


@pytest.mark.parametrize(("old", "new", "cure"), FAULTY)
async def test_it_rejects_a_faulty_file_with_its_line_and_changes_nothing(
    databases: Databases, old: str, new: str, cure: str
) -> None:
    await apply(databases, changed_estate())
    text = (await export(databases)).replace("name: Project group", "name: Renamed")
    before = await rows(databases, EVERYTHING)
    line = text.partition(old)[0].count("\n") + 1

    with pytest.raises(ConfigurationInvalid) as refused:
        await carry_out(databases, read_configuration(text.replace(old, new, 1).encode()))

    assert cure in str(refused.value)
    lines = [fault.line for fault in refused.value.faults]
    assert any(found is not None and line <= found <= line + 6 for found in lines)
    assert await rows(databases, EVERYTHING) == before


def with_first(tenant: Document) -> Configuration:
    """The example estate with some of the first tenant's members changed."""
    text = yaml.safe_dump({"tenants": [{"id": str(ESTATE), "name": "Example Estate", **tenant}]})
    return read_configuration(text.encode())


DOMAINS = ["estate.example", "rooms.estate.example"]
ISSUER = {"issuer": "https://login.example"}


@pytest.mark.parametrize(
    ("tenant", "told"),
    [
        ({"domains": [*DOMAINS, "other.example"]}, f"domains[2]: other.example belongs to tenant {OTHER_HOUSE}."),
        ({"domains": DOMAINS, "issuers": [ISSUER]}, f"issuers[0]: Its tokens speak for tenant {OTHER_HOUSE}."),
        ({"domains": DOMAINS[:1]}, 'domains: The template "Room" makes addresses at rooms.estate.example.'),
        (
            {"domains": DOMAINS, "templates": [{"id": NO_GUESTS, "kind": "group", "name": "A"}]},
            'templates[0].kind: This is the id of "No guests", which is of kind guest and stays so.',
        ),
        (
            {"domains": DOMAINS, "templates": [{"id": NO_GUESTS[:-1] + "f", "kind": "group", "name": "A",
             "guestTemplateId": "7e000000-0000-4000-8000-000000000099"}]},
            "templates[0].guestTemplateId: The tenant has no guest template 7e000000-0000-4000-8000-000000000099.",
        ),
    ],
)  # fmt: skip
async def test_it_rejects_what_does_not_go_with_what_is_there(
    databases: Databases, tenant: Document, told: str
) -> None:
    await apply(databases, changed_estate())
    other = yaml.safe_dump(
        {"tenants": [{"id": str(OTHER_HOUSE), "name": "O", "domains": ["other.example"], "issuers": [ISSUER]}]}
    )
    await apply(databases, read_configuration(other.encode()))
    before = await rows(databases, EVERYTHING)

    with pytest.raises(ConfigurationInvalid) as refused:
        await carry_out(databases, with_first(tenant))

    assert f"tenants[0].{told}" in str(refused.value)
    assert await rows(databases, EVERYTHING) == before


async def test_an_issuer_goes_from_one_tenant_to_another(databases: Databases) -> None:
    await apply(databases, changed_estate())
    await apply(databases, with_first({"domains": DOMAINS, "issuers": [ISSUER]}))
    text = yaml.safe_dump(
        {
            "tenants": [
                {
                    "id": str(OTHER_HOUSE),
                    "name": "Other House",
                    "domains": ["other.example"],
                    "issuers": [dict(ISSUER)],
                },
                {"id": str(ESTATE), "name": "Example Estate", "domains": DOMAINS, "issuers": []},
            ]
        }
    )

    await carry_out(databases, read_configuration(text.encode()))

    assert await rows(databases, "SELECT tenant_id, issuer FROM chamberlain.issuer") == [
        (OTHER_HOUSE, "https://login.example")
    ]


async def test_what_is_assigned_is_not_removed(databases: Databases) -> None:
    await apply(databases, changed_estate())
    async with databases.worker.across_tenants() as tx:
        await tx.execute(
            "INSERT INTO chamberlain.subject (tenant_id, subject_id, type, display_name, name_key, is_team, "
            "member_ship_type, observed_at, template_id, policy_id) "
            "VALUES ($1, $1, 'group', 'A', 'a', false, 0, now(), $2, $3)",
            ESTATE, NO_GUESTS, YEARLY,
        )  # fmt: skip
    before = await rows(databases, EVERYTHING)

    with pytest.raises(ConfigurationInvalid) as refused:
        await carry_out(databases, with_first({"domains": DOMAINS, "templates": [], "policies": []}))

    assert {fault.path for fault in refused.value.faults} == {"tenants[0].templates", "tenants[0].policies"}
    assert f'The template "No guests" ({NO_GUESTS}) is not in this list and is assigned' in str(refused.value)
    assert await rows(databases, EVERYTHING) == before


async def test_nothing_goes_that_nobody_has_agreed_to(databases: Databases) -> None:
    await apply(databases, changed_estate())
    fewer = with_first({"domains": DOMAINS, "policies": []})
    agreed = await plan(databases, fewer)
    one_less = replace(agreed, changes=agreed.changes[:-1])
    before = await rows(databases, EVERYTHING)

    with pytest.raises(Conflict) as refused:
        await carry_out(databases, fewer, one_less)
    assert refused.value.code == "stateDoesNotAllow"
    assert await rows(databases, EVERYTHING) == before

    assert await carry_out(databases, fewer, agreed) == agreed


async def test_those_who_apply_at_the_same_time_come_one_after_the_other(databases: Databases) -> None:
    names = [f"Estate {number}" for number in range(6)]

    done = await asyncio.gather(
        *(carry_out(databases, with_first({"name": name, "domains": DOMAINS})) for name in names)
    )

    # Each has met what the one before has left: the first made it, the others changed it.
    verbs = sorted(each.verb for found in done for each in found.changes)
    assert verbs == ["change"] * 5 + ["create"]
    befores = [change.before for found in done for change in found.changes if change.before is not None]
    assert len({str(before) for before in befores}) == 5
    assert await rows(databases, "SELECT revision FROM chamberlain.tenant") == [(6,)]


async def test_a_caller_who_waits_too_long_gets_a_timeout(databases: Databases) -> None:
    async with databases.worker.across_tenants() as tx, databases.worker.across_tenants() as other:
        await configuration_records.hold(tx, [])

        with pytest.raises(Conflict) as refused:
            await configuration_records.hold(other, [], patience=timedelta(milliseconds=20))
        assert refused.value.code == "stateDoesNotAllow"


async def test_a_call_waits_for_its_own_tenant_only(databases: Databases) -> None:
    await apply(databases, changed_estate())
    brief = timedelta(milliseconds=20)
    async with databases.worker.across_tenants() as tx:
        await configuration_records.hold(tx, [ESTATE])

        async with databases.application.transaction(OTHER_HOUSE) as other:
            await configuration_records.hold_own(other, OTHER_HOUSE, patience=brief)
        async with databases.application.transaction(ESTATE) as own:
            with pytest.raises(Conflict) as refused:
                await configuration_records.hold_own(own, ESTATE, patience=brief)
        assert refused.value.code == "stateDoesNotAllow"
