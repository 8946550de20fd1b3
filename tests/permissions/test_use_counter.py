# SPDX-License-Identifier: Apache-2.0
"""Uses of permissions are counted in memory and written in the background."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.audit.erasure import UserEraser
from chamberlain.auth.models import Caller, ClientNames
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import Forbidden, TryAgain, Unavailable
from chamberlain.core.ids import ClientId
from chamberlain.database.transactions import open_database
from chamberlain.directory.microsoft365.permissions import required
from chamberlain.permissions import store
from chamberlain.permissions.models import PermissionReport
from chamberlain.permissions.service import PermissionService
from chamberlain.permissions.use_counter import UseCounter
from tests.estates import (
    ADA,
    BEN,
    ESTATE,
    OPERATOR,
    OTHER_HOUSE,
    PREFIX,
    PREFIXES,
    PROJECT_TEAM,
    TRACE,
    ZOE,
    Estate,
    caller_of,
)
from tests.requests.request_services import administrator, application
from tests.services import free_port

COLLAB, MAIL, CONFIG = (
    f"{PREFIX}/{name}" for name in ("collab/App.ReadWrite.All", "mail/App.ReadWrite.All", "admin/Config.ReadWrite.All")
)
ROWS = "SELECT caller_id, permission, number::integer FROM chamberlain.permission_use ORDER BY 1, 2"
DAY = timedelta(days=1)


@dataclass
class Uses:
    """A counter and the report of an estate."""

    estate: Estate
    counter: UseCounter
    names: dict[ClientId, str]

    async def report(self, caller: Caller | None = None) -> PermissionReport:
        async def names(_tenant: object) -> dict[ClientId, str]:
            return self.names

        typed: ClientNames = names
        estate = self.estate
        service = PermissionService(
            estate.databases.application, estate.authorization(), estate.people, typed, required, estate.now
        )
        return await service.report(caller or administrator(ADA))


def make_counter(estate: Estate) -> UseCounter:
    return UseCounter(estate.databases.worker, estate.authorization(), PREFIXES, estate.now)


@pytest.fixture
async def uses(estate: Estate) -> Uses:
    return Uses(estate, make_counter(estate), {})


async def test_it_works(uses: Uses) -> None:
    ada = replace(caller_of(ADA), permissions=frozenset({COLLAB, MAIL, CONFIG, "https://other/Thing"}))
    later = replace(ada, permissions=frozenset({COLLAB}), expires_at=ada.expires_at + DAY)
    robot = application("Mail.Manage.ReadWrite.All")
    uses.names[ClientId(str(robot.id))] = "automation"

    for caller, operation in ((ada, Operation.CREATE_GROUP), (ada, Operation.READ_REQUESTS)):
        uses.counter.count(caller, operation)
    await uses.counter.write()
    for _ in range(2):
        uses.counter.count(later, Operation.CREATE_GROUP)
    uses.counter.count(robot, Operation.CREATE_MAILBOX)
    await uses.counter.write()
    await uses.counter.write()
    of_robot, of_ada = (await uses.report()).callers

    assert (of_robot.type, of_robot.id, of_robot.display_name) == ("application", robot.id, "automation")
    assert (of_ada.type, of_ada.id, of_ada.display_name) == ("user", ADA, "Ada Achterberg")
    assert of_ada.held == sorted([COLLAB, MAIL, CONFIG])
    # An administrator sees the requests of all by the one, and only her own by the other.
    assert [(use.permission, use.count, use.last_used_at) for use in of_ada.used] == [
        (CONFIG, 1, uses.estate.moment),
        (COLLAB, 3, uses.estate.moment),
    ]
    assert of_ada.unused == [MAIL]


async def test_a_call_that_needs_no_permission_uses_none(uses: Uses) -> None:
    uses.counter.count(caller_of(BEN), Operation.READ_ME)
    await uses.counter.write()

    assert await uses.estate.rows(ROWS) == [(BEN, COLLAB, 0)]


async def test_a_failed_write_loses_nothing(uses: Uses) -> None:
    away = await open_database(f"postgresql://nobody@127.0.0.1:{free_port()}/away", most=1, name="away")
    counter = UseCounter(away, uses.estate.authorization(), PREFIXES, uses.estate.now)
    for _ in range(3):
        counter.count(caller_of(BEN), Operation.CREATE_GROUP)

    with pytest.raises(Unavailable):
        await counter.write()
    await counter.close()
    counter._database = uses.estate.databases.worker  # noqa: SLF001 - the database has come back.
    await counter.close()
    await away.close()

    assert await uses.estate.rows(ROWS) == [(BEN, COLLAB, 3)]


async def test_the_memory_of_one_tenant_is_bounded_and_the_others_are_counted(uses: Uses) -> None:
    estate = uses.estate
    counter = UseCounter(estate.databases.worker, estate.authorization(), PREFIXES, estate.now, most_of_tenant=2)
    tokens = [replace(caller_of(BEN), expires_at=datetime(2027, 1, day, tzinfo=UTC)) for day in range(1, 6)]

    for token in (*tokens, *tokens, caller_of(ZOE, OTHER_HOUSE)):
        counter.count(token, Operation.CREATE_GROUP)
    await counter.write()

    assert sorted(int(str(number)) for *_, number in await uses.estate.rows(ROWS)) == [1, 4]


async def test_uses_of_a_deleted_tenant_are_left_out(uses: Uses) -> None:
    uses.counter.count(caller_of(ZOE, OTHER_HOUSE), Operation.CREATE_GROUP)
    uses.counter.count(caller_of(BEN), Operation.CREATE_GROUP)
    await uses.estate.rows("DELETE FROM chamberlain.tenant WHERE tenant_id = $1", OTHER_HOUSE)

    await uses.counter.write()

    assert await uses.estate.rows(ROWS) == [(BEN, COLLAB, 1)]


async def test_the_report_has_30_days_and_retention_removes_older_ones(uses: Uses) -> None:
    now = uses.estate.moment
    for days in (0, 29, 30, 33):
        uses.estate.moment = now - days * DAY
        uses.counter.count(caller_of(BEN), Operation.CREATE_GROUP)
        await uses.counter.write()
    uses.estate.moment = now

    (ben,) = (await uses.report()).callers
    async with uses.estate.databases.worker.across_tenants() as tx:
        removed = await store.remove(tx, now - 32 * DAY, 100)

    assert [(use.count, use.last_used_at) for use in ben.used] == [(2, now)]
    assert removed == 1


async def test_the_directory_permissions_name_their_templates_and_policies(uses: Uses) -> None:
    report = await uses.report()

    needed = {each.permission: [(needer.kind, needer.id) for needer in each.needed_by] for each in report.directory}
    assert ("template", PROJECT_TEAM) in needed["TeamMember.ReadWrite.All"]
    assert {kind for kind, _ in needed["User.Read.All"]} == {"template", "policy"}
    assert len(needed["User.Read.All"]) > len(needed["GroupSettings.ReadWrite.All"]) > 0


async def test_only_administrators_read_it_and_of_their_tenant(uses: Uses) -> None:
    uses.counter.count(caller_of(ZOE, OTHER_HOUSE), Operation.CREATE_GROUP)
    await uses.counter.write()

    with pytest.raises(Forbidden):
        await uses.report(caller_of(BEN))
    assert (await uses.report()).callers == []


async def test_names_are_empty_while_the_directory_does_not_answer(uses: Uses) -> None:
    uses.counter.count(caller_of(BEN), Operation.CREATE_GROUP)
    await uses.counter.write()
    uses.estate.people.error = TryAgain(timedelta(seconds=1), "Away.")

    (ben,) = (await uses.report()).callers

    assert (ben.id, ben.display_name) == (BEN, "")


async def test_an_erased_user_has_no_counts(uses: Uses) -> None:
    uses.counter.count(caller_of(BEN), Operation.CREATE_GROUP)
    uses.counter.count(caller_of(ADA), Operation.CREATE_GROUP)
    await uses.counter.write()

    eraser = UserEraser(uses.estate.databases.worker)
    (erasure,) = await eraser.erase(BEN, ESTATE, actor=OPERATOR, trace_id=TRACE)

    assert erasure.others == 1
    assert await uses.estate.rows(ROWS) == [(ADA, COLLAB, 1)]
