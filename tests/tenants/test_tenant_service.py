# SPDX-License-Identifier: Apache-2.0
"""The tenant, as its administrators read and change it."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from chamberlain.auth.models import Caller, Edit, Issuer
from chamberlain.core.errors import Forbidden, NotPossible, Stale, TryAgain, Unavailable
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.directory.properties import DriftProperty, Treatment
from chamberlain.tenants.models import Applicability, TenantRecord, TenantSettings
from chamberlain.tenants.service import TenantService
from tests.estates import ADA, BEN, ESTATE, NOBODY, OTHER_HOUSE, TRACE, ZOE, Estate, caller_of
from tests.events.configuration_events import BY_ADA, stored_events
from tests.requests.request_services import administrator, application

STAFF = GroupId(UUID("94000000-0000-4000-8000-000000000001"))
GIL = UserId(UUID("9e570000-0000-4000-8000-000000000001"))
GUESTS = GroupId(UUID("94000000-0000-4000-8000-000000000009"))
ANY = Edit(None, TRACE)
SETTINGS = TenantSettings(
    name="Example Estate",
    default_domain=None,
    users=(ADA,),
    groups=(),
    repairs_drift=False,
    applicability=Applicability.REFUSE,
)
OWN = Issuer(tenant_id=ESTATE, issuer="https://own.example", tid=None, audiences={})
AUDIT = "SELECT action, payload FROM chamberlain.audit WHERE trace_id = $1 ORDER BY sequence"
ADD_GROUP_OF_GUESTS = """
WITH added AS (
    INSERT INTO directory.groups (
        tenant_id, id, display_name, mail_nickname, visibility, group_types, mail_enabled, security_enabled, extensions,
        created_at)
    VALUES ($1, $2, 'Guests', 'guests', 'Private', '{}', false, true, '{}', now()))
INSERT INTO directory.memberships (tenant_id, group_id, member_id, is_owner, is_member, is_group)
VALUES ($1, $2, $3, false, true, false) RETURNING 1
"""


def own_issuers(tenant_id: TenantId) -> tuple[Issuer, ...]:
    return (replace(OWN, tenant_id=tenant_id),)


def tenant_service(estate: Estate) -> TenantService:
    return TenantService(
        estate.databases.application, estate.people, estate.authorization(), own_issuers, uuid4, lambda: estate.moment
    )


async def put(estate: Estate, settings: TenantSettings, caller: Caller | None = None, edit: Edit = ANY) -> TenantRecord:
    return await tenant_service(estate).replace(caller or administrator(ADA), settings, edit)


# Any: values on record are of every kind.
async def audited(estate: Estate) -> list[tuple[str, Any, Any]]:
    rows = [(str(action), json.loads(str(payload))) for action, payload in await estate.rows(AUDIT, TRACE)]
    return [(action, told["before"], told["after"]) for action, told in rows if told["actor"]["type"] != "system"]


async def test_it_works(estate: Estate) -> None:
    await estate.rows(
        "INSERT INTO chamberlain.issuer (tenant_id, issuer, audiences) VALUES ($1, 'https://id', $2::text::json) "
        "RETURNING 1",
        ESTATE,
        '{"api": "https://api.estate.example"}',
    )

    record = await tenant_service(estate).read(administrator(ADA))

    assert (record.tenant.id, record.tenant.name, record.tenant.default_domain) == (
        ESTATE,
        "Example Estate",
        "estate.example",
    )
    assert [(each.issuer, each.audiences) for each in record.issuers] == [
        ("https://own.example", {}),
        ("https://id", {"api": "https://api.estate.example"}),
    ]


async def test_what_was_changed_holds_and_is_on_record_alone(estate: Estate) -> None:
    before = await tenant_service(estate).read(administrator(ADA))
    treatments = {DriftProperty.GROUP_DISPLAY_NAME: Treatment.IGNORED}
    wanted = replace(
        SETTINGS,
        name="The Estate",
        default_domain="rooms.estate.example",
        repairs_drift=True,
        repair_properties=treatments,
    )

    after = await put(estate, wanted)
    again = await put(estate, wanted)

    assert after.tenant.domains == ("rooms.estate.example", "estate.example")
    assert (after.tenant.name, after.tenant.repairs_drift) == ("The Estate", True)
    assert after.tenant.repair_properties == treatments
    assert before.etag != after.etag == again.etag
    assert await audited(estate) == [
        (
            "tenant.replace",
            {"name": "Example Estate", "defaultDomain": "estate.example", "repair": {"drift": False, "properties": {}}},
            {
                "name": "The Estate",
                "defaultDomain": "rooms.estate.example",
                "repair": {"drift": True, "properties": {"group.displayName": "ignored"}},
            },
        )
    ]
    ((type_, data),) = await stored_events(estate.databases)
    assert (type_, data) == (
        "tenant.changed",
        {
            "tenant": {"id": str(ESTATE), "name": "The Estate"},
            "change": "replaced",
            "properties": ["defaultDomain", "name", "repair"],
            "changedBy": BY_ADA,
        },
    )


async def test_administrators_are_those_who_are_named(estate: Estate) -> None:
    await put(estate, replace(SETTINGS, users=(BEN,)))

    assert (await tenant_service(estate).read(administrator(BEN))).tenant.administrator_users == {BEN}
    with pytest.raises(Forbidden):
        await tenant_service(estate).read(administrator(ADA))
    await put(estate, replace(SETTINGS, users=(), groups=(STAFF,)), administrator(BEN))
    assert (await tenant_service(estate).read(administrator(ADA))).tenant.administrator_groups == {STAFF}


@pytest.mark.parametrize(
    ("users", "groups", "faults"),
    [
        ((), (), [("/administrators", "noAdministrator")]),
        ((NOBODY,), (), [("/administrators/users/0", "userUnknown"), ("/administrators", "noAdministrator")]),
        ((GIL,), (), [("/administrators", "noAdministrator")]),
        ((GIL,), (GUESTS,), [("/administrators", "noAdministrator")]),
        ((), (GUESTS,), [("/administrators", "noAdministrator")]),
        ((ADA, ZOE), (), [("/administrators/users/1", "userUnknown")]),
        (
            (),
            (GroupId(UUID("51730000-0000-4000-8000-000000000001")),),
            [("/administrators", "noAdministrator")],
        ),
    ],
)
async def test_it_rejects_to_take_the_last_administrator_away(
    estate: Estate, users: tuple[UserId, ...], groups: tuple[GroupId, ...], faults: list[tuple[str, str]]
) -> None:
    await estate.rows(ADD_GROUP_OF_GUESTS, ESTATE, GUESTS, GIL)
    for caller in (administrator(ADA), application("Collab.Config.ReadWrite.All")):
        with pytest.raises(NotPossible) as refused:
            await put(estate, replace(SETTINGS, users=users, groups=groups), caller)
        assert [(fault.pointer, fault.code) for fault in refused.value.faults] == faults

    assert (await tenant_service(estate).read(administrator(ADA))).tenant.administrator_users == {ADA}
    assert await audited(estate) == []


async def test_it_handles_guests_beside_others(estate: Estate) -> None:
    await put(estate, replace(SETTINGS, users=(GIL,), groups=(STAFF,)))

    assert (await tenant_service(estate).read(administrator(GIL))).tenant.administrator_users == {GIL}


async def test_it_rejects_a_version_that_is_not_the_one(estate: Estate) -> None:
    seen = Edit(frozenset({(await tenant_service(estate).read(administrator(ADA))).etag}), TRACE)
    await put(estate, replace(SETTINGS, name="The Estate"), edit=seen)

    with pytest.raises(Stale):
        await put(estate, SETTINGS, edit=seen)


async def test_without_the_directory_nothing_is_changed(estate: Estate) -> None:
    estate.people.error = TryAgain(timedelta(seconds=3), "Busy.")

    with pytest.raises(Unavailable) as refused:
        await put(estate, replace(SETTINGS, name="The Estate"))
    assert refused.value.code == "overloaded"
    assert (await tenant_service(estate).read(administrator(ADA))).tenant.name == "Example Estate"


@pytest.mark.parametrize("caller", [administrator(BEN), caller_of(ADA), application("Collab.Manage.ReadWrite.All")])
async def test_it_rejects_who_may_not(estate: Estate, caller: Caller) -> None:
    with pytest.raises(Forbidden):
        await tenant_service(estate).read(caller)
    with pytest.raises(Forbidden):
        await put(estate, SETTINGS, caller)


@pytest.mark.parametrize("permission", ["Collab.Config.ReadWrite.All", "Mail.Config.ReadWrite.All"])
async def test_it_works_for_applications_that_configure_each_in_its_tenant(estate: Estate, permission: str) -> None:
    own, other = application(permission), application(permission, OTHER_HOUSE)

    await put(estate, replace(SETTINGS, name="The Estate"), own)
    with pytest.raises(NotPossible):
        await put(estate, replace(SETTINGS, users=(ADA,)), other)
    await put(estate, replace(SETTINGS, name="The House", users=(ZOE,)), other)

    assert [(await tenant_service(estate).read(caller)).tenant.name for caller in (own, other)] == [
        "The Estate",
        "The House",
    ]
