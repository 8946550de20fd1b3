# SPDX-License-Identifier: Apache-2.0
"""Keys of calls whose answer is kept: one does the work, the others wait for it and get what it answered."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from chamberlain.core.errors import Conflict, KeyReused
from chamberlain.core.idempotency import IdempotencyKey, KeptAnswer
from chamberlain.core.ids import ClientId
from chamberlain.http import idempotency
from tests.databases import Databases
from tests.estates import ADA, ESTATE, OTHER_HOUSE, caller_of, rows, until

KEY = IdempotencyKey("k1", b"digest")
ANSWER = '{"said": "žluťoučký \\u0001"}'.encode()


async def answer() -> bytes:
    return ANSWER


async def fail() -> bytes:
    raise Conflict("stateDoesNotAllow", "No.")


async def test_it_works(databases: Databases) -> None:
    answers = []
    for _ in range(2):
        async with databases.application.transaction(ESTATE) as tx:
            answers.append(await idempotency.once(tx, caller_of(ADA), KEY, answer))

    assert answers == [KeptAnswer(ANSWER), KeptAnswer(ANSWER, replayed=True)]


async def test_without_a_key_nothing_is_kept(databases: Databases) -> None:
    async with databases.application.transaction(ESTATE) as tx:
        await idempotency.once(tx, caller_of(ADA), None, answer)

    assert await rows(databases, "SELECT FROM chamberlain.idempotency_key") == []


async def test_a_key_belongs_to_tenant_client_and_caller(databases: Databases) -> None:
    callers = [
        caller_of(ADA),
        caller_of(ADA, OTHER_HOUSE),
        replace(caller_of(ADA), client_id=ClientId("another")),
        replace(caller_of(ADA), id=ESTATE),
    ]
    for caller in callers:
        async with databases.application.transaction(caller.tenant_id) as tx:
            assert not (await idempotency.once(tx, caller, KEY, answer)).replayed


async def test_it_rejects_a_key_of_something_else(databases: Databases) -> None:
    async with databases.application.transaction(ESTATE) as tx:
        await idempotency.once(tx, caller_of(ADA), KEY, answer)

    with pytest.raises(KeyReused):
        async with databases.application.transaction(ESTATE) as tx:
            await idempotency.once(tx, caller_of(ADA), IdempotencyKey("k1", b"another"), answer)


async def test_what_is_refused_gives_the_key_back(databases: Databases) -> None:
    with pytest.raises(Conflict):
        async with databases.application.transaction(ESTATE) as tx:
            await idempotency.once(tx, caller_of(ADA), KEY, fail)

    async with databases.application.transaction(ESTATE) as tx:
        assert not (await idempotency.once(tx, caller_of(ADA), KEY, answer)).replayed


async def test_a_second_call_waits_for_the_first(databases: Databases) -> None:
    async def second() -> KeptAnswer:
        async with databases.application.transaction(ESTATE) as tx:
            return await idempotency.once(tx, caller_of(ADA), KEY, fail)

    async with databases.application.transaction(ESTATE) as tx:
        await idempotency.claim(tx, caller_of(ADA), KEY)
        waiting = asyncio.create_task(second())
        await until(lambda: rows(databases, "SELECT FROM pg_locks WHERE NOT granted"))
        await idempotency.keep(tx, caller_of(ADA), KEY, ANSWER)

    assert await waiting == KeptAnswer(ANSWER, replayed=True)


async def test_it_rejects_a_second_call_when_the_first_takes_too_long(databases: Databases) -> None:
    async with databases.application.transaction(ESTATE) as tx:
        await idempotency.claim(tx, caller_of(ADA), KEY)

        with pytest.raises(Conflict) as caught:
            async with databases.application.transaction(ESTATE) as other:
                await idempotency.claim(other, caller_of(ADA), KEY, wait=timedelta(milliseconds=50))

    assert (caught.value.code, caught.value.after) == ("idempotencyKeyInProgress", timedelta(seconds=1))
