# SPDX-License-Identifier: Apache-2.0
"""A configuration file is applied: what it says becomes true, once, and what it does not say stays."""

import msgspec

from chamberlain.configuration.files import read_configuration
from chamberlain.tenants import records as tenant_records
from tests.databases import Databases
from tests.estates import ESTATE, OTHER_HOUSE, PROJECT_GROUP, apply, changed_estate, rows
from tests.events.configuration_events import stored_events

STATE = """
SELECT
    (SELECT json_agg(t ORDER BY tenant_id)::text FROM chamberlain.tenant t),
    (SELECT json_agg(t ORDER BY tenant_id, template_id)::text FROM chamberlain.template t),
    (SELECT json_agg(t ORDER BY tenant_id, template_id, revision)::text FROM chamberlain.template_revision t),
    (SELECT json_agg(t ORDER BY tenant_id, policy_id)::text FROM chamberlain.policy t),
    (SELECT json_agg(t ORDER BY sequence)::text FROM chamberlain.audit t)
"""


async def test_it_works(databases: Databases) -> None:
    await apply(databases, changed_estate())

    async with databases.application.transaction(ESTATE) as tx:
        tenant = await tenant_records.find(tx, ESTATE)
    made = await rows(databases, "SELECT kind, count(*) FROM chamberlain.template GROUP BY kind ORDER BY kind")
    assert tenant is not None
    assert (tenant.name, tenant.revision, tenant.default_domain) == ("Example Estate", 1, "estate.example")
    assert made == [("equipment", 1), ("group", 3), ("guest", 2), ("room", 1), ("shared", 1), ("team", 2)]
    assert await rows(databases, "SELECT count(*) FROM chamberlain.policy WHERE tenant_id = $1", ESTATE) == [(2,)]


async def test_every_change_is_on_the_audit_trail_of_its_tenant(databases: Databases) -> None:
    await apply(databases, changed_estate())

    found = await rows(
        databases,
        "SELECT tenant_id, action, count(*) FROM chamberlain.audit GROUP BY 1, 2 ORDER BY 1, 2",
    )
    ((payload,),) = await rows(
        databases, "SELECT payload FROM chamberlain.audit WHERE action = 'tenant.create' AND tenant_id = $1", ESTATE
    )
    assert found == [
        (ESTATE, "policy.create", 2),
        (ESTATE, "template.create", 9),
        (ESTATE, "tenant.create", 1),
        (OTHER_HOUSE, "template.create", 1),
        (OTHER_HOUSE, "tenant.create", 1),
    ]
    told = msgspec.json.decode(str(payload))
    assert told["actor"] == {"type": "system", "id": None, "displayName": "Test"}
    assert told["subject"] == {"type": "tenant", "id": str(ESTATE), "displayName": "Example Estate"}


async def test_applying_twice_changes_nothing(databases: Databases) -> None:
    await apply(databases, changed_estate())
    before = await rows(databases, STATE)

    await apply(databases, changed_estate())

    assert await rows(databases, STATE) == before


async def test_a_changed_template_gets_a_new_revision_and_keeps_the_old_one(databases: Databases) -> None:
    await apply(databases, changed_estate())

    await apply(databases, changed_estate(project_group={"name": "Renamed", "active": False}))

    revisions = await rows(
        databases,
        "SELECT revision, content ->> 'name' FROM chamberlain.template_revision WHERE template_id = $1 ORDER BY 1",
        PROJECT_GROUP,
    )
    current = await rows(
        databases, "SELECT revision, active FROM chamberlain.template WHERE template_id = $1", PROJECT_GROUP
    )
    assert revisions == [(1, "Project group"), (2, "Renamed")]
    assert current == [(2, False)]
    # A new tenant has no reader of its events.
    ((type_, data),) = await stored_events(databases)
    assert (type_, data) == (
        "template.changed",
        {
            "template": {"id": str(PROJECT_GROUP), "name": "Renamed", "kind": "group"},
            "change": "replaced",
            "properties": ["active", "name"],
            "changedBy": {"type": "system", "id": None, "displayName": "Test"},
        },
    )
    others = "SELECT max(revision) FROM chamberlain.template WHERE template_id <> $1"
    assert await rows(databases, others, PROJECT_GROUP) == [(1,)]


async def test_a_changed_tenant_gets_a_new_revision(databases: Databases) -> None:
    await apply(databases, changed_estate())
    text = f"""
tenants:
  - {{id: {ESTATE}, name: Renamed, domains: [estate.example, rooms.estate.example]}}
"""

    await apply(databases, read_configuration(text.encode()))

    found = await rows(databases, "SELECT name, revision FROM chamberlain.tenant ORDER BY tenant_id")
    assert found == [("Renamed", 2), ("Other House", 1)]


async def test_what_is_not_in_the_file_stays(databases: Databases) -> None:
    await apply(databases, changed_estate())
    before = await rows(databases, STATE)

    await apply(databases, read_configuration(b"tenants: []"))

    assert await rows(databases, STATE) == before
