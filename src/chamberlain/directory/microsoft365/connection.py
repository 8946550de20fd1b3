# SPDX-License-Identifier: Apache-2.0
"""Opens the Microsoft 365 directory of a tenant as ports.

Nothing is connected before the first call. All clients belong to one event loop.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

import httpx2

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.database.connection import random_id
from chamberlain.directory import port
from chamberlain.directory.budgets import Budgets
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.microsoft365.adoptions import GraphAdoptions
from chamberlain.directory.microsoft365.calls.people import count_users
from chamberlain.directory.microsoft365.capabilities import CAPABILITIES
from chamberlain.directory.microsoft365.changes import GraphChanges
from chamberlain.directory.microsoft365.creation import Post, Upsert
from chamberlain.directory.microsoft365.groups import Groups
from chamberlain.directory.microsoft365.guests import GraphGuests
from chamberlain.directory.microsoft365.lookups import GraphLookups
from chamberlain.directory.microsoft365.people import GraphPeople
from chamberlain.directory.microsoft365.settings import (
    CreationMethod,
    Microsoft365Settings,
    Microsoft365SettingsInvalid,
    read_settings,
    settings_version,
)
from chamberlain.directory.microsoft365.tokens import HttpClient, Tokens
from chamberlain.directory.microsoft365.wire.graph import Graph
from chamberlain.directory.microsoft365.wire.pace import Pace
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.routed import Adapters
from chamberlain.http_client import open_http_client

__all__ = ["Microsoft365", "Microsoft365SettingsInvalid", "open_microsoft365", "read_settings", "settings_version"]

_MOST_CONNECTIONS: Final = 16
_TIMEOUT_SECONDS: Final = 60.0
_NO_ID: Final = UUID(int=0)


@dataclass(frozen=True, slots=True, eq=False)
class Microsoft365:
    """An open directory. `close` ends its connections. Running calls fail with TryAgain."""

    adapters: Adapters
    close: Callable[[], Awaitable[None]]


class GraphDirectory(port.Directory):
    """Groups of one tenant, for the worker. Mailboxes are not managed yet."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    async def capabilities(self, tenant_id: TenantId) -> Capabilities:  # noqa: ARG002 - one tenant.
        """Return the capabilities of Microsoft 365."""
        return CAPABILITIES

    async def observe(self, references: Sequence[GroupReference]) -> Sequence[ObservedGroup | None]:
        """Observe each group."""
        return await self._groups.observe(references)

    async def ensure(self, works: Sequence[port.GroupWork]) -> Sequence[port.GroupOutcome]:
        """Provision each group."""
        return await self._groups.ensure(works)

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        """Observe no mailboxes."""
        return [None for _ in references]

    async def ensure_mailboxes(self, works: Sequence[port.MailboxWork]) -> Sequence[port.MailboxOutcome]:
        """Refuse mailboxes."""
        refusal = Rejected("mailboxesNotSupported", "This adapter does not manage mailboxes yet.")
        return [port.Outcome(None, (), refusal) for _ in works]


def open_microsoft365(
    settings: Microsoft365Settings,
    tenant_id: TenantId,
    budgets: Budgets | None,
    *,
    transport: httpx2.AsyncBaseTransport | None = None,
    sign_in: HttpClient | None = None,
    new_id: Callable[[], UUID] = random_id,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Microsoft365:
    """Build the ports of a directory.

    Budgets hold its calls back; a check needs none. `transport`, `sign_in`, `new_id` and `sleep` are for tests.
    """
    http = open_http_client(_TIMEOUT_SECONDS, most_connections=_MOST_CONNECTIONS, transport=transport)
    tokens = Tokens(settings.application, sign_in)
    pace = Pace(budgets, tenant_id, directory=settings.directory, application=settings.application.client_id)
    graph = Graph(http, tokens, pace, address=settings.graph, new_id=new_id, sleep=sleep)
    pace.count_users = partial(count_users, graph)
    creation = Post(graph) if settings.creation is CreationMethod.POST else Upsert(graph)
    guests = GraphGuests(graph, GraphChanges(graph, settings.directory))
    people, directory = GraphPeople(graph), GraphDirectory(Groups(creation))

    async def close() -> None:
        await http.aclose()
        await tokens.close()

    async def check(tenant_id: TenantId) -> None:
        """Ask Graph once for users and groups. Nothing has these ids."""
        await people.look_up(PeopleQuestion(tenant_id, users=frozenset({UserId(_NO_ID)})))
        await directory.observe([GroupReference(tenant_id, "chamberlain_group", RequestId(_NO_ID))])

    adapters = Adapters(
        people=people,
        directory=directory,
        guests=guests,
        adoptions=GraphAdoptions(graph),
        subjects=guests,
        check=check,
        lookups=GraphLookups(graph),
    )
    return Microsoft365(adapters, close)
