# SPDX-License-Identifier: Apache-2.0
"""Reading a request: one's own, or any of the tenant's for its administrators; for all others it does not exist."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chamberlain.auth.models import ActorType, Caller
from chamberlain.core.errors import Forbidden, NotFound, TryAgain, Unavailable
from chamberlain.core.ids import RequestId, TenantId, UserId
from tests.databases import Databases
from tests.estates import ADA, BEN, CLEO, ESTATE, OTHER_HOUSE, ZOE, Estate, caller_of, open_estate
from tests.requests.request_services import request_service

PREFIX = "https://api.estate.example"
UNKNOWN = RequestId(ADA)


def configuring(user: UserId, tenant_id: TenantId = ESTATE) -> Caller:
    """A caller with the permission of an administrator and no other."""
    return replace(caller_of(user, tenant_id), permissions=frozenset({f"{PREFIX}/admin/Config.ReadWrite.All"}))


async def let_staff_administer(databases: Databases) -> None:
    """Make everybody in the group "All staff" an administrator."""
    async with databases.worker.across_tenants() as tx:
        await tx.execute(
            "UPDATE chamberlain.tenant SET administrator_groups = ARRAY['94000000-0000-4000-8000-000000000001'::uuid]"
        )


async def test_it_works(estate: Estate) -> None:
    accepted = await estate.request("Apollo", caller=caller_of(BEN))

    view = await request_service(estate).read(caller_of(BEN), accepted.request_id)

    assert view.record == await estate.record(accepted.request_id)
    assert view.record.display_name == "Apollo"


async def test_an_administrator_reads_any_of_the_tenant(estate: Estate) -> None:
    accepted = await estate.request("Apollo", caller=caller_of(BEN))

    view = await request_service(estate).read(configuring(ADA), accepted.request_id)

    assert view.record.request_id == accepted.request_id


async def test_an_administrator_by_a_group_reads_any_of_the_tenant(databases: Databases) -> None:
    estate = await open_estate(databases)
    await let_staff_administer(databases)
    accepted = await estate.request("Apollo", caller=caller_of(BEN))

    view = await request_service(estate).read(configuring(CLEO), accepted.request_id)

    assert view.record.request_id == accepted.request_id


async def test_it_rejects_a_request_of_somebody_else(estate: Estate) -> None:
    accepted = await estate.request("Apollo", caller=caller_of(BEN))

    # An administrator without the permission of one is like anybody else.
    for user in (CLEO, ADA):
        with pytest.raises(NotFound):
            await request_service(estate).read(caller_of(user), accepted.request_id)


async def test_it_rejects_a_request_of_another_tenant(estate: Estate) -> None:
    accepted = await estate.request("Apollo")

    with pytest.raises(NotFound):
        await request_service(estate).read(caller_of(ZOE, OTHER_HOUSE), accepted.request_id)
    with pytest.raises(NotFound):
        await request_service(estate).read(caller_of(ADA, OTHER_HOUSE), accepted.request_id)


async def test_it_rejects_an_unknown_id(estate: Estate) -> None:
    with pytest.raises(NotFound):
        await request_service(estate).read(configuring(ADA), UNKNOWN)


async def test_it_rejects_the_permission_of_an_administrator_in_other_hands(estate: Estate) -> None:
    accepted = await estate.request("Apollo", caller=caller_of(BEN))

    # Existing and missing requests look the same.
    for request_id in (accepted.request_id, UNKNOWN):
        with pytest.raises(Forbidden) as caught:
            await request_service(estate).read(configuring(CLEO), request_id)
        assert caught.value.code == "notAdministrator"


async def test_it_rejects_an_application_that_did_not_ask_for_it(estate: Estate) -> None:
    accepted = await estate.request("Apollo")
    application = replace(
        caller_of(BEN),
        type=ActorType.APPLICATION,
        permissions=frozenset({f"{PREFIX}/admin/Collab.Manage.ReadWrite.All"}),
    )

    with pytest.raises(NotFound):
        await request_service(estate).read(application, accepted.request_id)


async def test_what_is_ones_own_is_read_while_the_directory_is_away(databases: Databases) -> None:
    estate = await open_estate(databases)
    await let_staff_administer(databases)
    both = frozenset({f"{PREFIX}/collab/App.ReadWrite.All", f"{PREFIX}/admin/Config.ReadWrite.All"})
    accepted = await estate.request("Apollo", caller=caller_of(BEN))
    estate.people.error = TryAgain(timedelta(seconds=2), "The directory does not answer.")

    own = await request_service(estate).read(replace(caller_of(BEN), permissions=both), accepted.request_id)

    assert own.record.request_id == accepted.request_id
    with pytest.raises(Unavailable):
        await request_service(estate).read(replace(caller_of(CLEO), permissions=both), accepted.request_id)
