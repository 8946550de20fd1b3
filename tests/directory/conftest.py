# SPDX-License-Identifier: Apache-2.0
"""The adapters of the conformance suite, each with the same sample directory.

To add an adapter, add a function such as `embedded_adapter` to ADAPTERS.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from chamberlain.core.errors import OutsideFault
from chamberlain.core.ids import GroupId, TenantId, UserId
from chamberlain.directory.capabilities import ALL_ABILITIES, Ability, Capabilities
from chamberlain.directory.embedded.adoptions import EmbeddedAdoptions, FaultyAdoptions
from chamberlain.directory.embedded.directory import EmbeddedDirectory, FaultyDirectory
from chamberlain.directory.embedded.guests import EmbeddedGuests, FaultyGuests
from chamberlain.directory.embedded.lifecycle import EmbeddedLifecycle, FaultyLifecycle
from chamberlain.directory.embedded.mapping import KEY_MEMBER
from chamberlain.directory.embedded.people import EmbeddedPeople
from chamberlain.directory.mailboxes import ObservedMailbox
from chamberlain.directory.microsoft365.capabilities import CAPABILITIES as GRAPH_CAPABILITIES
from chamberlain.directory.port import Adoptions, Directory, Guests, GuestWork, Lifecycle, LifecycleWork, People, Work
from chamberlain.directory.properties import DriftProperty
from chamberlain.directory.routed import RoutedAdoptions, RoutedDirectory, RoutedGuests, RoutedLookups, RoutedPeople
from chamberlain.directory.steps import Step
from chamberlain.directory.subjects import (
    ObservedRules,
    ObservedSubject,
    SubjectType,
    WantedGuestRules,
    plan_guest_rules,
)
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
from tests.directory import suite_stage
from tests.directory.guest_work import OBSERVED_HANDBOOK, assign
from tests.directory.lookup_calls import LookupCalls, port_lookups, table_lookups
from tests.directory.retries import (
    Clock,
    RetryingAdoptions,
    RetryingDirectory,
    RetryingGuests,
    RetryingLifecycle,
    RetryingPeople,
)
from tests.directory.sample_directory import HANDBOOK, OTHER_SITE, OTHER_TENANT, PARTNERS, SECTION, TENANT
from tests.microsoft365 import peer_stage
from tests.microsoft365 import stage as graph_stage
from tests.microsoft365.fake.sample import guest_accounts
from tests.microsoft365.fake.sample import record_activity as record_sign_in
from tests.restricted_directory import (
    RESTRICTED,
    RestrictedAdoptions,
    RestrictedDirectory,
    RestrictedGuests,
    RestrictedPeople,
    hidden_mailbox,
    hidden_subject,
)

# All faults at once.
FAULTS = Faults(
    visibility_delay=timedelta(seconds=15),
    throttle=3,
    not_found_after_create=timedelta(seconds=20),
    outages=Outages(lasting=timedelta(seconds=5), every=timedelta(seconds=30)),
)


# The adapter with faults states these, as one of another suite does.
REMOTE = Capabilities(timedelta(seconds=15), trusts_writes=True, in_lanes=True)
UNSTATED = Capabilities(timedelta(0))


@dataclass(frozen=True, slots=True)
class Adapter:
    """The ports of an adapter, and a second instance for another worker.

    `remove_group` and `record_activity` change the directory itself. `accounts` returns the guests, and whether they
    can sign in. `capabilities` are those that the directory states. `without_rules` are groups that it has no rules for
    guests of, `has_inner_words` whether a search for people finds words inside user names.
    """

    people: People
    directory: Directory
    second_directory: Directory
    guests: Guests
    second_guests: Guests
    adoptions: Adoptions
    lifecycle: Lifecycle
    lookups: LookupCalls
    remove_group: Callable[[TenantId, GroupId], Awaitable[None]]
    accounts: Callable[[], Awaitable[Mapping[UserId, bool]]]
    record_activity: Callable[[UserId], Awaitable[datetime]]
    capabilities: Capabilities = UNSTATED
    without_rules: frozenset[GroupId] = frozenset()
    has_inner_words: bool = True

    def can(self, ability: Ability) -> bool:
        """Return whether the directory has an ability."""
        return self.capabilities.can(ability)

    def mailbox(self, expected: ObservedMailbox) -> ObservedMailbox:
        """Return a mailbox as this directory reports it."""
        return hidden_mailbox(expected, self.capabilities)

    def subject(self, expected: ObservedSubject) -> ObservedSubject:
        """Return a group or site as this directory reports it."""
        shown = hidden_subject(expected, self.capabilities)
        return replace(shown, rules=None) if shown.id in self.without_rules else shown

    def rules(self, expected: ObservedRules, group_id: GroupId = PARTNERS) -> ObservedRules | None:
        """Return rules for guests of a group as this directory reports them."""
        return self.subject(replace(OBSERVED_HANDBOOK, id=group_id, rules=expected)).rules

    def label(self, label_id: str) -> str | None:
        """Return the label, or None in a directory without labels."""
        return label_id if self.can(Ability.LABELS) else None

    def mapped(self, *users: UserId) -> frozenset[UserId] | None:
        """Return the users with automatic mapping, None if the directory does not report them."""
        return None if DriftProperty.MAILBOX_AUTO_MAPPING in self.capabilities.unreadable else frozenset(users)

    def unreported(self, assignment: WantedGuestRules) -> set[Step]:
        """Return the steps of an assignment whose effect this directory does not report."""
        steps = {
            DriftProperty.ASSIGNMENT_ADDED_BY: Step.SET_GUEST_ACCESS,
            DriftProperty.ASSIGNMENT_ALLOWED_DOMAINS: Step.SET_GUEST_DOMAINS,
        }
        unreadable = set() if assignment.rules is None else self.capabilities.unreadable
        return {step for name, step in steps.items() if name in unreadable}

    def assign(
        self,
        group_id: GroupId,
        assignment: WantedGuestRules,
        *,
        remove: tuple[UserId, ...] = (),
        tenant_id: TenantId = TENANT,
    ) -> GuestWork:
        """Return work with all steps for this assignment. Without sites, a site is a group."""
        work = assign(group_id, assignment, remove=remove, tenant_id=tenant_id)
        if self.can(Ability.SITES):
            return work
        return Work(work.wanted, plan_guest_rules(SubjectType.GROUP, template_changes=True))


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
        EmbeddedLifecycle(pool),
        table_lookups(pool),
        group_remover(databases),
        account_reader(databases),
        activity_recorder(databases),
    )
    yield Adapter(people, first, second, rules[0], rules[1], *others)


@asynccontextmanager
async def faulty_adapter(databases: Databases) -> AsyncIterator[Adapter]:
    """Open the embedded directory with injected faults as a remote one, and retry its temporary errors."""
    clock = Clock()
    people = EmbeddedPeople(FaultyRegister(databases.application.pool, Injection(FAULTS, clock)))
    # The sample groups are old, so they are visible.
    clock.wait(timedelta(minutes=1))
    first, second = (
        RetryingDirectory(faulty_directory(databases, Injection(FAULTS, clock)), clock, REMOTE) for _ in range(2)
    )
    rules = [RetryingGuests(faulty_guests(databases, Injection(FAULTS, clock)), clock) for _ in range(2)]
    patient = RetryingPeople(people, clock)
    adoptions = RetryingAdoptions(FaultyAdoptions(databases.worker.pool, Injection(FAULTS, clock)), clock)
    others = (
        adoptions,
        RetryingLifecycle(FaultyLifecycle(databases.worker.pool, Injection(FAULTS, clock)), clock),
        table_lookups(databases.worker.pool),
        group_remover(databases),
        account_reader(databases),
        activity_recorder(databases),
    )
    yield Adapter(patient, first, second, rules[0], rules[1], *others)


@asynccontextmanager
async def restricted_adapter(databases: Databases) -> AsyncIterator[Adapter]:
    """Open the embedded directory without labels and sites, and with three properties that it does not report."""
    async with embedded_adapter(databases) as embedded:
        yield replace(
            embedded,
            people=RestrictedPeople(embedded.people, RESTRICTED),
            directory=RestrictedDirectory(embedded.directory, RESTRICTED),
            second_directory=RestrictedDirectory(embedded.second_directory, RESTRICTED),
            guests=RestrictedGuests(embedded.guests, RESTRICTED),
            second_guests=RestrictedGuests(embedded.second_guests, RESTRICTED),
            adoptions=RestrictedAdoptions(embedded.adoptions, RESTRICTED),
        )


class NoLifecycle(Lifecycle):
    """The lifecycle of a directory that states none of its abilities."""

    async def ensure(self, works: Sequence[LifecycleWork]) -> Sequence[OutsideFault | None]:
        raise AssertionError(f"The directory has no lifecycle: {works}")


@asynccontextmanager
async def open_suite_adapter(suites: Mapping[TenantId, suite_stage.SampleSuite]) -> AsyncIterator[Adapter]:
    """Open the suites of both tenants as the service does, twice."""
    for each in suites.values():
        each.reset()
    first, second = suite_stage.opened(suites), suite_stage.opened(suites)
    routes, others = suite_stage.SuiteRoutes(first), suite_stage.SuiteRoutes(second)
    own = first[TENANT].adapters

    async def remove_group(tenant_id: TenantId, group_id: GroupId) -> None:
        suite_stage.remove_group(suites, tenant_id, group_id)

    async def accounts() -> Mapping[UserId, bool]:
        return suite_stage.accounts(suites)

    async def record_activity(user_id: UserId) -> datetime:
        return suite_stage.record_activity(suites, user_id)

    try:
        yield Adapter(
            people=RoutedPeople(own.people, routes),
            directory=RoutedDirectory(own.directory, routes),
            second_directory=RoutedDirectory(own.directory, others),
            guests=RoutedGuests(own.guests, routes),
            second_guests=RoutedGuests(own.guests, others),
            adoptions=RoutedAdoptions(own.adoptions, routes),
            lifecycle=NoLifecycle(),
            lookups=port_lookups(RoutedLookups(routes)),
            remove_group=remove_group,
            accounts=accounts,
            record_activity=record_activity,
        )
    finally:
        for opened in (*first.values(), *second.values()):
            await opened.close()


@asynccontextmanager
async def microsoft365_adapter(seed: int | None) -> AsyncIterator[Adapter]:
    """Open the adapter of Microsoft 365 on a fake, twice. With a seed, replicas lag and faults happen."""
    fake = graph_stage.conformance_fake(seed)
    clock = graph_stage.SkippingClock(fake)
    first, second = ({each: graph_stage.opened(fake, each) for each in (TENANT, OTHER_TENANT)} for _ in range(2))
    routes, others = graph_stage.FakeRoutes(first), graph_stage.FakeRoutes(second)
    own = first[TENANT].adapters

    async def remove_group(tenant_id: TenantId, group_id: GroupId) -> None:
        fake.tenants[str(tenant_id)].delete_group(str(group_id))

    async def accounts() -> Mapping[UserId, bool]:
        return guest_accounts(fake)

    async def record_activity(user_id: UserId) -> datetime:
        return record_sign_in(fake, user_id)

    try:
        yield Adapter(
            people=graph_stage.SettledPeople(RoutedPeople(own.people, routes), clock),
            directory=graph_stage.SettledDirectory(RoutedDirectory(own.directory, routes), clock),
            second_directory=graph_stage.SettledDirectory(RoutedDirectory(own.directory, others), clock),
            guests=graph_stage.SettledGuests(RoutedGuests(own.guests, routes), clock),
            second_guests=graph_stage.SettledGuests(RoutedGuests(own.guests, others), clock),
            adoptions=graph_stage.SettledAdoptions(RoutedAdoptions(own.adoptions, routes), clock),
            lifecycle=NoLifecycle(),
            lookups=port_lookups(graph_stage.SettledLookups(RoutedLookups(routes), clock)),
            remove_group=remove_group,
            accounts=accounts,
            record_activity=record_activity,
            without_rules=frozenset({HANDBOOK, OTHER_SITE}),
            has_inner_words=False,
        )
    finally:
        for opened in (*first.values(), *second.values()):
            await opened.close()


@asynccontextmanager
async def peer_adapter(databases: Databases) -> AsyncIterator[Adapter]:
    """Open the adapter of Microsoft 365 on the embedded directory, twice."""
    clock = Clock()
    first, second = ({each: peer_stage.opened(databases, each) for each in (TENANT, OTHER_TENANT)} for _ in range(2))
    routes, others = peer_stage.PeerRoutes(first), peer_stage.PeerRoutes(second)
    own = first[TENANT].adapters
    try:
        yield Adapter(
            people=RoutedPeople(own.people, routes),
            directory=RoutedDirectory(own.directory, routes),
            second_directory=RoutedDirectory(own.directory, others),
            # Concurrent writes of one setting are tried again.
            guests=RetryingGuests(RoutedGuests(own.guests, routes), clock),
            second_guests=RetryingGuests(RoutedGuests(own.guests, others), clock),
            adoptions=RoutedAdoptions(own.adoptions, routes),
            lifecycle=NoLifecycle(),
            lookups=port_lookups(RoutedLookups(routes)),
            remove_group=group_remover(databases),
            accounts=account_reader(databases),
            record_activity=activity_recorder(databases),
            without_rules=frozenset({HANDBOOK, OTHER_SITE}),
            has_inner_words=False,
        )
    finally:
        for opened in (*first.values(), *second.values()):
            await opened.close()


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


ADAPTERS = [embedded_adapter, faulty_adapter, restricted_adapter]


@pytest.fixture
async def filled(postgres_server: postgres.Server) -> AsyncIterator[Databases]:
    """Load the sample directory into its own database."""
    async with filled_database(postgres_server, "population", load_sample_directory) as databases:
        yield databases


async def load_sample_directory(databases: Databases) -> None:
    await load(databases.worker.pool, SECTION)


@pytest.fixture(scope="session")
def sample_suites() -> Iterator[Mapping[TenantId, suite_stage.SampleSuite]]:
    """Run the open suites of both tenants."""
    with suite_stage.started_suites() as suites:
        yield suites


# Seeds of the hostile Microsoft 365: the last one, or the first and the last one, such as 51-100. `dev.py prove
# microsoft365` runs more of them.
FIRST, _, LAST = os.environ.get("CHAMBERLAIN_TEST_GRAPH_SEEDS", "10").rpartition("-")
SEEDS = range(int(FIRST or 1), int(LAST) + 1)


@dataclass(frozen=True)
class Hostile:
    """The adapter of Microsoft 365 on the fake of a seed, None for one without lags and faults."""

    seed: int | None


STAGES = [*ADAPTERS, open_suite_adapter, peer_adapter, Hostile(None), *map(Hostile, SEEDS)]
NAMES = ("embedded", "difficult", "restricted", "opensuite", "peer", "microsoft365")
STAGE_IDS = [*NAMES, *(f"microsoft365-{n}" for n in SEEDS)]


@pytest.fixture(params=STAGES, ids=STAGE_IDS)
def stage(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Adapter]:
    """Start the servers that an adapter needs: the loop of an asynchronous fixture would run already."""
    wanted: object = request.param
    if isinstance(wanted, Hostile):
        return microsoft365_adapter(wanted.seed)
    if wanted is open_suite_adapter:
        suites: Mapping[TenantId, suite_stage.SampleSuite] = request.getfixturevalue("sample_suites")
        return open_suite_adapter(suites)
    opener: Callable[[Databases], AbstractAsyncContextManager[Adapter]] = request.param
    filled: Databases = request.getfixturevalue("filled")
    return opener(filled)


@pytest.fixture
async def adapter(stage: AbstractAsyncContextManager[Adapter]) -> AsyncIterator[Adapter]:
    async with stage as found:
        yield replace(found, capabilities=await found.directory.capabilities(TENANT))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by their adapter, and leave out those that need an ability which it does not have."""
    possible: list[pytest.Item] = []
    impossible: list[pytest.Item] = []
    for item in items:
        (possible if _needed(item) <= _abilities(_adapter_of(item)) else impossible).append(item)
    for item in possible:
        for mark in _marks(item):
            item.add_marker(mark)
    if impossible:
        config.hook.pytest_deselected(items=impossible)
        items[:] = possible


def _adapter_of(item: pytest.Item) -> object:
    spec = getattr(item, "callspec", None)
    return spec.params.get("stage") if spec else None


def _needed(item: pytest.Item) -> frozenset[Ability]:
    return frozenset(each for marker in item.iter_markers("abilities") for each in marker.args)


def _abilities(adapter: object) -> frozenset[Ability]:
    if isinstance(adapter, Hostile) or adapter is peer_adapter:
        return GRAPH_CAPABILITIES.abilities
    return suite_stage.ABILITIES if adapter is open_suite_adapter else ALL_ABILITIES


def _marks(item: pytest.Item) -> Sequence[pytest.MarkDecorator]:
    """Return the marks of an adapter: all but the embedded directory run with the heavy tests.

    The restricted one runs those tests that an ability decides with the ordinary ones, because the faults of an adapter
    make no difference to the others. So does Microsoft 365 without a seed. Tests of an open suite need its servers.
    """
    match _adapter_of(item):
        case Hostile(seed):
            return () if seed is None else (pytest.mark.heavy,)
        case adapter if adapter is open_suite_adapter:
            return (pytest.mark.suite, pytest.mark.needs("suite"), pytest.mark.timeout(300))
        case adapter if adapter in (faulty_adapter, peer_adapter):
            return (pytest.mark.heavy,)
        case adapter if adapter is restricted_adapter:
            is_decided = any(not marker.args for marker in item.iter_markers("abilities"))
            return () if is_decided else (pytest.mark.heavy,)
        case _:
            return ()
