# SPDX-License-Identifier: Apache-2.0
"""The permissions of Microsoft 365 by template and policy."""

from pathlib import Path

import pytest

from chamberlain.app.doctor.database import opened_to_look
from chamberlain.app.doctor.permissions import permissions_in_use, policy_features
from chamberlain.directory.microsoft365.permissions import Feature
from chamberlain.guests.policies.models import Expiry, Inactivity, PolicyAction, PolicyRules
from tests.app.doctor.test_doctor import settings_of
from tests.databases import Databases
from tests.estates import ESTATE, open_estate
from tests.postgres import connected

CONNECT = """
INSERT INTO chamberlain.connection (tenant_id, connection_id, adapter, address, credential_file)
VALUES ($1, gen_random_uuid(), 'microsoft365', $2, 'connection.toml')
"""
ADDRESS = "https://graph.microsoft.com/11111111-2222-3333-4444-555555555555"


async def test_it_lists_the_permissions_of_each_template(databases: Databases, tmp_path: Path) -> None:
    await open_estate(databases)
    async with connected(databases.addresses.worker) as connection:
        await connection.execute(CONNECT, ESTATE, ADDRESS)

    async with opened_to_look(settings_of(databases, tmp_path)) as opened:
        found = await permissions_in_use(opened)

    assert found is not None
    by_type: dict[str, set[str]] = {}
    for each in found:
        by_type.setdefault(str(each["type"]), set()).add(str(each["permission"]))
    assert by_type["people"] == {"GroupMember.Read.All", "OrgContact.Read.All", "User.Read.All"}
    assert by_type["team"] - by_type["group"] == {"TeamMember.ReadWrite.All"}
    assert {str(each["tenantId"]) for each in found} == {str(ESTATE)}


async def test_a_tenant_with_another_directory_needs_none(databases: Databases, tmp_path: Path) -> None:
    await open_estate(databases)

    async with opened_to_look(settings_of(databases, tmp_path)) as opened:
        assert await permissions_in_use(opened) == []


@pytest.mark.parametrize(
    ("rules", "features"),
    [
        (PolicyRules(None, None, None, None), set()),
        (PolicyRules(Expiry(30, (), PolicyAction.REMOVE), None, None, None), {Feature.REMOVE_GUESTS}),
        (PolicyRules(Expiry(30, (), PolicyAction.NOTIFY), None, None, None), set()),
        (
            PolicyRules(None, None, Inactivity(30, (), PolicyAction.DISABLE), None),
            {Feature.DISABLE_GUESTS, Feature.INACTIVITY},
        ),
    ],
)
def test_a_policy_needs_the_features_of_its_rules(rules: PolicyRules, features: set[Feature]) -> None:
    assert policy_features(rules) == features
