# SPDX-License-Identifier: Apache-2.0
"""Administer the connection of a tenant to its directory."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller, Edit, Editor, require_match
from chamberlain.auth.permissions import Operation
from chamberlain.changes.records import record_change
from chamberlain.connections import records, store
from chamberlain.connections.models import (
    Adapter,
    Connection,
    ConnectionOrder,
    ConnectionSettings,
    ConnectionState,
    Credential,
    Described,
    Target,
    context_of,
    present,
)
from chamberlain.connections.rules import connection_change, connection_faults, keeps_secret, moves, objects_managed
from chamberlain.connections.states import ConnectionStates
from chamberlain.connections.store import Stored
from chamberlain.core.errors import Conflict, ConnectionBroken, NotPossible, TryAgain, Unavailable
from chamberlain.core.ids import ConnectionId, TenantId
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Database, Transaction
from chamberlain.secrets.keyring import Keyring
from chamberlain.tenants import records as tenant_records

# A check takes some seconds if the directory does not answer.
_CHECK_AGAIN: Final = timedelta(seconds=5)

# Opens a connection once, asks its directory, and describes it. Raises ConnectionBroken and TryAgain.
Check = Callable[[Target], Awaitable[Described]]


@dataclass(slots=True)
class ConnectionService:
    """Add, read, change, check and delete the connection of a tenant.

    Every method raises Forbidden for callers who are not administrators. It raises Unavailable if the directory does
    not answer whether the caller is one. `hosts` are the hosts that the operator permits. `processes` are notified of
    changes, `workers` of jobs that can continue.
    """

    database: Database
    authorization: Authorization
    keyring: Keyring
    check_target: Check
    hosts: Collection[str]
    processes: Notifier
    workers: Notifier
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]
    _checking: set[ConnectionId] = field(default_factory=set, init=False)

    async def list(self, caller: Caller) -> tuple[Connection, ...]:
        """List the connection of the tenant. There is at most one."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            found = await records.find(tx, caller.tenant_id)
        return () if found is None else (found,)

    async def read(self, caller: Caller, connection_id: ConnectionId) -> Connection:
        """Read a connection. Raises NotFound."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        async with self.database.transaction(caller.tenant_id) as tx:
            return _identified(await records.find(tx, caller.tenant_id), connection_id)

    async def add(self, caller: Caller, order: ConnectionOrder, edit: Edit, *, force: bool) -> Connection:
        """Add the connection of the tenant.

        Raises NotPossible with all errors, and Conflict if the tenant has a connection already, or before the
        migrations after an upgrade. With managed objects in its present directory, it raises Conflict unless `force` is
        set.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, edit)
        tenant_id, connection_id = caller.tenant_id, ConnectionId(self.new_id())
        wanted = _new_connection(tenant_id, connection_id, order, self.now())
        self._require_valid(wanted)
        async with self.database.transaction(tenant_id) as tx:
            await _require_upgraded(tx, wanted.adapter)
            if wanted.address is not None:
                await _require_unmanaged(tx, tenant_id, "add a connection to another directory", force=force)
            if not await store.insert(tx, wanted, await self._stored(tx, wanted, order.credential, None)):
                raise _exists()
            connection = present(await records.find(tx, tenant_id))
            await _set_directory(tx, tenant_id, connection)
            await record_change(tx, connection_change("create", None, connection, editor))
        self.processes.flag()
        return connection

    async def change(
        self, caller: Caller, connection_id: ConnectionId, order: ConnectionOrder, edit: Edit, *, force: bool
    ) -> Connection:
        """Change parts of a connection and return it.

        A broken connection stays broken until a check passes. Raises NotFound, Stale, NotPossible with all errors, and
        Conflict for another adapter while the tenant has managed objects, unless `force` is set.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, edit)
        tenant_id = caller.tenant_id
        async with self.database.transaction(tenant_id) as tx:
            before = _identified(await store.lock(tx, tenant_id), connection_id)
            require_match(before.etag, edit, "connection")
            wanted = _changed(before, order)
            self._require_valid(wanted)
            if wanted.adapter is not before.adapter:
                await _require_upgraded(tx, wanted.adapter)
            if moves(before.settings, wanted.settings):
                await _require_unmanaged(tx, tenant_id, "change its directory", force=force)
            if wanted == before and order.credential is None:
                return before
            target = await records.find_target(tx, tenant_id)
            await store.change(tx, before, await self._stored(tx, wanted, order.credential, target))
            after = present(await records.find(tx, tenant_id))
            await _set_directory(tx, tenant_id, after)
            change = connection_change("change", before, after, editor, new_credential=order.credential is not None)
            await record_change(tx, change)
        self.processes.flag()
        return after

    async def delete(self, caller: Caller, connection_id: ConnectionId, edit: Edit, *, force: bool) -> None:
        """Delete a connection.

        The tenant then uses the directory in the database of the service. Raises NotFound, Stale, and Conflict while
        the tenant has managed objects, unless `force` is set.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, edit)
        async with self.database.transaction(caller.tenant_id) as tx:
            before = _identified(await store.lock(tx, caller.tenant_id), connection_id)
            require_match(before.etag, edit, "connection")
            if before.address is not None:
                await _require_unmanaged(tx, caller.tenant_id, "delete the connection", force=force)
            await store.delete(tx, before)
            await _set_directory(tx, caller.tenant_id, None)
            await record_change(tx, connection_change("delete", before, None, editor))
        self.processes.flag()
        self.workers.flag()

    async def check(self, caller: Caller, connection_id: ConnectionId, edit: Edit) -> Connection:
        """Check a connection now, and return it with its new state.

        A passed check makes it ready, also a broken one. Raises NotFound, and Unavailable if the directory does not
        answer or another check of it runs in this process: the state then stays.
        """
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        editor = await self.authorization.editor(caller, edit)
        async with self.database.transaction(caller.tenant_id) as tx:
            target = await records.find_target(tx, caller.tenant_id)
        connection = _identified(None if target is None else target.connection, connection_id)
        if connection.id in self._checking:
            # Each check opens a connection, and a silent server keeps it for seconds.
            raise Unavailable("overloaded", "Another check of this connection is running.", after=_CHECK_AGAIN)
        if target is not None:
            self._checking.add(connection.id)
            try:
                await self._check(target, editor)
            finally:
                self._checking.discard(connection.id)
        async with self.database.transaction(caller.tenant_id) as tx:
            return _identified(await records.find(tx, caller.tenant_id), connection.id)

    async def _check(self, target: Target, editor: Editor) -> None:
        states, connection = ConnectionStates(self.new_id, self.now), target.connection
        try:
            described = await self.check_target(target)
        except ConnectionBroken as error:
            async with self.database.transaction(connection.tenant_id) as tx:
                if not await states.break_(tx, connection, error, editor):
                    await states.stay_broken(tx, connection, error)
        except TryAgain as error:
            detail = f"The directory does not answer: {error.reason} The state of the connection stays."
            raise Unavailable("overloaded", detail, after=error.after) from error
        else:
            async with self.database.transaction(connection.tenant_id) as tx:
                await states.make_ready(tx, connection, described, editor)
            self.workers.flag()
        self.processes.flag()

    def _require_valid(self, wanted: Connection) -> None:
        faults = connection_faults(
            wanted.adapter,
            wanted.address,
            has_credential=wanted.has_credential,
            has_secret=wanted.has_secret,
            hosts=self.hosts,
        )
        if found := tuple(faults):
            raise NotPossible(found)

    async def _stored(
        self, tx: Transaction, wanted: Connection, credential: Credential | None, target: Target | None
    ) -> Stored:
        """Build the stored parts; a new secret is encrypted."""
        sealed = target.sealed if target is not None and wanted.has_secret and credential is None else None
        if credential is not None and credential.secret is not None:
            await store.announce(tx)
            context = context_of(wanted.tenant_id, wanted.id)
            sealed = self.keyring.seal(credential.secret.encode(), context)
        return Stored(wanted.adapter, wanted.address, sealed, wanted.credential_file)


@dataclass(frozen=True, slots=True)
class ConnectionWriter:
    """Writes the connection that a configuration file wants.

    It uses the transaction of its caller. The caller has validated it. `hosts` are the hosts that the operator permits.
    """

    hosts: Collection[str]
    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def write(
        self,
        tx: Transaction,
        tenant_id: TenantId,
        wanted: ConnectionSettings | None,
        seen: Connection | None,
        editor: Editor,
    ) -> None:
        """Replace the settings of a connection; None deletes it.

        It is audited. All processes are notified by the commit. Raises Conflict if the connection is another one than
        `seen` by now, and for a new one before the migrations after an upgrade.
        """
        before = await store.lock(tx, tenant_id)
        if _version(before) != _version(seen):
            raise _changed_meanwhile()
        if wanted is None and before is not None:
            await store.delete(tx, before)
        elif wanted is not None:
            await self._put(tx, tenant_id, wanted, before)
        after = await records.find(tx, tenant_id)
        await _set_directory(tx, tenant_id, after)
        verb = "create" if before is None else "delete" if after is None else "change"
        await record_change(tx, connection_change(verb, before, after, editor))
        await store.notify(tx)

    async def _put(
        self, tx: Transaction, tenant_id: TenantId, wanted: ConnectionSettings, before: Connection | None
    ) -> None:
        if before is None or before.adapter is not wanted.adapter:
            await _require_upgraded(tx, wanted.adapter)
        if before is None:
            credential = None if wanted.credential_file is None else Credential(file=wanted.credential_file)
            order = ConnectionOrder(wanted.adapter, wanted.address, credential)
            new = _new_connection(tenant_id, ConnectionId(self.new_id()), order, self.now())
            stored = Stored(new.adapter, new.address, None, new.credential_file)
            if not await store.insert(tx, new, stored):
                raise _changed_meanwhile()
            return
        target = await records.find_target(tx, tenant_id)
        sealed = target.sealed if target is not None and keeps_secret(before, wanted) else None
        await store.change(tx, before, Stored(wanted.adapter, wanted.address, sealed, wanted.credential_file))


def _version(connection: Connection | None) -> tuple[ConnectionId, int] | None:
    return None if connection is None else (connection.id, connection.revision)


def _changed_meanwhile() -> Conflict:
    detail = "The connection of the tenant was changed meanwhile. Nothing was changed. Plan the file again."
    return Conflict("stateDoesNotAllow", detail)


def _identified(found: Connection | None, connection_id: ConnectionId) -> Connection:
    return present(found if found is not None and found.id == connection_id else None)


def _new_connection(
    tenant_id: TenantId, connection_id: ConnectionId, order: ConnectionOrder, now: datetime
) -> Connection:
    empty = Connection(
        id=connection_id,
        tenant_id=tenant_id,
        adapter=Adapter.EMBEDDED,
        address=None,
        has_secret=False,
        credential_file=None,
        state=ConnectionState.NEW,
        reason=None,
        described=Described(),
        checked_at=None,
        revision=1,
        created_at=now,
        updated_at=now,
    )
    return _changed(empty, order)


def _changed(before: Connection, order: ConnectionOrder) -> Connection:
    """Apply an order.

    A new credential replaces the other kind of credential. A stored one does not go to another host.
    """
    after = replace(
        before,
        adapter=before.adapter if order.adapter is None else order.adapter,
        address=before.address if order.address is None else order.address,
    )
    if order.credential is None:
        return replace(after, has_secret=keeps_secret(before, after.settings))
    return replace(after, has_secret=order.credential.secret is not None, credential_file=order.credential.file)


async def _set_directory(tx: Transaction, tenant_id: TenantId, connection: Connection | None) -> None:
    """Keep the flags of the tenant that its jobs depend on."""
    is_broken = connection is not None and connection.state is ConnectionState.BROKEN
    in_lanes = connection is not None and connection.address is not None
    await tenant_records.set_directory(tx, tenant_id, is_parked=is_broken, in_lanes=in_lanes)


async def _require_unmanaged(tx: Transaction, tenant_id: TenantId, action: str, *, force: bool) -> None:
    if not force and await records.manages(tx, tenant_id):
        raise objects_managed(action)


def _exists() -> Conflict:
    detail = "The tenant has a connection already. Change it by PATCH, or delete it first."
    return Conflict("stateDoesNotAllow", detail)


async def _require_upgraded(tx: Transaction, adapter: Adapter) -> None:
    """Require that all processes know connections of an adapter.

    It would use the directory of the service, or set the connection broken.
    """
    if not await store.is_upgraded(tx, adapter):
        detail = (
            "Processes of an earlier version may still run. They would use the directory of the service for this "
            "tenant. Ask the operator to stop them and to run `chamberlain migrate`."
        )
        raise Conflict("stateDoesNotAllow", detail)
