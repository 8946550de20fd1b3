# SPDX-License-Identifier: Apache-2.0
"""Names of callers in records: people by the directory, programs by their identity platform."""

from collections.abc import Mapping

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Actor, ActorType
from chamberlain.core.ids import ClientId, TenantId
from tests.estates import ADA, OTHER_HOUSE, PREFIXES, Estate, caller_of
from tests.requests.request_services import application

PROGRAM = application("Collab.Manage.ReadWrite.All")


async def names(tenant_id: TenantId) -> Mapping[ClientId, str]:
    """The program has a name in its own tenant alone."""
    return {ClientId(str(PROGRAM.id)): "automation"} if tenant_id == PROGRAM.tenant_id else {}


async def test_it_works_for_people_and_programs(estate: Estate) -> None:
    authorization = Authorization(estate.databases.application, estate.people, PREFIXES, estate.now, names)

    assert await authorization.actor(caller_of(ADA)) == Actor(ActorType.USER, ADA, "Ada Achterberg")
    assert await authorization.actor(PROGRAM) == Actor(ActorType.APPLICATION, PROGRAM.id, "automation")
    # And once more, as it is remembered.
    assert await authorization.actor(PROGRAM) == Actor(ActorType.APPLICATION, PROGRAM.id, "automation")


async def test_it_handles_programs_of_which_nobody_knows_the_name(estate: Estate) -> None:
    database = estate.databases.application
    stranger = application("Collab.Manage.ReadWrite.All", OTHER_HOUSE)

    assert (
        await Authorization(database, estate.people, PREFIXES, estate.now, names).actor(stranger)
    ).display_name == ""
    assert (await Authorization(database, estate.people, PREFIXES, estate.now).actor(PROGRAM)).display_name == ""
