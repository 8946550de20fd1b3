"""The adapters of the conformance suite, each with the same sample directory.

To add an adapter, add a function such as `embedded_adapter` to ADAPTERS.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.directory.embedded.adoptions import EmbeddedAdoptions, FaultyAdoptions
from chamberlain.directory.embedded.directory import EmbeddedDirectory, FaultyDirectory
from chamberlain.directory.embedded.guests import EmbeddedGuests, FaultyGuests
from chamberlain.directory.embedded.mapping import KEY_MEMBER
from chamberlain.directory.embedded.people import EmbeddedPeople
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
from tests.directory.retries import Clock, RetryingAdoptions, RetryingDirectory, RetryingGuests, RetryingPeople
from tests.directory.sample_directory import SECTION

# All faults at once.
FAULTS = Faults(
    visibility_delay=timedelta(seconds=15),
    throttle=3,
    not_found_after_create=timedelta(seconds=20),
    outages=Outages(lasting=timedelta(seconds=5), every=timedelta(seconds=30)),
)


@dataclass(frozen=True, slots=True)
class Adapter:
    """The ports of an adapter, and a second instance for another worker.

    `remove_group` and `record_activity` change the directory itself. `accounts` returns the guests, and whether they
    can sign in.
    """

    people: People
    directory: Directory
    second_directory: Directory
    guests: Guests
    second_guests: Guests
    adoptions: Adoptions
    remove_group: Callable[[TenantId, GroupId], Awaitable[None]]
    accounts: Callable[[], Awaitable[Mapping[UserId, bool]]]
    record_activity: Callable[[UserId], Awaitable[datetime]]


@asynccontextmanager
async def embedded_adapter(databases: Databases) -> AsyncIterator[Adapter]:
    pool = databases.worker.pool
    first, second = (
        EmbeddedDirectory(Groups(pool, key_member=KEY_MEMBER), Mailboxes(pool, key_member=KEY_MEMBER)) for _ in range(2)
    )
    rules = [EmbeddedGuests(guests.Guests(pool), Changes(pool)) for _ in range(2)]
    people = EmbeddedPeople(Register(databases.application.pool))
    others = (
        EmbeddedAdoptions(pool),
        group_remover(databases),
        account_reader(databases),
        activity_recorder(databases),
    )
    yield Adapter(people, first, second, rules[0], rules[1], *others)


@asynccontextmanager
async def faulty_adapter(databases: Databases) -> AsyncIterator[Adapter]:
    """Open the embedded directory with injected faults, and retry its temporary errors."""
    clock = Clock()
    people = EmbeddedPeople(FaultyRegister(databases.application.pool, Injection(FAULTS, clock)))
    # The sample groups are old, so they are visible.
    clock.wait(timedelta(minutes=1))
    first, second = (RetryingDirectory(faulty_directory(databases, Injection(FAULTS, clock)), clock) for _ in range(2))
    rules = [RetryingGuests(faulty_guests(databases, Injection(FAULTS, clock)), clock) for _ in range(2)]
    patient = RetryingPeople(people, clock)
    adoptions = RetryingAdoptions(FaultyAdoptions(databases.worker.pool, Injection(FAULTS, clock)), clock)
    others = (adoptions, group_remover(databases), account_reader(databases), activity_recorder(databases))
    yield Adapter(patient, first, second, rules[0], rules[1], *others)


def faulty_directory(databases: Databases, injection: Injection) -> FaultyDirectory:
    pool = databases.worker.pool
    return FaultyDirectory(
        FaultyGroups(pool, injection, key_member=KEY_MEMBER), FaultyMailboxes(pool, injection, key_member=KEY_MEMBER)
    )


def faulty_guests(databases: Databases, injection: Injection) -> FaultyGuests:
    pool = databases.worker.pool
    return FaultyGuests(FaultyGuestRules(pool, injection), Changes(pool))


def group_remover(databases: Databases) -> Callable[[TenantId, GroupId], Awaitable[None]]:
    async def remove(tenant_id: TenantId, group_id: GroupId) -> None:
        await databases.worker.pool.execute(
            "DELETE FROM directory.groups WHERE tenant_id = $1 AND id = $2", tenant_id, group_id
        )

    return remove


def account_reader(databases: Databases) -> Callable[[], Awaitable[Mapping[UserId, bool]]]:
    async def accounts() -> Mapping[UserId, bool]:
        rows = await databases.worker.pool.fetch(
            "SELECT id, account_enabled FROM directory.users WHERE user_type = 'Guest'"
        )
        return {UserId(row["id"]): row["account_enabled"] for row in rows}

    return accounts


def activity_recorder(databases: Databases) -> Callable[[UserId], Awaitable[datetime]]:
    async def record(user_id: UserId) -> datetime:
        at = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
        await databases.worker.pool.execute("UPDATE directory.users SET last_seen_at = $2 WHERE id = $1", user_id, at)
        return at

    return record


ADAPTERS = [embedded_adapter, faulty_adapter]


@pytest.fixture
async def filled(postgres_server: postgres.Server) -> AsyncIterator[Databases]:
    """Load the sample directory into its own database."""
    async with filled_database(postgres_server, "population", load_sample_directory) as databases:
        yield databases


async def load_sample_directory(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)


@pytest.fixture(params=ADAPTERS, ids=["embedded", "difficult"])
async def adapter(request: pytest.FixtureRequest, filled: Databases) -> AsyncIterator[Adapter]:
    async with request.param(filled) as found:
        yield found
