# SPDX-License-Identifier: Apache-2.0
"""Bodies that never end, and clients that are gone before the end."""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import pytest
from starlette.types import ASGIApp, Message

from chamberlain.embedded.directory.faults_server import FaultsServer
from chamberlain.embedded.directory.graph.server import Access, GraphServer
from chamberlain.embedded.directory.requested_faults import RequestedFaults

if TYPE_CHECKING:
    from chamberlain.embedded.directory.database import Pool
    from chamberlain.embedded.directory.groups import FindGroups

pytestmark = pytest.mark.pure

# No call gets as far as the database.
NO_POOL = cast("Pool", None)
BEGINNING: Message = {"type": "http.request", "body": b'{"requests":', "more_body": True}
GONE: Message = {"type": "http.disconnect"}


async def access(_: str | None) -> Access:
    return Access(UUID(int=1), frozenset())


async def tenant(_: str | None) -> UUID:
    return UUID(int=1)


def graph() -> ASGIApp:
    return GraphServer(
        NO_POOL,
        find_groups=cast("FindGroups", None),
        graph_url="http://directory.example",
        authenticate=access,
        now=lambda: datetime(2026, 11, 20, tzinfo=UTC),
        new_request_id=lambda: UUID(int=1),
        body_timeout=0.01,
    )


def faults() -> ASGIApp:
    return FaultsServer(RequestedFaults(NO_POOL), tenant, lambda: UUID(int=1), body_timeout=0.01)


async def post(application: ASGIApp, path: str, messages: Sequence[Message]) -> tuple[int, Any]:
    """Send messages of a body, and return the status and body of the answer."""
    waiting, sent = list(messages), list[Message]()

    async def receive() -> Message:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": []}
    await application(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


async def test_a_body_that_does_not_arrive_in_time_is_refused() -> None:
    of_graph, graph_body = await post(graph(), "/v1.0/$batch", [BEGINNING])
    of_faults, faults_body = await post(faults(), "/faults", [BEGINNING])

    assert (of_graph, graph_body["error"]["code"]) == (408, "RequestTimeout")
    assert (of_faults, faults_body["code"]) == (408, "bodyTooSlow")


async def test_a_body_without_its_end_is_not_carried_out() -> None:
    of_graph, _ = await post(graph(), "/v1.0/$batch", [BEGINNING, GONE])
    of_faults, _ = await post(faults(), "/faults", [BEGINNING, GONE])

    assert (of_graph, of_faults) == (400, 400)
