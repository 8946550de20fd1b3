# SPDX-License-Identifier: Apache-2.0
"""Submissions are written many at a time, and what is wrong with one of them is its own affair."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from chamberlain.auth.models import Actor, ActorType
from chamberlain.core.errors import BodyInvalid, Conflict, DatabaseUnavailable, Unavailable
from chamberlain.core.ids import ClientId, EventId, TemplateId
from chamberlain.database.transactions import Database, open_database
from chamberlain.embedded.directory.people import HELD_ADDRESSES
from chamberlain.requests.batcher import MOST_BYTES, MOST_TOGETHER, Acceptor
from chamberlain.requests.events import RequestSummary, approval_required
from chamberlain.requests.models import (
    AddressTaken,
    Draft,
    Replayed,
    RequestKind,
    RequestState,
    Reused,
    TemplateChanged,
    Verdict,
    Written,
)
from tests.databases import Databases
from tests.drafts import draft
from tests.estates import (
    ESTATE,
    OTHER_GROUP,
    OTHER_HOUSE,
    apply,
    changed_estate,
    counts,
    open_estate,
    rows,
    until,
)
from tests.postgres import connected

NOTHING = {"request": 0, "reservation": 0, "idempotency_key": 0, "job": 0, "audit": 0, "event": 0}
MOMENT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


@pytest.fixture
async def prepared(databases: Databases) -> Databases:
    """The tenants and templates of the example estate."""
    await apply(databases, changed_estate())
    return databases


@asynccontextmanager
async def two_processes(databases: Databases) -> AsyncIterator[tuple[Acceptor, Acceptor]]:
    """The acceptors of two processes: each has its own connections."""
    other = await open_database(databases.addresses.application, most=5, name="other process")
    try:
        yield Acceptor(databases.application), Acceptor(other)
    finally:
        await other.close()


async def accept_all(acceptors: Sequence[Acceptor], drafts: Sequence[Draft]) -> list[Verdict | BaseException]:
    """Hand all of them over in the same moment, to each acceptor in turn."""
    calls = [acceptors[index % len(acceptors)].accept(each) for index, each in enumerate(drafts)]
    return await asyncio.gather(*calls, return_exceptions=True)


async def test_it_works(prepared: Databases) -> None:
    one = draft("apollo", key="k1")

    verdict = await Acceptor(prepared.application).accept(one)

    assert verdict == Written()
    assert await counts(prepared) == {
        **NOTHING,
        "request": 1,
        "reservation": 1,
        "idempotency_key": 1,
        "job": 1,
        "audit": 1,
    }
    ((state, nickname, address),) = await rows(
        prepared, "SELECT state, mail_nickname, address FROM chamberlain.request"
    )
    assert (state, nickname, address) == ("queued", "apollo", "apollo@estate.example")
    assert await rows(prepared, "SELECT subject, kind FROM chamberlain.job") == [(one.request_id, "groupProvision")]


async def test_an_event_is_written_with_a_request_that_waits_for_approval(prepared: Databases) -> None:
    one = draft()
    summary = RequestSummary(
        one.request_id, ESTATE, RequestKind.GROUP, RequestState.PENDING_APPROVAL, "apollo", None, one.change.actor
    )
    event = approval_required(EventId(uuid4()), summary, level=1, approvers=(), now=MOMENT)
    waiting = replace(
        one,
        state=RequestState.PENDING_APPROVAL,
        approval_required=True,
        job=None,
        change=replace(one.change, event=event),
    )

    verdict = await Acceptor(prepared.application).accept(waiting)

    assert verdict == Written()
    assert await counts(prepared) == {**NOTHING, "request": 1, "reservation": 1, "audit": 1, "event": 1}


async def test_it_rejects_the_bad_ones_of_a_batch_and_nothing_else(prepared: Databases) -> None:
    acceptor = Acceptor(prepared.application)
    await acceptor.accept(draft("taken"))
    drafts = [draft(f"group-{number}") for number in range(64)]
    drafts[17] = replace(drafts[17], display_name="with a \x00 in it")
    drafts[18] = replace(drafts[18], display_name="another with a \x00 in it")
    drafts[40] = draft("taken")

    verdicts = await accept_all([acceptor], drafts)

    assert [type(each) for each in verdicts].count(Written) == 61
    for refused in verdicts[17:19]:
        assert isinstance(refused, BodyInvalid)
        assert refused.faults[0].code == "invalidText"
    assert isinstance(verdicts[40], AddressTaken)
    assert await counts(prepared) == {**NOTHING, "request": 62, "reservation": 62, "job": 62, "audit": 62}


async def test_a_body_that_is_no_json_is_a_bug_and_spoils_only_itself(prepared: Databases) -> None:
    drafts = [draft(f"group-{number}") for number in range(8)]
    drafts[3] = replace(drafts[3], body=b'{"displayName": ')

    verdicts = await accept_all([Acceptor(prepared.application)], drafts)

    assert isinstance(verdicts[3], asyncpg.InvalidTextRepresentationError)
    assert [type(each) for each in verdicts].count(Written) == 7
    assert (await counts(prepared))["request"] == 7


async def test_fifty_equal_ones_with_one_key_at_two_processes_are_one(prepared: Databases) -> None:
    drafts = [draft("apollo", second=True, key="k1") for _ in range(50)]

    async with two_processes(prepared) as acceptors:
        verdicts = await accept_all(acceptors, drafts)

    (winner,) = [each for each, verdict in zip(drafts, verdicts, strict=True) if verdict == Written()]
    assert Counter(map(repr, verdicts)) == {
        repr(Written()): 1,
        repr(Replayed(winner.request_id, approval_required=False)): 49,
    }
    assert await counts(prepared) == {
        **NOTHING,
        "request": 1,
        "reservation": 1,
        "idempotency_key": 1,
        "job": 1,
        "audit": 1,
    }


async def test_it_rejects_a_key_that_was_used_for_something_else(prepared: Databases) -> None:
    acceptor = Acceptor(prepared.application)

    together = await accept_all([acceptor], [draft("one", key="k1"), draft("two", key="k1", digest=b"other")])
    later = await acceptor.accept(draft("three", key="k1", digest=b"third"))

    assert together == [Written(), Reused()]
    assert later == Reused()
    assert (await counts(prepared))["reservation"] == 1


async def test_a_key_belongs_to_its_client_and_caller(prepared: Databases) -> None:
    mine, other_client, other_caller = (draft(name, key="k1", digest=name.encode()) for name in ("one", "two", "three"))
    other_client = replace(other_client, change=replace(other_client.change, client_id=ClientId("another")))
    other_actor = Actor(ActorType.USER, UUID(int=7), "Another")
    other_caller = replace(other_caller, change=replace(other_caller.change, actor=other_actor))

    verdicts = await accept_all([Acceptor(prepared.application)], [mine, other_client, other_caller])

    assert verdicts == [Written()] * 3


async def test_of_two_hundred_at_one_address_one_gets_it(prepared: Databases) -> None:
    drafts = [draft("apollo", key=f"k{number}") for number in range(200)]

    async with two_processes(prepared) as acceptors:
        verdicts = await accept_all(acceptors, drafts)

    assert Counter(map(repr, verdicts)) == {repr(Written()): 1, repr(AddressTaken()): 199}
    assert await counts(prepared) == {
        **NOTHING,
        "request": 1,
        "reservation": 1,
        "idempotency_key": 1,
        "job": 1,
        "audit": 1,
    }


async def test_those_that_have_a_second_address_get_that_one(prepared: Databases) -> None:
    drafts = [draft("Apollo", second=True) for _ in range(200)]

    async with two_processes(prepared) as acceptors:
        verdicts = await accept_all(acceptors, drafts)

    addresses = await rows(prepared, "SELECT request_id, address, mail_nickname FROM chamberlain.request")
    second = {(each.request_id, each.addresses[1].mail, each.addresses[1].mail_nickname) for each in drafts}
    assert verdicts == [Written()] * 200
    assert len(second.intersection(addresses)) == 199
    assert (await counts(prepared))["reservation"] == 200


async def test_the_key_of_a_refused_one_is_given_back(prepared: Databases) -> None:
    acceptor = Acceptor(prepared.application)
    await acceptor.accept(draft("taken"))

    refused = await accept_all([acceptor], [draft("taken", key="k1"), draft("taken", key="k1")])
    again = await acceptor.accept(draft("free", key="k1", digest=b"other"))

    assert [type(each) for each in refused] == [AddressTaken, AddressTaken]
    assert again == Written()


async def test_it_rejects_what_was_checked_against_another_template_or_tenant(prepared: Databases) -> None:
    stale_template = replace(draft("one", key="k1"), template_revision=2)
    stale_tenant = replace(draft("two"), tenant_revision=7)
    unknown = replace(draft("three"), template_id=TemplateId(UUID(int=9)))

    verdicts = await accept_all(
        [Acceptor(prepared.application)], [stale_template, stale_tenant, unknown, draft("four")]
    )

    assert verdicts == [TemplateChanged(), TemplateChanged(), TemplateChanged(), Written()]
    assert await counts(prepared) == {**NOTHING, "request": 1, "reservation": 1, "job": 1, "audit": 1}


@pytest.mark.parametrize(
    "stale",
    [
        pytest.param(replace(draft("one"), template_revision=2), id="template"),
        pytest.param(replace(draft("one"), tenant_revision=7), id="tenant"),
        pytest.param(replace(draft("one"), template_id=TemplateId(UUID(int=9))), id="unknown template"),
        pytest.param(replace(draft("one"), template_id=OTHER_GROUP), id="template of another tenant"),
    ],
)
async def test_it_rejects_an_outdated_draft_that_comes_alone(prepared: Databases, stale: Draft) -> None:
    assert await Acceptor(prepared.application).accept(stale) == TemplateChanged()
    assert await counts(prepared) == NOTHING


async def test_an_outdated_draft_leaves_its_key_to_the_next(prepared: Databases) -> None:
    stale = replace(draft("one", key="k1"), template_revision=2)
    good = draft("two", key="k1")

    verdicts = await accept_all([Acceptor(prepared.application)], [stale, good])

    assert verdicts == [Replayed(good.request_id, approval_required=False), Written()]


async def test_two_tenants_in_one_batch_have_names_and_keys_of_their_own(prepared: Databases) -> None:
    drafts = [draft("apollo", key="k1", tenant=tenant, digest=str(tenant).encode()) for tenant in (OTHER_HOUSE, ESTATE)]

    verdicts = await accept_all([Acceptor(prepared.application)], [*drafts, draft("apollo", tenant=OTHER_HOUSE)])

    assert verdicts == [Written(), Written(), AddressTaken()]
    assert set(await rows(prepared, "SELECT tenant_id FROM chamberlain.audit WHERE request_id IS NOT NULL")) == {
        (ESTATE,),
        (OTHER_HOUSE,),
    }


async def test_large_bodies_are_written_alone(prepared: Databases) -> None:
    sizes: list[int] = []
    acceptor = Acceptor(prepared.application, observe=sizes.append)
    large = b'{"displayName": "%s"}' % (b"x" * MOST_BYTES)
    drafts = [draft(f"group-{number}") for number in range(4)]
    drafts[2] = replace(drafts[2], body=large)

    verdicts = await accept_all([acceptor], drafts)
    await acceptor.close()

    assert verdicts == [Written()] * 4
    assert sizes == [2, 1, 1]


@asynccontextmanager
async def held_name(databases: Databases, name: str) -> AsyncIterator[None]:
    """Take a name in a transaction that is not committed."""
    async with connected(databases.addresses.worker) as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(
            "INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id) VALUES ($1, 'address', $2, $3)",
            ESTATE,
            f"{name}@estate.example",
            uuid4(),
        )
        yield
        await transaction.rollback()


async def test_whoever_wants_a_name_that_is_being_taken_waits_alone(prepared: Databases) -> None:
    acceptor = Acceptor(prepared.application)
    async with held_name(prepared, "held"):
        waiting = asyncio.create_task(acceptor.accept(draft("held")))
        others = await accept_all([acceptor], [draft(f"group-{number}") for number in range(20)])
        still_waits = not waiting.done()

    assert others == [Written()] * 20
    assert still_waits
    assert await waiting == Written()


async def test_however_many_want_that_name_nobody_else_waits_for_it(prepared: Databases) -> None:
    """A look at a name that is held takes 50 ms: two for each of so many would take all the patience there is."""
    acceptor = Acceptor(prepared.application)
    async with held_name(prepared, "held"):
        waiting = [asyncio.create_task(acceptor.accept(draft("held"))) for _ in range(MOST_TOGETHER - 1)]
        others = await accept_all([acceptor], [draft("together")])
        later = [asyncio.create_task(acceptor.accept(draft("held"))) for _ in range(MOST_TOGETHER)]
        others += await accept_all([acceptor], [draft(f"group-{number}") for number in range(20)])
        still_wait = not any(task.done() for task in (*waiting, *later))

    verdicts = await asyncio.gather(*waiting, *later)
    assert others == [Written()] * 21
    assert still_wait
    assert (verdicts.count(Written()), verdicts.count(AddressTaken())) == (1, 2 * MOST_TOGETHER - 2)


async def test_it_rejects_a_caller_who_has_waited_long_enough_for_a_name(prepared: Databases) -> None:
    acceptor = Acceptor(prepared.application, patience=timedelta(milliseconds=100))

    async with held_name(prepared, "held"):
        verdicts = await accept_all([acceptor], [draft("held"), draft("held", key="k1"), draft("free")])

    assert isinstance(verdicts[0], Unavailable)
    assert isinstance(verdicts[1], Conflict)
    assert verdicts[1].code == "idempotencyKeyInProgress"
    assert verdicts[2] == Written()
    assert await counts(prepared) == {**NOTHING, "request": 1, "reservation": 1, "job": 1, "audit": 1}


async def test_it_handles_a_lost_connection(prepared: Databases) -> None:
    acceptor = Acceptor(prepared.application)
    async with held_name(prepared, "held"), connected(prepared.addresses.application) as another:
        waiting = [asyncio.create_task(acceptor.accept(draft(name))) for name in ("held", "free")]
        await until(lambda: rows(prepared, "SELECT FROM pg_locks WHERE NOT granted"))
        ended = await another.fetchval(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE application_name = 'test application' AND datname = current_database()"
        )
        answers = await asyncio.gather(*waiting, return_exceptions=True)

    assert ended >= 1
    assert [type(each) for each in answers] == [DatabaseUnavailable, DatabaseUnavailable]
    assert await counts(prepared) == NOTHING
    assert await acceptor.accept(draft("free")) == Written()


async def test_it_handles_a_server_that_is_not_there() -> None:
    database: Database = await open_database("postgresql://127.0.0.1:1/nowhere", most=1, name="test")

    with pytest.raises(DatabaseUnavailable):
        await Acceptor(database).accept(draft())

    await database.close()


async def test_it_rejects_addresses_that_the_directory_has_given_away(databases: Databases) -> None:
    await open_estate(databases)
    acceptor = Acceptor(databases.application, held_addresses=HELD_ADDRESSES)
    asking = [replace(draft(name), ask_addresses=True) for name in ("apollo", "ada", "ALL-Staff", "artemis")]
    elsewhere = replace(draft("ben", tenant=OTHER_HOUSE), ask_addresses=True)
    known = draft("cleo")

    verdicts = await accept_all([acceptor], [*asking, elsewhere, known])

    free, taken = Written(), AddressTaken()
    assert verdicts == [free, taken, taken, free, free, free]


async def test_a_draft_that_asks_takes_no_address_that_nobody_asked_for(databases: Databases) -> None:
    await open_estate(databases)
    acceptor = Acceptor(databases.application, held_addresses=HELD_ADDRESSES)
    await acceptor.accept(draft("apollo"))

    asking = await acceptor.accept(replace(draft("apollo", second=True), ask_addresses=True))
    knowing = await acceptor.accept(draft("apollo", second=True))

    assert (asking, knowing) == (AddressTaken(), Written())


async def test_a_key_is_replayed_although_the_directory_has_its_group_by_now(databases: Databases) -> None:
    await open_estate(databases)
    acceptor = Acceptor(databases.application, held_addresses=HELD_ADDRESSES)
    first = draft("ada", key="k1")
    # As if its group were there: every caller gets a conflict for the address.
    await acceptor.accept(first)

    again = await acceptor.accept(replace(draft("ada", key="k1"), ask_addresses=True))

    assert again == Replayed(first.request_id, approval_required=False)
