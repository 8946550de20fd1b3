# SPDX-License-Identifier: Apache-2.0
"""Assemble the embedded directory, with simulated faults if the settings name any."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from math import ceil

from starlette.types import ASGIApp, Receive, Scope, Send

from chamberlain.app.clock_and_ids import new_id, now
from chamberlain.app.connections import Connections
from chamberlain.app.databases import Databases
from chamberlain.app.faults import requested_faults
from chamberlain.app.lookups import PortReader
from chamberlain.app.processes import running
from chamberlain.auth.verifier import Verifier
from chamberlain.core.errors import ConnectionBroken, Unauthenticated, Unavailable
from chamberlain.core.ids import TenantId
from chamberlain.core.reasons import Reason
from chamberlain.database.batching import Batcher
from chamberlain.database.notify import listen
from chamberlain.database.transactions import ACQUIRED_WITHIN
from chamberlain.directory.cache import RememberedPeople
from chamberlain.directory.embedded.adoptions import EmbeddedAdoptions, FaultyAdoptions
from chamberlain.directory.embedded.changed_tenants import EmbeddedChangedTenants
from chamberlain.directory.embedded.directory import EmbeddedDirectory, FaultyDirectory
from chamberlain.directory.embedded.guests import EmbeddedGuests, FaultyGuests
from chamberlain.directory.embedded.mapping import KEY_MEMBER
from chamberlain.directory.embedded.people import EmbeddedPeople
from chamberlain.directory.embedded.requested_faults import DirectoryWithFaults, GuestsWithFaults, PeopleWithFaults
from chamberlain.directory.embedded.subjects import EmbeddedSubjects
from chamberlain.directory.port import Adoptions, ChangedTenants, Directory, Guests, People
from chamberlain.directory.routed import RoutedLookups, Routes
from chamberlain.embedded.directory import guests
from chamberlain.embedded.directory.changes import Changes
from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import Unauthorized, Unreachable
from chamberlain.embedded.directory.faults import (
    Faults,
    FaultyGroups,
    FaultyGuestRules,
    FaultyMailboxes,
    FaultyRegister,
    Injection,
    Outages,
)
from chamberlain.embedded.directory.faults_server import FaultyApplication, with_faults
from chamberlain.embedded.directory.graph.calls import Writer
from chamberlain.embedded.directory.graph.remote import LookupServer
from chamberlain.embedded.directory.graph.server import Access, Authenticate, GraphServer
from chamberlain.embedded.directory.groups import FindGroups, GroupQuery, Groups, Row, find_groups
from chamberlain.embedded.directory.mailboxes import Mailboxes
from chamberlain.embedded.directory.people import HELD_ADDRESSES, PEOPLE_CHANNEL, Register
from chamberlain.embedded.directory.requested_faults import Operation
from chamberlain.fastpath.buffered_response import buffered_call
from chamberlain.settings import Settings

# Seconds: the shortest value of Retry-After, and the value of Microsoft 365.
_SOONEST_LOOK, _LATEST_LOOK = 1, 20


def make_people(settings: Settings, pool: Pool) -> People:
    """Look up users, groups and labels."""
    injection, faults = make_injection(settings), requested_faults(settings, pool)
    people = EmbeddedPeople(Register(pool) if injection is None else FaultyRegister(pool, injection))
    return people if faults is None else PeopleWithFaults(people, faults)


def held_addresses(settings: Settings) -> str | None:
    """Return the SQL function that lists used addresses.

    With fault injection there is none, and the service asks as it asks an outside directory.
    """
    return HELD_ADDRESSES if make_injection(settings) is None else None


@asynccontextmanager
async def remembered_people(settings: Settings, people: People, direct: str) -> AsyncIterator[People]:
    """Cache people until a change notification arrives, while the block runs.

    Directories without notifications set a maximum age. `direct` is the address of the notifications. With faults on
    purpose, nothing is cached.
    """
    if make_injection(settings) is not None:
        yield people
        return
    remembered = RememberedPeople(people)
    async with running(listen(direct, PEOPLE_CHANNEL, remembered.heard, lost=remembered.lost)):
        yield remembered


def make_directory(settings: Settings, pool: Pool) -> Directory:
    """Brings groups and mailboxes about."""
    directory, faults = _make_directory(settings, pool), requested_faults(settings, pool)
    return directory if faults is None else DirectoryWithFaults(directory, faults)


def _make_directory(settings: Settings, pool: Pool) -> Directory:
    injection = make_injection(settings)
    if injection is None:
        return EmbeddedDirectory(Groups(pool, key_member=KEY_MEMBER), Mailboxes(pool, key_member=KEY_MEMBER))
    return FaultyDirectory(
        FaultyGroups(pool, injection, key_member=KEY_MEMBER), FaultyMailboxes(pool, injection, key_member=KEY_MEMBER)
    )


def make_guests(settings: Settings, pool: Pool) -> Guests:
    """Build the port for guest rules and for finding groups and sites.

    The pool must have the worker's role: one batch may be about several tenants.
    """
    rules, faults = _make_guests(settings, pool), requested_faults(settings, pool)
    return rules if faults is None else GuestsWithFaults(rules, faults)


def _make_guests(settings: Settings, pool: Pool) -> Guests:
    injection = make_injection(settings)
    if injection is None:
        return EmbeddedGuests(guests.Guests(pool), Changes(pool))
    return FaultyGuests(FaultyGuestRules(pool, injection), Changes(pool))


def make_adoptions(settings: Settings, pool: Pool) -> Adoptions:
    """Build the port that lists existing objects and marks them.

    Any role may list; marking needs the worker's role.
    """
    injection = make_injection(settings)
    return EmbeddedAdoptions(pool) if injection is None else FaultyAdoptions(pool, injection)


def make_changed_tenants(settings: Settings, pool: Pool) -> ChangedTenants | None:
    """Build the port that names changed tenants.

    The pool must have the worker's role. With fault injection there is none, and each tenant is asked in turn, as in an
    outside directory.
    """
    return EmbeddedChangedTenants(Changes(pool)) if make_injection(settings) is None else None


def make_subjects(settings: Settings, pool: Pool) -> EmbeddedSubjects:
    """Looks up groups and sites for callers, one tenant at a time."""
    injection = make_injection(settings)
    return EmbeddedSubjects(pool) if injection is None else EmbeddedSubjects(pool, injection.answer)


def first_look(settings: Settings) -> int:
    """Return the seconds for Retry-After of a 202 response.

    They are at most those of a real suite.
    """
    known_after = faults_of(settings).known_after
    return min(max(_SOONEST_LOOK, ceil(known_after.total_seconds())), _LATEST_LOOK)


def make_injection(settings: Settings) -> Injection | None:
    """Return the simulated faults, or None if the settings name none."""
    faults = faults_of(settings)
    return None if faults == Faults() else Injection(faults, now)


def faults_of(settings: Settings) -> Faults:
    """The faults that the settings ask for."""
    return Faults(
        visibility_delay=timedelta(seconds=settings.fault_visibility_delay or 0),
        throttle=settings.fault_throttle,
        not_found_after_create=timedelta(seconds=settings.fault_not_found_after_create or 0),
        outages=None if settings.fault_unavailable is None else _outages(settings.fault_unavailable),
    )


def _outages(written: str) -> Outages:
    lasting, _, every = written.partition("/")
    return Outages(timedelta(seconds=float(lasting)), timedelta(seconds=float(every)))


# The directory is a resource of its own; this is the audience of the embedded one, which the example's clients ask for.
GRAPH_AUDIENCE = "https://graph.estate.example"
# Largest batch of lookups by value: as many rows as twenty usual pages.
_MOST_ROWS = 2_100
# So many that one question which takes long holds up few others.
_MOST_TOGETHER = 64


def graph_application(
    settings: Settings, databases: Databases, verifier: Verifier, connections: Connections
) -> ASGIApp:
    """Everything below `/v1.0`, in the directory of the caller's tenant."""
    pool, verified = databases.application.pool, _authenticate(verifier)
    authenticate = verified
    faults, send_graph = requested_faults(settings, pool), send_whole
    if faults is not None:
        authenticate = with_faults(authenticate, faults, lambda access: access.tenant_id)
        # A response that is lost passes through the application.
        send_graph = send_in_parts
    own = GraphServer(
        pool,
        find_groups=found_together(pool),
        graph_url=settings.graph_url,
        authenticate=only_here(authenticate, connections),
        now=now,
        new_request_id=new_id,
        send_whole=send_graph,
        injection=make_injection(settings),
        is_strict=settings.graph_strict,
        # Writes need the worker's role: that of the application cannot write the directory.
        writer=Writer(databases.worker.pool, new_id) if settings.directory_writable else None,
    )

    def elsewhere(tenant_id: TenantId) -> ASGIApp:
        async def refused(code: str) -> None:
            await connections.refused(tenant_id, ConnectionBroken(timedelta(minutes=1), Reason.build(code)))

        async def find_one(wanted: GroupQuery) -> Sequence[Row]:
            [rows] = await find_groups(other, [wanted])
            return rows

        found = connections.pool_of(tenant_id)
        other = pool if found is None else found
        route = connections.elsewhere[tenant_id]
        has_port = route.adapters is not None and route.adapters.lookups is not None
        return LookupServer(
            other,
            refused=refused,
            is_usable=has_port or found is not None,
            reader=PortReader(RoutedLookups(connections), tenant_id) if has_port else None,
            find_groups=find_one,
            graph_url=settings.graph_url,
            authenticate=authenticate,
            now=now,
            new_request_id=new_id,
            send_whole=send_graph,
            is_strict=settings.graph_strict,
        )

    # The choice of the directory meets no fault, so that each call counts once.
    routed = RoutedGraph(own, verified, connections, elsewhere)
    return routed if faults is None else FaultyApplication(routed, Operation.GRAPH_READ, Operation.GRAPH_WRITE)


def only_here(authenticate: Authenticate, routes: Routes) -> Authenticate:
    """Refuse callers whose tenant has a directory elsewhere.

    The token may have been verified at the second attempt only, after the choice of the directory.
    """

    def authenticated(authorization: str | None) -> Awaitable[Access]:
        return verified_here(authorization) if routes.elsewhere else authenticate(authorization)

    async def verified_here(authorization: str | None) -> Access:
        access = await authenticate(authorization)
        if access.tenant_id in routes.elsewhere:
            raise Unreachable("The directory of the tenant is elsewhere.")
        return access

    return authenticated


class RoutedGraph:
    """Routes each call to the directory of the caller's tenant.

    Without connections, calls go straight to the one of the service.
    """

    def __init__(
        self,
        own: ASGIApp,
        authenticate: Authenticate,
        connections: Connections,
        elsewhere: Callable[[TenantId], ASGIApp],
    ) -> None:
        self._own = own
        self._authenticate = authenticate
        self._connections = connections
        self._elsewhere = elsewhere

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Handle one call."""
        if not self._connections.elsewhere:
            return self._own(scope, receive, send)
        return self._route(scope, receive, send)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        application = self._own
        # The chosen server verifies the token again, and answers errors of it.
        with suppress(Unauthorized, Unreachable):
            token = dict(scope["headers"]).get(b"authorization")
            access = await self._authenticate(None if token is None else token.decode("latin-1"))
            tenant_id = TenantId(access.tenant_id)
            if tenant_id in self._connections.elsewhere:
                application = self._elsewhere(tenant_id)
        await application(scope, receive, send)


def found_together(pool: Pool, *, patience: timedelta = ACQUIRED_WITHIN) -> FindGroups:
    """Combine concurrent group lookups into one database call.

    A lookup that takes longer than `patience` raises Unreachable.
    """
    batcher = Batcher[GroupQuery, Sequence[Row]](
        partial(find_groups, pool),
        weigh=lambda wanted: wanted.most,
        owner=lambda wanted: wanted.tenant_id,
        most=_MOST_TOGETHER,
        most_weight=_MOST_ROWS,
        # A large page does not delay the lookup of one group.
        at_once=2,
    )

    async def find(wanted: GroupQuery) -> Sequence[Row]:
        try:
            # The timeout includes the wait in the batcher, so a hanging database delays no lookup beyond it.
            async with asyncio.timeout(patience.total_seconds()):
                return await batcher.submit(wanted)
        except Unavailable as refusal:
            raise Unreachable(refusal.detail) from refusal
        except TimeoutError as error:
            raise Unreachable("The directory's database does not answer in time.") from error

    return find


def send_in_parts(scope: Scope, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:  # noqa: ARG001 - as send_whole.
    """Leave the response to the application."""
    return False


def send_whole(scope: Scope, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
    """Send a response with one write. Returns whether the server can."""
    call = buffered_call(scope)
    return call is not None and call.answer(status, headers, body)


def _authenticate(verifier: Verifier) -> Authenticate:
    beginning = f"{GRAPH_AUDIENCE}/"

    async def authenticate(authorization: str | None) -> Access:
        try:
            caller = await verifier.verify(authorization)
        except Unauthenticated as refusal:
            raise Unauthorized(refusal.detail, had_token=authorization is not None) from refusal
        except Unavailable as refusal:
            raise Unreachable(refusal.detail) from refusal
        bare = (name.removeprefix(beginning) for name in caller.permissions if name.startswith(beginning))
        return Access(caller.tenant_id, frozenset(bare), caller.user_id)

    return authenticate
