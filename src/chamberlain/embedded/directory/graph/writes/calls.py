# SPDX-License-Identifier: Apache-2.0
"""The transaction and the answer of a write."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import UUID

from chamberlain.embedded.directory.database import Connection, one_transaction
from chamberlain.embedded.directory.graph.calls import Call, Shape, Written


@asynccontextmanager
async def transaction(call: Call) -> AsyncIterator[Connection]:
    """Open a transaction that can write. A refused write rolls it back."""
    async with one_transaction(call.writing.pool) as connection:
        yield connection


def resource_at(call: Call, object_id: UUID) -> Call:
    """Return a call that reads the object after the write."""
    return replace(call, id=object_id, address=None, query_string=b"", visible_until=None, known_until=None)


def created(call: Call, path: str, shape: Shape) -> Written:
    """Answer with a new resource and its URL."""
    return Written(201, shape, f"{call.root}/{path}")
