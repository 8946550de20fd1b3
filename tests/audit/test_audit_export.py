# SPDX-License-Identifier: Apache-2.0
"""An export has all rows of its start, in parts, and holds no transaction between parts."""

from contextlib import aclosing

import pytest

from chamberlain.audit.models import AuditFilter, AuditRecord
from chamberlain.audit.service import AuditService
from chamberlain.audit.store import WINDOW
from chamberlain.auth.models import Caller
from chamberlain.core.errors import Forbidden
from chamberlain.core.ids import ClientId, TenantId
from chamberlain.core.paging import PageWanted
from tests.audit.audit_fixture import change, record, seal
from tests.estates import ADA, BEN, CLIENT, ESTATE, OTHER_HOUSE, Estate, caller_of
from tests.requests.request_services import administrator, application

ANY = AuditFilter()
FILL = """
INSERT INTO chamberlain.audit (tenant_id, action, trace_id, payload)
SELECT $1, 'test.fill', '', '{}' FROM generate_series(1, $2::integer)
"""
IN_TRANSACTION = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"


async def names(tenant_id: TenantId) -> dict[ClientId, str]:
    return {CLIENT: "chamberlain-cli"} if tenant_id == ESTATE else {}


def audit_service(estate: Estate) -> AuditService:
    database = estate.databases.application
    return AuditService(database, estate.authorization(), names)


async def export(estate: Estate, wanted: AuditFilter = ANY, caller: Caller | None = None) -> list[AuditRecord]:
    """All parts, one behind the other."""
    rows = await audit_service(estate).export(caller or administrator(ADA), wanted)
    return [row async for several in rows for row in several]


async def test_it_works(estate: Estate) -> None:
    await record(estate.databases, change("a.one"), change("a.two", actor=BEN))
    await seal(estate.databases)
    await record(estate.databases, change("a.three"))

    *_, one, two, three = await export(estate)

    assert [row.action for row in (one, two, three)] == ["a.one", "a.two", "a.three"]
    assert one.client is not None
    assert (one.client.id, one.client.display_name) == (CLIENT, "chamberlain-cli")
    assert (one.seal is None, three.seal is None) == (False, True)


async def test_it_gives_what_the_filter_names(estate: Estate) -> None:
    await record(estate.databases, change("a.one"), change("a.two", actor=BEN), change("a.one", actor=BEN))

    found = {
        "actor": await export(estate, AuditFilter(actor_id=BEN)),
        "both": await export(estate, AuditFilter(actor_id=BEN, action="a.one")),
        "nothing": await export(estate, AuditFilter(action="a.four")),
    }

    assert {name: [row.action for row in rows] for name, rows in found.items()} == {
        "actor": ["a.two", "a.one"],
        "both": ["a.one"],
        "nothing": [],
    }


@pytest.mark.parametrize("number", [WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW])
async def test_parts_meet(estate: Estate, number: int) -> None:
    before = len(await export(estate))
    await estate.rows(FILL, ESTATE, number - before)

    sequences = [row.sequence for row in await export(estate)]

    assert len(sequences) == number
    assert sequences == sorted(set(sequences))


async def test_nothing_is_open_between_two_parts_and_it_ends_where_it_began(estate: Estate) -> None:
    await estate.rows(FILL, ESTATE, 2 * WINDOW)

    service = audit_service(estate)
    async with aclosing(await service.export(administrator(ADA), AuditFilter(action="test.fill"))) as rows:
        first = await anext(rows)
        # The reader is slow, and the trail grows.
        ((open_,),) = await estate.rows(IN_TRANSACTION)
        await estate.rows(FILL, ESTATE, 2 * WINDOW)
        rest = [row async for several in rows for row in several]

    assert open_ == 0
    assert 0 < len(first) <= WINDOW
    assert len(first) + len(rest) == 2 * WINDOW


async def test_it_gives_nothing_of_another_tenant(estate: Estate) -> None:
    await record(estate.databases, change("a.one"), change("a.two", tenant_id=OTHER_HOUSE))

    theirs = await export(estate, caller=application("Mail.Config.ReadWrite.All", OTHER_HOUSE))

    assert {row.tenant_id for row in theirs} == {OTHER_HOUSE}
    assert "a.one" not in {row.action for row in theirs}


@pytest.mark.parametrize(
    "caller",
    [
        pytest.param(caller_of(ADA), id="administrator without the permission"),
        pytest.param(administrator(BEN), id="permission without being an administrator"),
        pytest.param(application("Collab.Manage.ReadWrite.All"), id="application that manages"),
    ],
)
async def test_it_rejects_who_may_not(estate: Estate, caller: Caller) -> None:
    service = audit_service(estate)

    with pytest.raises(Forbidden):
        await service.export(caller, ANY)
    with pytest.raises(Forbidden):
        await service.list(caller, ANY, PageWanted(50, None))
