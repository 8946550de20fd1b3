# SPDX-License-Identifier: Apache-2.0
"""The permissions of Microsoft 365 by template and policy."""

from pathlib import Path

from chamberlain.app.doctor.database import opened_to_look
from chamberlain.app.doctor.permissions import permissions_in_use
from chamberlain.core.ids import ClientId
from chamberlain.core.json import StoredDecoder
from chamberlain.directory.microsoft365.permissions import required
from chamberlain.guests.policies import records as policy_records
from chamberlain.guests.policies.schema import PolicyShape, to_policy_rules
from chamberlain.permissions.service import PermissionService
from chamberlain.templates.models import TemplateKind
from tests.app.doctor.test_doctor import settings_of
from tests.databases import Databases
from tests.estates import ADA, ESTATE, open_estate
from tests.microsoft365.exercises import record_policy, record_template
from tests.postgres import connected
from tests.requests.request_services import administrator

DECODE = StoredDecoder(PolicyShape).decode
CONNECT = """
INSERT INTO chamberlain.connection (tenant_id, connection_id, adapter, address, credential_file)
VALUES ($1, gen_random_uuid(), 'microsoft365', $2, 'connection.toml')
"""
ADDRESS = "https://graph.microsoft.com/11111111-2222-3333-4444-555555555555"


async def test_it_lists_just_the_permissions_in_use_for_each_template_and_policy(
    databases: Databases, tmp_path: Path
) -> None:
    await open_estate(databases)
    async with connected(databases.addresses.worker) as connection:
        await connection.execute(CONNECT, ESTATE, ADDRESS)
        async with databases.worker.transaction(ESTATE) as tx:
            rules = {
                each.head.name: to_policy_rules(DECODE(each.content))
                for each in await policy_records.find_all(tx, [ESTATE])
            }

    async with opened_to_look(settings_of(databases, tmp_path)) as opened:
        found = await permissions_in_use(opened)

    assert found is not None
    assert {str(each["tenantId"]) for each in found} == {str(ESTATE)}
    listed: dict[tuple[str, str], frozenset[str]] = {}
    for each in found:
        key = (str(each["type"]), str(each["name"]))
        listed[key] = listed.get(key, frozenset()) | {str(each["permission"])}
    assert {type_ for type_, _ in listed} == {"people", "policy", *TemplateKind}
    for (type_, name), permissions in listed.items():
        recorder = (
            await record_policy(rules[name], permissions)
            if type_ == "policy"
            else await record_template(None if type_ == "people" else TemplateKind(type_), permissions)
        )
        assert recorder.needs(permissions) == frozenset()
        assert recorder.in_use(permissions) == permissions


async def test_the_report_of_the_service_lists_the_same(databases: Databases, tmp_path: Path) -> None:
    estate = await open_estate(databases)
    async with connected(databases.addresses.worker) as connection:
        await connection.execute(CONNECT, ESTATE, ADDRESS)

    async def client_names(_tenant: object) -> dict[ClientId, str]:
        return {}

    service = PermissionService(
        databases.application, estate.authorization(), estate.people, client_names, required, estate.now
    )

    report = await service.report(administrator(ADA))
    async with opened_to_look(settings_of(databases, tmp_path)) as opened:
        found = await permissions_in_use(opened)

    assert found is not None
    assert {(each.permission, needer.name) for each in report.directory for needer in each.needed_by} == {
        (each["permission"], each["name"]) for each in found if each["type"] != "people"
    }


async def test_a_tenant_with_another_directory_needs_none(databases: Databases, tmp_path: Path) -> None:
    await open_estate(databases)

    async with opened_to_look(settings_of(databases, tmp_path)) as opened:
        assert await permissions_in_use(opened) == []
