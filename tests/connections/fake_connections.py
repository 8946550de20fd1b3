# SPDX-License-Identifier: Apache-2.0
"""Connections in memory, for tests of the API."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.auth.models import Caller, Edit, require_match
from chamberlain.connections.models import (
    Adapter,
    Connection,
    ConnectionOrder,
    ConnectionState,
    Described,
    present,
)
from chamberlain.connections.rules import objects_managed
from chamberlain.connections.service import ConnectionService
from chamberlain.core.ids import ConnectionId, TenantId

TENANT_ID = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
CONNECTION = ConnectionId(UUID("c0220000-0000-4000-8000-000000000001"))
AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


class FakeConnections(ConnectionService):
    """Keeps one connection. Its tenant has managed objects once `manages` is set."""

    def __init__(self) -> None:
        self.found: Connection | None = None
        self.orders: list[ConnectionOrder] = []
        self.manages = False

    async def list(self, caller: Caller) -> tuple[Connection, ...]:
        assert caller.tenant_id == TENANT_ID
        return () if self.found is None else (self.found,)

    async def read(self, caller: Caller, connection_id: ConnectionId) -> Connection:
        assert caller.tenant_id == TENANT_ID
        return present(self.found if self.found and self.found.id == connection_id else None)

    async def add(self, caller: Caller, order: ConnectionOrder, edit: Edit, *, force: bool) -> Connection:
        assert edit.if_match is None
        self._require(caller, force=force)
        self.orders.append(order)
        self.found = Connection(
            id=CONNECTION,
            tenant_id=caller.tenant_id,
            adapter=order.adapter or Adapter.EMBEDDED,
            address=order.address,
            has_secret=order.credential is not None and order.credential.secret is not None,
            credential_file=None if order.credential is None else order.credential.file,
            state=ConnectionState.NEW,
            reason=None,
            described=Described(),
            checked_at=None,
            revision=1,
            created_at=AT,
            updated_at=AT,
        )
        return self.found

    async def change(
        self, caller: Caller, connection_id: ConnectionId, order: ConnectionOrder, edit: Edit, *, force: bool
    ) -> Connection:
        before = await self.read(caller, connection_id)
        require_match(before.etag, edit, "connection")
        self._require(caller, force=force)
        self.orders.append(order)
        self.found = replace(before, address=order.address or before.address, revision=before.revision + 1)
        return self.found

    async def delete(self, caller: Caller, connection_id: ConnectionId, edit: Edit, *, force: bool) -> None:
        require_match((await self.read(caller, connection_id)).etag, edit, "connection")
        self._require(caller, force=force)
        self.found = None

    async def check(self, caller: Caller, connection_id: ConnectionId, edit: Edit) -> Connection:
        assert edit.trace_id
        found = await self.read(caller, connection_id)
        described = Described(("labels",), {"observeBatch": 25})
        self.found = replace(found, state=ConnectionState.READY, described=described, checked_at=AT)
        return self.found

    def _require(self, caller: Caller, *, force: bool) -> None:
        assert caller.tenant_id == TENANT_ID
        if self.manages and not force:
            raise objects_managed("do this")
