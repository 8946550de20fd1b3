# SPDX-License-Identifier: Apache-2.0
"""Callers read how the service knows them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import TryAgain, Unauthenticated, Unavailable
from chamberlain.core.ids import TenantId
from chamberlain.me.models import MOST_TO_DECIDE, Me
from chamberlain.me.service import MeService
from chamberlain.requests.models import RequestState
from tests.databases import Databases
from tests.estates import ADA, BEN, CLEO, DARA, ESTATE, NOBODY, OTHER_HOUSE, ZOE, Estate, caller_of
from tests.requests.approval_fixture import any_of, open_approval_fixture, user
from tests.requests.request_services import application

SPEAK = "UPDATE directory.users SET properties = properties || $2::text::jsonb WHERE id = $1 RETURNING 1"
ASK = """
INSERT INTO chamberlain.request_approver (tenant_id, user_id, kind, created_at, request_id)
SELECT $1, $2, CASE n % 2 WHEN 0 THEN 'group' ELSE 'room' END, now(), gen_random_uuid() FROM generate_series(1, $3) n
RETURNING 1
"""


async def read(estate: Estate, caller: Caller) -> Me:
    service = MeService(estate.databases.application, estate.authorization(), estate.people)
    return await service.read(caller)


def powerless(caller: Caller) -> Caller:
    return replace(caller, permissions=frozenset())


async def test_it_works(databases: Databases) -> None:
    fixture = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await fixture.ask()
    await fixture.ask(name="Borealis")

    before = await read(fixture.estate, powerless(caller_of(DARA)))
    await fixture.approve(request_id, DARA)
    after = await read(fixture.estate, powerless(caller_of(DARA)))

    assert before == Me(
        caller=powerless(caller_of(DARA)),
        display_name="Dara Lindqvist",
        mail="dara@estate.example",
        tenant_name="Example Estate",
        is_administrator=False,
        language=None,
        to_decide=2,
    )
    assert after.to_decide == 1
    assert (await fixture.estate.record(request_id)).state is RequestState.QUEUED


async def test_administrators_are_marked(estate: Estate) -> None:
    assert (await read(estate, caller_of(ADA))).is_administrator
    assert not (await read(estate, caller_of(BEN))).is_administrator


async def test_an_application_has_a_name_of_the_identity_platform_at_most(estate: Estate) -> None:
    me = await read(estate, powerless(application("Mail.Manage.ReadWrite.All")))

    assert (me.display_name, me.mail, me.language) == ("", None, None)
    assert (me.is_administrator, me.to_decide, me.tenant_name) == (False, 0, "Example Estate")


async def test_the_language_is_that_of_the_directory(estate: Estate) -> None:
    await estate.rows(SPEAK, BEN, '{"preferredLanguage": "de-CH"}')

    assert (await read(estate, caller_of(BEN))).language == "de-CH"


async def test_a_user_who_is_not_in_the_directory_has_no_name(estate: Estate) -> None:
    me = await read(estate, caller_of(NOBODY))

    assert (me.display_name, me.mail, me.is_administrator) == ("", None, False)


async def test_open_decisions_are_counted_to_a_hundred_in_the_own_tenant(estate: Estate) -> None:
    await estate.rows(ASK, ESTATE, CLEO, 150)
    await estate.rows(ASK, OTHER_HOUSE, ZOE, 3)

    assert (await read(estate, caller_of(CLEO))).to_decide == MOST_TO_DECIDE
    assert (await read(estate, caller_of(ZOE, OTHER_HOUSE))).to_decide == 3
    assert (await read(estate, caller_of(BEN))).to_decide == 0


async def test_it_fails_while_the_directory_does_not_answer(estate: Estate) -> None:
    estate.people.error = TryAgain(timedelta(seconds=3), "The directory is away.")

    with pytest.raises(Unavailable) as refused:
        await read(estate, caller_of(BEN))

    assert (refused.value.code, refused.value.after) == ("overloaded", timedelta(seconds=3))


async def test_a_deleted_tenant_has_no_callers(estate: Estate) -> None:
    gone = TenantId(NOBODY)

    with pytest.raises(Unauthenticated) as refused:
        await read(estate, caller_of(BEN, gone))

    assert refused.value.code == "tokenInvalid"
