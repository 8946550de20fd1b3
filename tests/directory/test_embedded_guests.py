# SPDX-License-Identifier: Apache-2.0
"""Guest rules in the embedded directory: at once, step by step, and without a database."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.app.directory import make_guests
from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.database.transactions import Database, open_database
from chamberlain.directory.embedded.guests import EmbeddedGuests, FaultyGuests
from chamberlain.directory.port import GuestOutcome, Work
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import remaining_of_subject
from chamberlain.embedded.directory import guests
from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.faults import NOT_FOUND, NOT_SHOWN, TOO_MANY, Faults, Injection, Outages
from chamberlain.settings import Settings
from tests.databases import Databases
from tests.directory.conftest import faulty_guests
from tests.directory.guest_work import (
    ASSIGNMENTS,
    EXTENSION,
    NO_GUESTS,
    NO_GUESTS_TEMPLATE,
    assign,
    reference,
    subject_of,
    summary,
)
from tests.directory.retries import Clock
from tests.directory.sample_directory import ADA, GIL, HANA, HANDBOOK, PARTNERS, TENANT, VISITORS

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
HOURLY = Outages(lasting=HOUR, every=2 * HOUR)
CLEAR, FORBID, PARTNERS_ONLY, NOT_RIVALS, _ = ASSIGNMENTS


def guests_on(database: Database) -> EmbeddedGuests:
    return EmbeddedGuests(guests.Guests(database.pool), Changes(database.pool))


def guests_with(faults: Faults, databases: Databases, clock: Clock) -> FaultyGuests:
    return faulty_guests(databases, Injection(faults, clock))


def wait_of(outcome: GuestOutcome) -> TryAgain:
    assert isinstance(outcome.fault, TryAgain)
    return outcome.fault


async def test_it_works_by_the_settings(databases: Databases) -> None:
    plain, difficult = Settings.model_validate({}), Settings.model_validate({"fault_throttle": 3})

    assert isinstance(make_guests(plain, databases.worker.pool), EmbeddedGuests)
    assert isinstance(make_guests(difficult, databases.worker.pool), FaultyGuests)


async def test_it_works_step_by_step(filled: Databases) -> None:
    one = assign(HANDBOOK, PARTNERS_ONLY)
    stepwise = guests_with(Faults(), filled, Clock())

    for number in range(1, len(one.steps) + 1):
        await stepwise.ensure([Work(one.wanted, one.steps[:number])])

        [seen] = await stepwise.observe([reference(HANDBOOK)])
        assert remaining_of_subject(one.wanted, seen, one.steps) == one.steps[number:]


async def test_concurrent_assignments_do_not_mix(filled: Databases) -> None:
    many = [assign(PARTNERS, (FORBID, NOT_RIVALS, CLEAR)[number % 3]) for number in range(30)]
    states = {(None, None), *((one.template_id, one.rules and one.rules.allowed) for one in (FORBID, NOT_RIVALS))}

    outcomes = await asyncio.gather(*(guests_on(filled.worker).ensure([one]) for one in many))

    seen = [subject_of(outcome) for [outcome] in outcomes]
    assert {(one.template_id, one.rules and one.rules.allowed) for one in seen} <= states


async def test_a_refusal_changes_nothing(filled: Databases) -> None:
    whole = guests_on(filled.worker)
    [before] = await whole.observe([reference(PARTNERS)])
    assert before is not None
    strange = replace(FORBID, rules=replace(NO_GUESTS, blocked_domains=("nul\x00",)))

    [outcome] = await whole.ensure([assign(PARTNERS, strange, remove=(before.guests[0].id,))])

    assert isinstance(outcome.fault, Rejected)
    assert outcome.done == ()
    assert await whole.observe([reference(PARTNERS)]) == [before]


async def test_it_keeps_one_of_several_removed_owners(filled: Databases) -> None:
    async with filled.worker.across_tenants() as tx:
        await tx.execute("DELETE FROM directory.memberships WHERE group_id = $1 AND member_id = $2", PARTNERS, ADA)
        await tx.execute("UPDATE directory.memberships SET is_owner = true WHERE group_id = $1", PARTNERS)

    for adapter in (guests_on(filled.worker), guests_with(Faults(), filled, Clock())):
        [outcome] = await adapter.ensure([assign(PARTNERS, FORBID, remove=(HANA, GIL))])

        assert [(each.id, each.code) for each in outcome.stayed] == [(GIL, "lastOwner")]
        assert [guest.id for guest in subject_of(outcome).guests] == [GIL]


async def test_it_reports_stayed_guests_before_a_later_fault(filled: Databases) -> None:
    stepwise = guests_with(Faults(throttle=3), filled, Clock())

    [outcome] = await stepwise.ensure([assign(VISITORS, FORBID, remove=(GIL,))])

    assert (outcome.done, wait_of(outcome).reason) == ((Step.MARK_ASSIGNMENT, Step.SET_GUEST_ACCESS), TOO_MANY)
    assert [each.id for each in outcome.stayed] == [GIL]


async def test_it_waits_until_the_group_is_known(filled: Databases) -> None:
    clock = Clock()
    stepwise = guests_with(Faults(visibility_delay=HOUR, not_found_after_create=2 * HOUR), filled, clock)

    [hidden] = await stepwise.ensure([assign(PARTNERS, FORBID)])
    unseen = await stepwise.observe([reference(PARTNERS)])
    clock.wait(HOUR)
    [unknown] = await stepwise.ensure([assign(PARTNERS, FORBID)])
    clock.wait(HOUR)
    [known] = await stepwise.ensure([assign(PARTNERS, FORBID)])

    assert (hidden.subject, hidden.done, wait_of(hidden).reason, unseen) == (None, (), NOT_SHOWN, [None])
    assert unknown.subject is not None
    assert (unknown.done, wait_of(unknown).reason) == ((), NOT_FOUND)
    assert (known.fault, len(known.done)) == (None, 3)


async def test_throttling_stops_one_group(filled: Databases) -> None:
    stepwise = guests_with(Faults(throttle=4), filled, Clock())
    works = [assign(PARTNERS, FORBID), assign(HANDBOOK, FORBID), assign(HANDBOOK, CLEAR), assign(VISITORS, FORBID)]

    group, site, behind, other = await stepwise.ensure(works)
    await stepwise.ensure(works[1:2])
    await stepwise.ensure(works[1:2])
    [again] = await stepwise.ensure(works[1:2])

    assert (group.fault, other.fault) == (None, None)
    assert (site.done, wait_of(site).reason, wait_of(site).after) == ((), TOO_MANY, SECOND)
    assert (behind.done, behind.fault) == ((), site.fault)
    assert subject_of(again).template_id == NO_GUESTS_TEMPLATE


async def test_it_is_unavailable_during_an_outage(filled: Databases) -> None:
    clock = Clock()
    stepwise = guests_with(Faults(outages=HOURLY), filled, clock)
    clock.wait(2 * HOUR - (clock() - datetime(1970, 1, 1, tzinfo=UTC)) % (2 * HOUR))

    with pytest.raises(TryAgain):
        await stepwise.ensure([assign(PARTNERS, FORBID)])
    with pytest.raises(TryAgain):
        await stepwise.observe([reference(PARTNERS)])
    with pytest.raises(TryAgain, match="not available at present"):
        await stepwise.changes(TENANT, EXTENSION, None)
    clock.wait(HOUR)

    [after] = await stepwise.ensure([assign(PARTNERS, FORBID)])
    assert subject_of(after).rules == replace(NO_GUESTS, sharing=None)


async def test_it_raises_try_again_without_a_database() -> None:
    away = await open_database("postgresql://nobody@127.0.0.1:1/nowhere", most=2, name="away")
    whole = guests_on(away)

    with pytest.raises(TryAgain) as ensured:
        await whole.ensure([assign(PARTNERS, FORBID)])
    with pytest.raises(TryAgain):
        await whole.observe([reference(PARTNERS)])
    with pytest.raises(TryAgain):
        await whole.changes(TENANT, EXTENSION, None)

    assert ensured.value.after == timedelta(seconds=2)
    await away.close()


async def test_reads_work_in_a_read_only_database(filled: Databases) -> None:
    [made] = await guests_on(filled.worker).ensure([assign(PARTNERS, FORBID)])
    address = f"{filled.addresses.worker}&options=-c%20default_transaction_read_only%3Don"
    read_only = await open_database(address, most=1, name="read only")
    reading = guests_on(read_only)

    assert await reading.observe([reference(PARTNERS)]) == [made.subject]
    first = await reading.changes(TENANT, EXTENSION, None)
    assert summary(subject_of(made)) in first.subjects
    assert (await reading.changes(TENANT, EXTENSION, first.cursor)).subjects == ()
    await read_only.close()
