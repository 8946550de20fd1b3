# SPDX-License-Identifier: Apache-2.0
"""Substitutes decide for approvers: how long, on which requests, and how records name them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from chamberlain.auth.models import ActorType
from chamberlain.core.errors import Conflict, Forbidden, NotFound, NotPossible, TryAgain, Unavailable
from chamberlain.core.ids import UserId
from chamberlain.directory.models import NamedPerson
from chamberlain.requests.wire import approval_of
from chamberlain.substitutes import records
from chamberlain.substitutes.models import LONGEST, Naming, Substitution
from chamberlain.substitutes.rules import require_end
from tests.databases import Databases
from tests.estates import ADA, BEN, CLEO, DARA, ESTATE, NOBODY, OTHER_HOUSE, ZOE, caller_of
from tests.requests.approval_fixture import (
    BOARD,
    MANAGER,
    Rule,
    all_of,
    any_of,
    group,
    user,
    view_of,
)
from tests.requests.request_services import administrator
from tests.substitutes.substitute_fixture import open_substitute_fixture

ELI = UserId(UUID("e1100000-0000-4000-8000-000000000005"))
GUEST = UserId(UUID("9e570000-0000-4000-8000-000000000001"))


async def test_it_works(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    request_id = await it.approvals.ask()
    await it.name(DARA, BEN)
    await it.approvals.look()

    answer = await it.approvals.approve(request_id, BEN)

    assert answer.body == b'{"state": "queued", "actions": 0}'
    (level,) = await it.approvals.levels(request_id)
    (decision,) = level.decisions
    assert (decision.by.id, decision.on_behalf_of) == (BEN, NamedPerson(DARA, "Dara Lindqvist"))
    assert (await it.approvals.audit(request_id))[-1] == (
        "request.approve",
        {"state": "queued", "level": 1, "onBehalfOf": {"id": str(DARA), "displayName": "Dara Lindqvist"}},
    )
    shown = approval_of(level)
    assert [(each.id, each.approver_id) for each in shown.substitutes] == [(BEN, DARA)]
    assert shown.decisions[0].on_behalf_of is not None
    assert shown.decisions[0].on_behalf_of.display_name == "Dara Lindqvist"


async def test_a_substitute_sees_the_requests_that_wait(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    request_id = await it.approvals.ask()
    with pytest.raises(NotFound):
        await view_of(it.approvals, request_id, BEN)

    await it.name(DARA, BEN)
    await it.approvals.look()

    assert await it.lists(BEN) == [request_id]
    assert (await view_of(it.approvals, request_id, BEN)).actions == ("approve", "reject")
    assert await it.lists(DARA) == [request_id]
    assert await it.approvals.told(request_id) == ["pendingApproval", "level 1 pending"]


async def test_a_request_that_comes_later_has_the_substitute_at_once(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(CLEO)), any_of(user(DARA)))
    await it.name(DARA, BEN)
    request_id = await it.approvals.ask()
    await it.approvals.look()
    await it.approvals.approve(request_id, CLEO)

    await it.approvals.look()
    # The approver of the second level was not known before the first look.
    await it.approvals.look()

    assert await it.substituted(request_id, 2) == [(BEN, DARA)]


async def test_the_approver_decides_as_well_and_the_first_decision_counts(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    request_id = await it.approvals.ask()
    await it.name(DARA, BEN)
    await it.approvals.look()
    await it.approvals.approve(request_id, DARA)

    with pytest.raises(Conflict) as caught:
        await it.approvals.reject(request_id, BEN)

    assert caught.value.code == "stateDoesNotAllow"
    ((decision,),) = [level.decisions for level in await it.approvals.levels(request_id)]
    assert (decision.by.id, decision.on_behalf_of) == (DARA, None)


async def test_a_manager_has_a_substitute(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(MANAGER))
    await it.name(BEN, ELI)
    request_id = await it.approvals.ask(caller_of(CLEO))

    await it.approvals.look()

    assert await it.substituted(request_id) == [(ELI, BEN)]


@pytest.mark.parametrize(
    ("level", "found"),
    [
        pytest.param(any_of(group(BOARD)), [], id="a group"),
        pytest.param(any_of(group(BOARD), user(DARA)), [(ELI, DARA)], id="a group, and by name as well"),
    ],
)
async def test_members_of_a_group_have_none(
    databases: Databases, level: Rule, found: list[tuple[UserId, UserId]]
) -> None:
    it = await open_substitute_fixture(databases, level, groups={BOARD: [BEN, DARA]})
    await it.name(DARA, ELI)
    request_id = await it.approvals.ask()

    await it.approvals.look()

    assert await it.substituted(request_id) == found


async def test_a_substitute_does_not_decide_an_own_request(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(DARA, BEN)
    request_id = await it.approvals.ask(caller_of(BEN))
    await it.approvals.look()

    with pytest.raises(Forbidden) as caught:
        await it.approvals.approve(request_id, BEN)

    assert caught.value.code == "selfApproval"
    assert await it.substituted(request_id) == []


async def test_a_substitute_does_not_decide_a_request_of_an_approver(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(CLEO, BEN)
    await it.name(DARA, BEN)
    request_id = await it.approvals.ask(caller_of(CLEO))

    await it.approvals.look()

    assert await it.substituted(request_id) == []
    with pytest.raises(NotFound):
        await it.approvals.approve(request_id, BEN)


async def test_a_requester_who_names_the_substitute_later_is_protected_as_well(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(DARA, BEN)
    request_id = await it.approvals.ask(caller_of(CLEO))
    await it.approvals.look()
    await it.name(CLEO, BEN)

    with pytest.raises(Forbidden) as caught:
        await it.approvals.approve(request_id, BEN)

    assert caught.value.code == "selfApproval"


async def test_a_substitute_names_no_further_one(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(DARA, BEN)
    await it.name(BEN, CLEO)
    request_id = await it.approvals.ask()

    await it.approvals.look()

    assert await it.substituted(request_id) == [(BEN, DARA)]
    with pytest.raises(NotFound):
        await it.approvals.approve(request_id, CLEO)


async def test_an_approver_of_the_level_is_no_substitute_there(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, all_of(user(DARA), user(BEN)))
    await it.name(DARA, BEN)
    request_id = await it.approvals.ask()
    await it.approvals.look()
    await it.approvals.approve(request_id, BEN)

    with pytest.raises(Conflict):
        await it.approvals.approve(request_id, BEN)

    (level,) = await it.approvals.levels(request_id)
    assert (level.state, level.substitutes) == ("pending", ())


async def test_a_substitute_of_two_approvers_decides_once(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, all_of(user(DARA), user(CLEO)))
    await it.name(DARA, BEN)
    await it.name(CLEO, BEN)
    request_id = await it.approvals.ask()
    await it.approvals.look()
    await it.approvals.approve(request_id, BEN)

    with pytest.raises(Conflict):
        await it.approvals.approve(request_id, BEN)

    assert await it.lists(BEN) == []
    (level,) = await it.approvals.levels(request_id)
    (decision,) = level.decisions
    represented = decision.on_behalf_of
    assert represented is not None
    (left,) = {DARA, CLEO} - {represented.id}
    await it.approvals.approve(request_id, left)
    assert (await it.approvals.estate.record(request_id)).state == "queued"


async def test_a_substitute_who_was_withdrawn_decides_nothing_at_once(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(DARA, BEN)
    request_id = await it.approvals.ask()
    await it.approvals.look()

    await it.withdraw(DARA)

    with pytest.raises(Forbidden) as caught:
        await it.approvals.approve(request_id, BEN)
    assert caught.value.code == "notApprover"
    await it.approvals.look()
    assert await it.lists(BEN) == []
    with pytest.raises(NotFound):
        await it.approvals.approve(request_id, BEN)


async def test_a_substitution_ends_by_itself(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(DARA, BEN, days=1)
    request_id = await it.approvals.ask()
    await it.approvals.look()

    await it.approvals.wait_for(timedelta(days=1))

    with pytest.raises(Forbidden) as caught:
        await it.approvals.approve(request_id, BEN)
    assert caught.value.code == "notApprover"
    await it.approvals.look()
    assert await it.substituted(request_id) == []
    assert (await it.substitutes.read(caller_of(DARA))).substitute is None


async def test_an_approver_who_has_left_is_represented_no_more(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA), user(CLEO)))
    await it.name(DARA, BEN)
    request_id = await it.approvals.ask()
    await it.approvals.look()
    await it.approvals.leave(DARA)

    with pytest.raises(Forbidden) as caught:
        await it.approvals.approve(request_id, BEN)

    assert caught.value.code == "notApprover"


async def test_a_member_who_leaves_the_group_gets_no_substitute(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(group(BOARD)), groups={BOARD: [CLEO, DARA]})
    await it.name(DARA, BEN)
    request_id = await it.approvals.ask()
    await it.approvals.estate.rows(
        "DELETE FROM directory.memberships WHERE group_id = $1 AND member_id = $2 RETURNING 1", BOARD, DARA
    )

    await it.approvals.look()

    assert sorted(await it.approvals.approvers(request_id)) == sorted([CLEO, DARA])
    assert await it.substituted(request_id) == []


async def test_an_approver_whom_an_administrator_named_has_a_substitute(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(group(BOARD)), groups={BOARD: []})
    await it.name(DARA, BEN)
    request_id = await it.approvals.ask()
    await it.approvals.name_approvers(request_id, administrator(ADA), DARA)
    # A member of now was not found as one.
    await it.approvals.join({BOARD: [DARA]})

    await it.approvals.look_again()
    await it.approvals.look()

    assert await it.substituted(request_id) == [(BEN, DARA)]


async def test_a_substitute_of_two_approvers_decides_for_the_one_who_is_left(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA), user(CLEO)))
    await it.name(DARA, BEN)
    await it.name(CLEO, BEN)
    request_id = await it.approvals.ask()
    await it.approvals.look()
    assert await it.substituted(request_id) == [(BEN, CLEO), (BEN, DARA)]

    await it.approvals.leave(CLEO)
    await it.approvals.approve(request_id, BEN)

    ((decision,),) = [level.decisions for level in await it.approvals.levels(request_id)]
    assert decision.on_behalf_of == NamedPerson(DARA, "Dara Lindqvist")


async def test_a_substitute_of_two_approvers_decides_for_the_one_who_has_not_withdrawn(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA), user(CLEO)))
    await it.name(DARA, BEN)
    await it.name(CLEO, BEN)
    request_id = await it.approvals.ask()
    await it.approvals.look()

    await it.withdraw(CLEO)
    await it.approvals.approve(request_id, BEN)

    ((decision,),) = [level.decisions for level in await it.approvals.levels(request_id)]
    assert decision.on_behalf_of == NamedPerson(DARA, "Dara Lindqvist")


async def test_the_substitute_of_an_approver_who_has_left_is_asked_no_more(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA), user(CLEO)))
    await it.name(DARA, BEN)
    request_id = await it.approvals.ask()
    await it.approvals.look()
    await it.approvals.leave(DARA)

    await it.approvals.look_again()

    assert await it.substituted(request_id) == []
    assert await it.lists(BEN) == []


async def test_a_substitute_who_has_left_decides_nothing(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(DARA, BEN)
    request_id = await it.approvals.ask()
    await it.approvals.look()
    await it.approvals.leave(BEN)

    with pytest.raises(Forbidden) as caught:
        await it.approvals.approve(request_id, BEN)

    assert caught.value.code == "notApprover"
    await it.approvals.look_again()
    assert await it.substituted(request_id) == []


async def test_a_substitution_lasts_until_its_last_millisecond(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(DARA, BEN, days=60)
    first, second = [await it.approvals.ask(name=name) for name in ("First", "Second")]
    await it.approvals.look()

    it.approvals.estate.moment += timedelta(days=60) - timedelta(milliseconds=1)
    await it.approvals.approve(first, BEN)
    it.approvals.estate.moment += timedelta(milliseconds=1)

    with pytest.raises(Forbidden):
        await it.approvals.approve(second, BEN)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia"])
@pytest.mark.parametrize("month", [2, 9])
async def test_sixty_days_fit_where_summer_time_changes(databases: Databases, zone: str, month: int) -> None:
    now = datetime(2027, month, 20, 12, tzinfo=UTC)
    longest = Substitution(DARA, BEN, now + LONGEST)

    async def save(substitution: Substitution) -> None:
        async with databases.application.transaction(ESTATE) as tx:
            await tx.execute("SELECT set_config('TimeZone', $1, true)", zone)
            await records.save(tx, substitution, now)

    await save(longest)
    with pytest.raises(asyncpg.CheckViolationError):
        await save(replace(longest, until=longest.until + timedelta(milliseconds=1)))

    async with databases.application.transaction(ESTATE) as tx:
        assert await records.find_of_user(tx, DARA, now) == (longest,)


async def test_it_shows_both_sides(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(DARA, BEN, days=60)
    await it.name(CLEO, DARA, days=1)

    found = await it.substitutes.read(caller_of(DARA))

    moment = it.approvals.estate.moment
    assert found.substitute is not None
    assert (found.substitute.person.id, found.substitute.until) == (BEN, moment + timedelta(days=60))
    assert [(each.person.id, each.until) for each in found.decides_for] == [(CLEO, moment + timedelta(days=1))]
    assert [each.person.id for each in (await it.substitutes.read(caller_of(BEN))).decides_for] == [DARA]


async def test_another_name_replaces_the_substitute(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    request_id = await it.approvals.ask()
    await it.name(DARA, BEN)
    await it.approvals.look()

    await it.name(DARA, ELI)
    await it.approvals.look()

    assert await it.substituted(request_id) == [(ELI, DARA)]
    assert (await it.substitutes.read(caller_of(BEN))).decides_for == ()


@pytest.mark.parametrize(
    ("who", "code"), [(DARA, "ruleInvalid"), (GUEST, "ruleInvalid"), (NOBODY, "userUnknown"), (ZOE, "userUnknown")]
)
async def test_it_refuses_oneself_guests_and_unknown_users(databases: Databases, who: UserId, code: str) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))

    with pytest.raises(NotPossible) as caught:
        await it.name(DARA, who)

    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [("/userId", code)]


@pytest.mark.parametrize(
    ("wait", "is_possible"),
    [
        (timedelta(0), False),
        (timedelta(milliseconds=-1), False),
        (timedelta(milliseconds=1), True),
        (timedelta(days=60), True),
        (timedelta(days=60, milliseconds=1), False),
    ],
)
def test_it_ends_within_sixty_days(wait: timedelta, *, is_possible: bool) -> None:
    now = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)

    if is_possible:
        require_end(Naming(BEN, now + wait), now=now)
    else:
        with pytest.raises(NotPossible) as caught:
            require_end(Naming(BEN, now + wait), now=now)
        assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [("/until", "ruleInvalid")]


async def test_it_refuses_applications(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))

    with pytest.raises(Forbidden) as caught:
        await it.substitutes.read(replace(caller_of(DARA), type=ActorType.APPLICATION))

    assert caught.value.code == "applicationNotSupported"


async def test_it_names_nobody_while_the_directory_does_not_answer(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    it.approvals.estate.people.error = TryAgain(timedelta(seconds=3), "It is busy.")

    with pytest.raises(Unavailable):
        await it.name(DARA, BEN)

    it.approvals.estate.people.error = None
    assert (await it.substitutes.read(caller_of(DARA))).substitute is None


async def test_the_audit_trail_has_both_changes(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(DARA, BEN)
    await it.withdraw(DARA)
    await it.withdraw(DARA)

    rows = await it.approvals.estate.rows(
        "SELECT action, payload -> 'after' ->> 'userId', payload -> 'before' ->> 'userId', "
        "payload -> 'subject' ->> 'id', payload -> 'subject' ->> 'displayName' "
        "FROM chamberlain.audit WHERE action LIKE 'substitute.%' ORDER BY sequence"
    )

    assert [tuple(row) for row in rows] == [
        ("substitute.name", str(BEN), None, str(BEN), "Ben Okafor"),
        ("substitute.withdraw", None, str(BEN), str(BEN), "Ben Okafor"),
    ]


async def test_another_tenant_has_substitutes_of_its_own(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(DARA, BEN)
    rows = await it.approvals.estate.rows("SELECT tenant_id FROM chamberlain.substitute")

    found = await it.substitutes.read(caller_of(ZOE, OTHER_HOUSE))

    assert [tenant_id for (tenant_id,) in rows] == [ESTATE]
    assert found.decides_for == ()
    assert await it.lists(ADA) == []
