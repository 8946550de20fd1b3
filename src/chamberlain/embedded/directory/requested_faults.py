# SPDX-License-Identifier: Apache-2.0
"""Faults that a test run sets over HTTP, per tenant and operation.

They are rows, so all processes share them. A fault ends by itself. Callers ask for faults only if the surface is on, so
that the directory without it does nothing for them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from chamberlain.embedded.directory.database import Pool, database_errors
from chamberlain.embedded.directory.errors import NotNow, NotYet, Throttled, Unreachable
from chamberlain.embedded.directory.faults import AWAY, NOT_SHOWN, TOO_MANY
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# Seconds. A forgotten fault is gone after an hour.
LONGEST = 3600
MOST_FAULTS = 100


class Operation(StrEnum):
    """Calls that a fault can hit."""

    PEOPLE_READ = "people.read"
    GROUPS_READ = "groups.read"
    GROUPS_WRITE = "groups.write"
    MAILBOXES_READ = "mailboxes.read"
    MAILBOXES_WRITE = "mailboxes.write"
    GUESTS_READ = "guests.read"
    GUESTS_WRITE = "guests.write"
    GRAPH_READ = "graph.read"
    GRAPH_WRITE = "graph.write"
    SCIM_READ = "scim.read"
    SCIM_WRITE = "scim.write"

    @property
    def is_write(self) -> bool:
        """Return whether the operation writes."""
        return self.value.endswith(".write")


class Kind(StrEnum):
    """The result of a call with a fault.

    The last two are for writes only: the write succeeds, and the caller gets an error.
    """

    THROTTLED = "throttled"
    AWAY = "away"
    NOT_YET = "notYet"
    LOST_RESPONSE = "lostResponse"

    @property
    def is_after_write(self) -> bool:
        """Return whether the call is carried out."""
        return self in {Kind.NOT_YET, Kind.LOST_RESPONSE}


class NewFault(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A fault to set.

    It ends after `seconds`. The client is asked to wait `retry_after` seconds. The first `after_calls` calls succeed,
    and the fault hits the following `times` ones; None means all.
    """

    operation: Operation
    kind: Kind
    seconds: Annotated[int, Meta(ge=1, le=LONGEST)]
    retry_after: Annotated[int, Meta(ge=1, le=LONGEST)] = 1
    after_calls: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    times: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None


class SetFault(Struct, frozen=True, rename="camel"):
    """A fault that is set, with its number of calls."""

    id: UUID
    operation: str
    kind: str
    retry_after: int
    after_calls: int
    times: int | None
    calls: int
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class Hit:
    """A fault that hits a call."""

    kind: Kind
    after: timedelta

    def error(self) -> NotNow:
        """Return the error of the call."""
        match self.kind:
            case Kind.THROTTLED:
                return Throttled(TOO_MANY, self.after)
            case Kind.NOT_YET:
                return NotYet(NOT_SHOWN, self.after)
            case Kind.AWAY | Kind.LOST_RESPONSE:
                return Unreachable(AWAY, self.after)


class RequestedFaults:
    """The faults of all tenants.

    Any role may take them. Setting and listing need the worker's role.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def take(self, operation: Operation, tenants: Collection[UUID]) -> Mapping[UUID, Hit]:
        """Count a call, and return the faults that hit it.

        Of several faults the oldest counts. Raises Unreachable.
        """
        with database_errors():
            rows = await self._pool.fetch(SQL["take_faults"], sorted(set(tenants)), operation.value)
        hits: dict[UUID, Hit] = {}
        for row in rows:
            number = row["calls"] - row["after_calls"]
            if number >= 1 and (row["times"] is None or number <= row["times"]):
                hits.setdefault(row["tenant_id"], Hit(Kind(row["kind"]), timedelta(seconds=row["retry_after_seconds"])))
        return hits

    async def list(self, tenant_id: UUID) -> Sequence[SetFault]:
        """List the current faults of a tenant, the oldest first."""
        with database_errors():
            rows = await self._pool.fetch(SQL["list_faults"], tenant_id)
        return [SetFault(**row) for row in rows]

    async def set(self, tenant_id: UUID, id_: UUID, new: NewFault) -> SetFault | None:
        """Set a fault. Returns None if the tenant has too many."""
        with database_errors():
            row = await self._pool.fetchrow(
                SQL["set_fault"],
                tenant_id,
                id_,
                new.operation.value,
                new.kind.value,
                new.retry_after,
                new.after_calls,
                new.times,
                new.seconds,
                MOST_FAULTS,
            )
        return None if row is None else SetFault(**row)

    async def clear(self, tenant_id: UUID, id_: UUID | None = None) -> bool:
        """Clear a fault, or all of a tenant.

        Returns whether there was one.
        """
        with database_errors():
            cleared = await self._pool.fetch(SQL["clear_faults"], tenant_id, id_)
        return bool(cleared)
