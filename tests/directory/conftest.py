"""The stage of the conformance suite: one for each adapter, each filled with the same population.

Another adapter is added by a function such as `embedded_stage` in STAGES; the tests stay as they are.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.directory.embedded import (
    KEY_MEMBER,
    EmbeddedAdoptions,
    EmbeddedDirectory,
    EmbeddedGuests,
    EmbeddedPeople,
    FaultyAdoptions,
    FaultyDirectory,
    FaultyGuests,
)
from chamberlain.directory.port import Adoptions, Directory, Guests, People
from chamberlain.embedded import postgres
from chamberlain.embedded.directory import guests
from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.faults import (
    Faults,
    FaultyGroups,
    FaultyGuestRules,
    FaultyMailboxes,
    FaultyRegister,
    Injection,
    Outages,
)
from chamberlain.embedded.directory.groups import Groups
from chamberlain.embedded.directory.load import load
from chamberlain.embedded.directory.mailboxes import Mailboxes
from chamberlain.embedded.directory.people import Register
from tests.databases import Databases, filled_database
from tests.directory.patience import Clock, PatientAdoptions, PatientDirectory, PatientGuests, PatientPeople
from tests.directory.population import SECTION

# All of them at once.
FAULTS = Faults(
    visibility_delay=timedelta(seconds=15),
    throttle=3,
    not_found_after_create=timedelta(seconds=20),
    outages=Outages(lasting=timedelta(seconds=5), every=timedelta(seconds=30)),
)


@dataclass(frozen=True, slots=True)
class Stage:
    """An adapter as the product has it, and what writes a second time, as another worker has it. `remove_group` and
    `see` are what somebody does in the directory itself, `accounts` is which guests may sign in there."""

    people: People
    directory: Directory
    second_directory: Directory
    guests: Guests
    second_guests: Guests
    adoptions: Adoptions
    remove_group: Callable[[TenantId, GroupId], Awaitable[None]]
    accounts: Callable[[], Awaitable[Mapping[UserId, bool]]]
    see: Callable[[UserId], Awaitable[datetime]]


@asynccontextmanager
async def embedded_stage(databases: Databases) -> AsyncIterator[Stage]:
    pool = databases.worker.pool
    first, second = (
        EmbeddedDirectory(Groups(pool, key_member=KEY_MEMBER), Mailboxes(pool, key_member=KEY_MEMBER)) for _ in range(2)
    )
    rules = [EmbeddedGuests(guests.Guests(pool), Changes(pool)) for _ in range(2)]
    people = EmbeddedPeople(Register(databases.application.pool))
    others = (EmbeddedAdoptions(pool), remover(databases), reader(databases), seer(databases))
    yield Stage(people, first, second, rules[0], rules[1], *others)


@asynccontextmanager
async def difficult_stage(databases: Databases) -> AsyncIterator[Stage]:
    """The embedded directory with faults on purpose, and somebody who is patient with it."""
    clock = Clock()
    people = EmbeddedPeople(FaultyRegister(databases.application.pool, Injection(FAULTS, clock)))
    # Whoever was loaded has been there for long.
    clock.wait(timedelta(minutes=1))
    first, second = (PatientDirectory(faulty_directory(databases, Injection(FAULTS, clock)), clock) for _ in range(2))
    rules = [PatientGuests(faulty_guests(databases, Injection(FAULTS, clock)), clock) for _ in range(2)]
    patient = PatientPeople(people, clock)
    adoptions = PatientAdoptions(FaultyAdoptions(databases.worker.pool, Injection(FAULTS, clock)), clock)
    others = (adoptions, remover(databases), reader(databases), seer(databases))
    yield Stage(patient, first, second, rules[0], rules[1], *others)


def faulty_directory(databases: Databases, injection: Injection) -> FaultyDirectory:
    pool = databases.worker.pool
    return FaultyDirectory(
        FaultyGroups(pool, injection, key_member=KEY_MEMBER), FaultyMailboxes(pool, injection, key_member=KEY_MEMBER)
    )


def faulty_guests(databases: Databases, injection: Injection) -> FaultyGuests:
    pool = databases.worker.pool
    return FaultyGuests(FaultyGuestRules(pool, injection), Changes(pool))


def remover(databases: Databases) -> Callable[[TenantId, GroupId], Awaitable[None]]:
    async def remove(tenant_id: TenantId, group_id: GroupId) -> None:
        await databases.worker.pool.execute(
            "DELETE FROM directory.groups WHERE tenant_id = $1 AND id = $2", tenant_id, group_id
        )

    return remove


def reader(databases: Databases) -> Callable[[], Awaitable[Mapping[UserId, bool]]]:
    async def accounts() -> Mapping[UserId, bool]:
        rows = await databases.worker.pool.fetch(
            "SELECT id, account_enabled FROM directory.users WHERE user_type = 'Guest'"
        )
        return {UserId(row["id"]): row["account_enabled"] for row in rows}

    return accounts


def seer(databases: Databases) -> Callable[[UserId], Awaitable[datetime]]:
    async def see(user_id: UserId) -> datetime:
        at = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
        await databases.worker.pool.execute("UPDATE directory.users SET last_seen_at = $2 WHERE id = $1", user_id, at)
        return at

    return see


STAGES = [embedded_stage, difficult_stage]


@pytest.fixture
async def filled(postgres_server: postgres.Server) -> AsyncIterator[Databases]:
    """The population in a database of its own."""
    async with filled_database(postgres_server, "population", populate) as databases:
        yield databases


async def populate(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)


@pytest.fixture(params=STAGES, ids=["embedded", "difficult"])
async def stage(request: pytest.FixtureRequest, filled: Databases) -> AsyncIterator[Stage]:
    async with request.param(filled) as found:
        yield found
