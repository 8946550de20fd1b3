# SPDX-License-Identifier: Apache-2.0
"""Changes of the state of connections, with their audit entry and event."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.auth.models import Editor
from chamberlain.changes.records import record_change
from chamberlain.connections import store
from chamberlain.connections.models import Connection, ConnectionState, Described, StateReason
from chamberlain.connections.rules import state_change
from chamberlain.core.errors import ConnectionBroken
from chamberlain.core.ids import EventId
from chamberlain.database.transactions import Transaction
from chamberlain.tenants import records as tenant_records


@dataclass(frozen=True, slots=True)
class ConnectionStates:
    """Sets connections ready or broken.

    A change of the state is recorded once, by compare-and-swap.
    """

    new_id: Callable[[], UUID]
    now: Callable[[], datetime]

    async def break_(self, tx: Transaction, connection: Connection, error: ConnectionBroken, editor: Editor) -> bool:
        """Set a connection broken, and park the jobs of its tenant.

        Returns False if it was broken before, or was changed meanwhile.
        """
        reason = _reason(error)
        if not await store.mark_broken(tx, connection, reason):
            return False
        await tenant_records.set_directory(
            tx, connection.tenant_id, is_parked=True, in_lanes=connection.address is not None
        )
        await self._record(tx, connection, reason, editor)
        return True

    async def stay_broken(self, tx: Transaction, connection: Connection, error: ConnectionBroken) -> None:
        """Record a failed check of a broken connection."""
        await store.mark_still_broken(tx, connection, _reason(error))

    async def make_ready(self, tx: Transaction, connection: Connection, described: Described, editor: Editor) -> bool:
        """Set a connection ready after a check; parked jobs continue.

        Returns whether it was not ready before. A connection that was changed meanwhile stays as it is.
        """
        was = await store.mark_ready(tx, connection, described)
        if was is None or was is ConnectionState.READY:
            return False
        await tenant_records.set_directory(
            tx, connection.tenant_id, is_parked=False, in_lanes=connection.address is not None
        )
        await self._record(tx, connection, None, editor)
        return True

    async def _record(
        self,
        tx: Transaction,
        connection: Connection,
        reason: StateReason | None,
        editor: Editor,
    ) -> None:
        await record_change(
            tx, state_change(connection, reason, editor, event_id=EventId(self.new_id()), now=self.now())
        )


def _reason(error: ConnectionBroken) -> StateReason:
    return StateReason(error.because.code or "connectionBroken", error.reason)
