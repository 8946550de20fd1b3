# SPDX-License-Identifier: Apache-2.0
"""Open the directories of tenants, and follow changes of their connections."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from chamberlain.app.clock_and_ids import new_id, now
from chamberlain.app.processes import running
from chamberlain.auth.models import SERVICE, Editor
from chamberlain.connections import records
from chamberlain.connections.models import Adapter, ConnectionState, Described, Target, context_of
from chamberlain.connections.rules import is_permitted, parse_address, parse_graph, parse_server
from chamberlain.connections.states import ConnectionStates
from chamberlain.core.errors import ConnectionBroken, Unavailable
from chamberlain.core.ids import ConnectionId, TenantId
from chamberlain.core.reasons import Reason
from chamberlain.database.connection import WatchfulPool
from chamberlain.database.notify import CONNECTIONS_CHANNEL, Notifier, listen
from chamberlain.database.remote import open_remote_pool
from chamberlain.database.transactions import Database
from chamberlain.directory.budgets import Budget, Budgets
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.embedded.remote import remote_adapters
from chamberlain.directory.microsoft365.connection import (
    Microsoft365SettingsInvalid,
    open_microsoft365,
    read_settings,
)
from chamberlain.directory.opensuite.connection import (
    Suite,
    SuiteSettingsInvalid,
    open_suite,
    read_suite,
    settings_version,
)
from chamberlain.directory.routed import Adapters, Limit, Route
from chamberlain.observability.logs import new_trace_id
from chamberlain.queue.models import USING_DIRECTORY, Claim, JobKind
from chamberlain.queue.worker import Handler
from chamberlain.secrets.keyring import Keyring, KeysUnusable
from chamberlain.settings import Settings

# A lost notification delays a change of a connection by this time at most.
POLL: Final = timedelta(seconds=30)
# Seconds that calls of a directory have to end after its connection has changed.
_CLOSED_WITHIN: Final = 30.0
_BROKEN_FOR: Final = timedelta(minutes=1)
# The most bytes of a file with a credential.
_MOST_BYTES: Final = 8_192

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """An open directory.

    `pool` is that of an embedded directory, and `suite` is an open suite. `close` ends connections after their running
    calls, `terminate` at once. A directory with another `version` of its settings has to be opened again.
    """

    adapters: Adapters
    pool: WatchfulPool | None
    close: Callable[[], Awaitable[None]]
    terminate: Callable[[], Awaitable[None]]
    suite: Suite | None = None
    version: object = None


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens directories by their connections.

    `hosts` are those that the operator permits. `files` is the folder with a folder of credential files for each
    tenant, None if the operator provides none. `calls_per_second` limits the calls to one database, None does not.
    """

    keyring: Keyring = field(repr=False)
    hosts: frozenset[str]
    files: Path | None
    calls_per_second: int | None = None

    async def open(self, target: Target, budgets: Budgets | None = None) -> Opened:
        """Open the directory of a connection with an address.

        It connects at the first call. `budgets` hold back the calls of a directory with limits of its own; a check
        needs none. Raises ConnectionBroken.
        """
        connection = target.connection
        if connection.adapter is Adapter.MICROSOFT365:
            return await self._open_microsoft365(target, budgets)
        if connection.adapter is Adapter.OPENSUITE:
            return await self._open_suite(target)
        address = parse_address(connection.address or "")
        if address is None or connection.adapter is not Adapter.EMBEDDED:
            raise _broken("databaseUnknown")
        if not is_permitted(address.places, self.hosts):
            raise _broken("hostNotPermitted")
        pool = await open_remote_pool(
            lambda: address.with_password(self._credential(target)), name=f"chamberlain directory {connection.id}"
        )
        return Opened(remote_adapters(pool), pool, pool.close, partial(_terminate, pool))

    async def version_of(self, target: Target) -> object:
        """Return the version of the settings of a directory.

        A changed file with settings has another one.
        """
        folder = self._folder(target)
        if target.connection.adapter is Adapter.EMBEDDED or folder is None:
            return None
        return await asyncio.to_thread(settings_version, folder)

    async def _open_suite(self, target: Target) -> Opened:
        """Open an open suite with the settings in its file. Raises ConnectionBroken."""
        connection, folder = target.connection, self._folder(target)
        address = parse_server(connection.address or "")
        if address is None or connection.credential_file is None or folder is None:
            raise _broken("credentialUnreadable")
        if not is_permitted(address.places, self.hosts):
            raise _broken("hostNotPermitted")
        version = await self.version_of(target)
        try:
            settings = await asyncio.to_thread(read_suite, address.url, folder, connection.credential_file)
        except SuiteSettingsInvalid as error:
            raise ConnectionBroken(_BROKEN_FOR, Reason.build("suiteSettingsUnusable", problem=str(error))) from error
        suite = open_suite(settings)
        return Opened(suite.adapters, None, suite.close, suite.close, suite, version)

    async def _open_microsoft365(self, target: Target, budgets: Budgets | None) -> Opened:
        """Open Microsoft 365 with the settings in its file. Raises ConnectionBroken."""
        connection, folder = target.connection, self._folder(target)
        address = parse_graph(connection.address or "")
        if address is None or connection.credential_file is None or folder is None:
            raise _broken("credentialUnreadable")
        if not is_permitted(address.places, self.hosts):
            raise _broken("hostNotPermitted")
        version = await self.version_of(target)
        place = f"{address.url}/{address.directory}"
        try:
            settings = await asyncio.to_thread(read_settings, place, folder, connection.credential_file)
        except Microsoft365SettingsInvalid as error:
            raise ConnectionBroken(_BROKEN_FOR, Reason.build("connectionBroken", problem=str(error))) from error
        found = open_microsoft365(settings, connection.tenant_id, budgets)
        return Opened(found.adapters, None, found.close, found.close, None, version)

    def _folder(self, target: Target) -> Path | None:
        return None if self.files is None else self.files / str(target.connection.tenant_id)

    def _credential(self, target: Target) -> str:
        """Read the credential. Raises ConnectionBroken."""
        connection = target.connection
        try:
            if target.sealed is not None:
                context = context_of(connection.tenant_id, connection.id)
                return self.keyring.open(target.sealed, context).decode()
            folder = self._folder(target)
            if connection.credential_file is None or folder is None:
                raise _broken("credentialUnreadable")
            with (folder / connection.credential_file).open("rb") as file:
                return file.read(_MOST_BYTES).decode().strip()
        except (OSError, UnicodeDecodeError, KeysUnusable) as error:
            raise _broken("credentialUnreadable") from error

    def budget_of(self, target: Target) -> Budget | None:
        """Return the budget of the database of a connection.

        Tenants with directories in one database share it. Suites have no budget: each limits its own concurrency.
        Microsoft 365 has budgets for each kind of call, which its adapter takes.
        """
        address = parse_address(target.connection.address or "")
        if address is None or self.calls_per_second is None:
            return None
        # Another order of the hosts, or one of them twice, is no budget of its own.
        hosts = ",".join(sorted({f"{host}:{port}" for host, port in address.places}))
        return Budget(f"database {hosts}/{address.database}", self.calls_per_second)

    async def check(self, target: Target) -> Described:
        """Ask the directory of a connection once, over a new connection.

        Raises ConnectionBroken and TryAgain.
        """
        tenant_id = target.connection.tenant_id
        if target.connection.address is None:
            return Described()
        opened = await self.open(target)
        try:
            await opened.adapters.check(tenant_id)
            return described(await opened.adapters.directory.capabilities(tenant_id))
        finally:
            await opened.terminate()


def make_opener(settings: Settings, keyring: Keyring) -> Opener:
    """Build the opener of the settings."""
    return Opener(keyring, settings.permitted_hosts, settings.connection_files, settings.connection_calls_per_second)


def described(capabilities: Capabilities) -> Described:
    """Describe the abilities and limits of a directory by name."""
    limits = capabilities.limits
    values = {
        "displayName": limits.display_name,
        "mailboxName": limits.mailbox_name,
        "refusedCharacters": limits.refused_characters or None,
        "observeBatch": limits.observe_batch,
    }
    return Described(
        abilities=tuple(sorted(capabilities.abilities)),
        limits={name: each for name, each in values.items() if each is not None},
    )


class Connections:
    """The open directories of tenants, as routes of the ports.

    `database` has the worker's role. `processes` notifies all processes of a changed connection. Every process keeps
    all connections in memory, so that a call needs no query to find its directory.
    """

    def __init__(self, database: Database, opener: Opener, processes: Notifier) -> None:
        self._database = database
        self._opener = opener
        self._processes = processes
        self._targets: Mapping[TenantId, Target] = {}
        self._opened: dict[tuple[ConnectionId, int], Opened] = {}
        self._reported: set[tuple[ConnectionId, int]] = set()
        self._changed = asyncio.Event()
        self._closing: set[asyncio.Task[None]] = set()
        self._reading = asyncio.Lock()
        self._elsewhere: Mapping[TenantId, Route] = MappingProxyType({})
        self._budgets = Budgets(database, time.monotonic)

    @property
    def elsewhere(self) -> Mapping[TenantId, Route]:
        """Return the directories that are in other databases, by tenant."""
        return self._elsewhere

    def pool_of(self, tenant_id: TenantId) -> WatchfulPool | None:
        """Return the pool of a tenant's directory.

        None if it has none, or cannot be used now.
        """
        opened = self._usable(tenant_id)
        return None if opened is None else opened.pool

    def suite_of(self, tenant_id: TenantId) -> Suite | None:
        """Return the open suite of a tenant.

        None if it has none, or cannot be used now.
        """
        opened = self._usable(tenant_id)
        return None if opened is None else opened.suite

    def broken(self, tenant_id: TenantId) -> Reason | None:
        """Return the reason while the connection of a tenant is broken."""
        route = self._elsewhere.get(tenant_id)
        return None if route is None or route.broken is None else route.broken.because

    def heard(self, _payload: str = "") -> None:
        """Note that connections may have changed."""
        self._changed.set()

    async def run(self) -> None:
        """Follow changes of the connections for ever."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL.total_seconds()):
                    await self._changed.wait()
            self._changed.clear()
            # Without the database, the known connections stay.
            with suppress(Unavailable):
                await self.refresh()

    async def confirm(self, tenant_ids: Iterable[TenantId], *, elsewhere: bool) -> None:
        """Read the connections again if they contradict a claim of jobs.

        The claim has read whether the directories of these tenants are `elsewhere`. The notification of a new
        connection can arrive later, and the jobs would use the wrong directory. Raises Unavailable.
        """
        if any((each in self._elsewhere) is not elsewhere for each in tenant_ids):
            await self.refresh()

    async def refresh(self) -> None:
        """Read the connections, and open and close directories. Raises Unavailable."""
        async with self._reading:
            await self._read()

    async def _read(self) -> None:
        async with self._database.across_tenants() as tx:
            found = await records.find_targets(tx)
        targets = {each.connection.tenant_id: each for each in found if each.connection.address is not None}
        routes = {tenant_id: await self._route(target) for tenant_id, target in targets.items()}
        self._targets, self._elsewhere = targets, MappingProxyType(routes)
        kept = {each.key for each in targets.values()}
        self._reported = {each.key for each in targets.values() if each.connection.state is ConnectionState.BROKEN}
        for key in self._opened.keys() - kept:
            self._close(self._opened.pop(key))

    async def refused(self, tenant_id: TenantId, error: ConnectionBroken) -> None:
        """Set the connection of a tenant broken, once for each revision."""
        target = self._targets.get(tenant_id)
        if target is None or target.key in self._reported:
            return
        self._reported.add(target.key)
        trace_id = new_trace_id()
        try:
            async with self._database.across_tenants() as tx:
                editor = Editor(SERVICE, None, trace_id, None)
                await ConnectionStates(new_id, now).break_(tx, target.connection, error, editor)
        except Unavailable:
            # The next refused call records it.
            self._reported.discard(target.key)
            return
        logger.warning("The connection to a directory is broken. %s", error.reason, extra={"tenantId": str(tenant_id)})
        self._changed.set()
        self._processes.flag()

    async def close(self) -> None:
        """Close all directories."""
        self._elsewhere = MappingProxyType({})
        for each in self._opened.values():
            await each.terminate()
        self._opened.clear()
        for task in self._closing:
            task.cancel()
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _route(self, target: Target) -> Route:
        broken = _stored_break(target)
        present = self._opened.get(target.key)
        if present is not None and present.version != await self._opener.version_of(target):
            self._close(self._opened.pop(target.key))
        try:
            if target.key not in self._opened:
                self._opened[target.key] = await self._opener.open(target, self._budgets)
        except ConnectionBroken as error:
            return Route(None, broken or error)
        budget = self._opener.budget_of(target)
        limit = None if budget is None else Limit(budget, self._budgets)
        return Route(self._opened[target.key].adapters, broken, limit)

    def _usable(self, tenant_id: TenantId) -> Opened | None:
        target, route = self._targets.get(tenant_id), self._elsewhere.get(tenant_id)
        return None if target is None or route is None or route.broken is not None else self._opened.get(target.key)

    def _close(self, opened: Opened) -> None:
        task = asyncio.create_task(_close_soon(opened))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def confirmed(
    handlers: Mapping[JobKind, Handler], connections: Connections, *, elsewhere: bool
) -> Mapping[JobKind, Handler]:
    """Wrap the handlers of jobs that use a directory.

    Each claim confirms where it is.
    """

    def confirm(handler: Handler) -> Handler:
        async def handle(claim: Claim) -> None:
            await connections.confirm((job.tenant_id for job in claim.jobs), elsewhere=elsewhere)
            await handler(claim)

        return handle

    return {kind: confirm(handler) if kind in USING_DIRECTORY else handler for kind, handler in handlers.items()}


async def _close_soon(opened: Opened) -> None:
    """Close a directory after its running calls."""
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSED_WITHIN):
                await opened.close()
    finally:
        await opened.terminate()


async def _terminate(pool: WatchfulPool) -> None:
    pool.terminate()


def _stored_break(target: Target) -> ConnectionBroken | None:
    reason = target.connection.reason
    if target.connection.state is not ConnectionState.BROKEN or reason is None:
        return None
    return ConnectionBroken(_BROKEN_FOR, Reason.build("connectionBroken", problem=reason.detail))


def _broken(code: str) -> ConnectionBroken:
    return ConnectionBroken(_BROKEN_FOR, Reason.build(code))


@asynccontextmanager
async def followed_connections(
    database: Database, direct: str, opener: Opener
) -> AsyncIterator[tuple[Connections, Notifier]]:
    """Open and follow the connections of all tenants while the block runs.

    `direct` is the address of the notifications. The notifier announces changes to all processes. Raises Unavailable.
    """
    processes = Notifier(direct, CONNECTIONS_CHANNEL)
    connections = Connections(database, opener, processes)
    await connections.refresh()
    try:
        async with (
            running(processes.run()),
            running(listen(direct, CONNECTIONS_CHANNEL, connections.heard)),
            running(connections.run()),
        ):
            yield connections, processes
    finally:
        await connections.close()
