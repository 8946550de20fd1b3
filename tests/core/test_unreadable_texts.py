# SPDX-License-Identifier: Apache-2.0
"""Texts with control characters: files with them are refused, and stored rows with them do no harm."""

from collections.abc import Sequence
from pathlib import Path

import asyncpg
import pytest

from chamberlain.app.doctor.cli import examine
from chamberlain.app.maintenance import configuration_service
from chamberlain.configuration.files import ConfigurationInvalid, read_configuration
from chamberlain.core.health import HealthState
from chamberlain.core.paging import PageWanted
from chamberlain.guests.policies import records as policy_records
from chamberlain.settings import read_settings
from chamberlain.template_admin import records as template_admin_records
from chamberlain.templates.models import GROUP_KINDS
from tests.databases import Databases
from tests.estates import ESTATE, PROJECT_GROUP, apply, changed_estate, open_estate, rows
from tests.postgres import connected

URL = "https://hook.example/path"
EVERYTHING = PageWanted(limit=100, after=None)
HOOKED = {"webhook": {"url": URL}}
# As an earlier version stored it, before there were triggers.
SPOIL_TEMPLATE = """
UPDATE chamberlain.template_revision SET content = replace(content::text, '/path', $1)::json WHERE template_id = $2
"""
SPOIL_POLICIES = """
UPDATE chamberlain.policy SET content = replace(content::text, '"name":"', '"name":"a' || $1)::json
"""
JSON_COLUMNS = """
SELECT c.relname::text, a.attname::text FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.atttypid = 'json'::regtype AND NOT a.attisdropped
WHERE c.relnamespace = 'chamberlain'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
EXCEPT
SELECT c.relname::text, a.attname::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (t.tgattr)
WHERE t.tgname = 'refuse_unreadable'
"""


async def spoil(databases: Databases, statement: str, *values: object) -> None:
    async with connected(databases.addresses.owner) as connection:
        await connection.execute("ALTER TABLE chamberlain.template_revision DISABLE TRIGGER refuse_unreadable")
        await connection.execute("ALTER TABLE chamberlain.policy DISABLE TRIGGER refuse_unreadable")
        await connection.execute(statement, *values)
        await connection.execute("ALTER TABLE chamberlain.template_revision ENABLE TRIGGER refuse_unreadable")
        await connection.execute("ALTER TABLE chamberlain.policy ENABLE TRIGGER refuse_unreadable")


async def listed(databases: Databases) -> list[str]:
    async with databases.application.transaction(ESTATE) as tx:
        page = await template_admin_records.find_page(tx, GROUP_KINDS, EVERYTHING)
        offered = await template_admin_records.find_offered(tx, GROUP_KINDS, EVERYTHING, user=None, member_of=[])
        kept = await policy_records.find_page(tx, ESTATE, EVERYTHING)
    assert len(page.items) == len(offered.items)
    return [*[each.stored.head.name for each in page.items], *[each.stored.head.name for each in kept.items]]


@pytest.mark.parametrize("bad", ["\\u0000", "\\u0001", "\x7f", "\\ud800", "\\\\\\u0000"])
async def test_a_stored_control_character_hides_no_list_and_stops_no_apply(
    databases: Databases, tmp_path: Path, bad: str
) -> None:
    configuration = changed_estate(project_group=HOOKED)
    await open_estate(databases, configuration)
    before = await listed(databases)
    await spoil(databases, SPOIL_TEMPLATE, f"/{bad}x", PROJECT_GROUP)
    await spoil(databases, SPOIL_POLICIES, bad)

    names = await listed(databases)
    text = await configuration_service(databases.worker).export(ESTATE)
    plan = await configuration_service(databases.worker).plan(configuration)
    settings = read_settings(
        data_dir=tmp_path,
        database_url=databases.addresses.application,
        database_worker_url=databases.addresses.worker,
    )
    found = [each for each in await examine(settings, nobody) if each.name == "texts"]

    assert len(names) == len(before)
    assert read_configuration(text.encode()).tenants[0].templates
    assert {each.id for each in plan.changes} >= {PROJECT_GROUP}
    assert {each.state for each in found} == {HealthState.FAULT}
    assert any(str(PROJECT_GROUP) in each.seen for each in found)

    await apply(databases, configuration)

    found = [each for each in await examine(settings, nobody) if each.name == "texts"]
    assert [each.state for each in found] == [HealthState.OK]
    assert not (await configuration_service(databases.worker).plan(configuration)).changes


async def nobody(_: str) -> Sequence[str] | None:
    """No service answers."""
    return None


@pytest.mark.parametrize("bad", ["\\u0000", "\\ud800", "\\udc00x"])
async def test_json_that_cannot_be_queried_is_not_stored(databases: Databases, bad: str) -> None:
    await open_estate(databases, changed_estate(project_group=HOOKED))
    async with connected(databases.addresses.worker) as connection:
        with pytest.raises((asyncpg.UntranslatableCharacterError, asyncpg.InvalidTextRepresentationError)):
            await connection.execute(SPOIL_TEMPLATE, f"/{bad}", PROJECT_GROUP)
        with pytest.raises((asyncpg.UntranslatableCharacterError, asyncpg.InvalidTextRepresentationError)):
            await connection.execute(
                "INSERT INTO chamberlain.audit (tenant_id, action, trace_id, payload) VALUES ($1, 'x', '', $2)",
                ESTATE,
                f'{{"actor": "{bad}"}}',
            )
        # An escaped backslash before u0000 is an ordinary text.
        await connection.execute(SPOIL_TEMPLATE, "/\\\\u0000", PROJECT_GROUP)


async def test_a_row_that_was_stored_before_can_still_be_updated_in_other_columns(databases: Databases) -> None:
    await open_estate(databases)
    await spoil(databases, SPOIL_POLICIES, "\\u0000")

    async with connected(databases.addresses.worker) as connection:
        await connection.execute("UPDATE chamberlain.policy SET active = NOT active, created_by = created_by")


async def test_every_json_column_refuses_what_cannot_be_queried(databases: Databases) -> None:
    assert await rows(databases, JSON_COLUMNS) == []


@pytest.mark.parametrize("bad", ["\\0", "\\x01", "\\x7f", "\\x85", "\\u202e", "\\ud800"])
@pytest.mark.parametrize(
    ("section", "place"),
    [
        (
            'tenants: [{{id: e57a7e00-0000-4000-8000-000000000001, name: "a{bad}b", domains: [a.example]}}]',
            "tenants[0].name",
        ),
        ('directory: {{users: [{{displayName: "a{bad}b"}}]}}', "directory.users[0].displayName"),
        ('clients: [{{name: "a{bad}b"}}]', "clients[0].name"),
        ('clients: [{{"a{bad}b": x}}]', "clients[0].a"),
    ],
)
def test_a_file_with_a_control_character_is_refused_at_its_place(section: str, place: str, bad: str) -> None:
    with pytest.raises(ConfigurationInvalid) as refused:
        read_configuration(section.format(bad=bad).encode())

    # The parser itself refuses half of a pair, on its line.
    assert any(fault.path.startswith(place) or bad == "\\ud800" for fault in refused.value.faults)
    assert all(fault.line == 1 for fault in refused.value.faults)
