# SPDX-License-Identifier: Apache-2.0
"""The stage of the conformance suite with the embedded directory as a peer: the adapter on its surface of Graph.

It has the properties of Graph only, and can be written. Every exchange is held against the published description.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import httpx2

from chamberlain.app.directory import found_together
from chamberlain.core.errors import ConnectionBroken
from chamberlain.core.ids import TenantId
from chamberlain.directory.microsoft365.connection import Microsoft365, open_microsoft365
from chamberlain.directory.routed import Route
from chamberlain.embedded.directory.errors import Unauthorized
from chamberlain.embedded.directory.graph.calls import Writer
from chamberlain.embedded.directory.graph.server import Access, GraphServer
from tests.databases import Databases
from tests.microsoft365.fake.sample import PERMISSIONS
from tests.microsoft365.recording_transport import RecordingTransport
from tests.microsoft365.stage import GRAPH, settings


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer of the sign-in, as msal reads it."""

    text: str
    status_code: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class SignIn:
    """A sign-in whose tokens are the ids of tenants."""

    def get(self, url: str, **options: Any) -> Answered:  # noqa: ANN401, ARG002 - as msal calls it.
        """Answer discovery."""
        authority = url.partition("/v2.0")[0]
        found = {"issuer": authority, "authorization_endpoint": authority, "token_endpoint": authority}
        return Answered(json.dumps(found))

    def post(self, url: str, **options: Any) -> Answered:  # noqa: ANN401, ARG002 - as msal calls it.
        """Answer with a token."""
        token = {"access_token": url.rpartition("/")[2], "token_type": "Bearer", "expires_in": 3600}
        return Answered(json.dumps(token))

    def close(self) -> None:
        """Close nothing."""


async def authenticate(header: str | None) -> Access:
    """Read the tenant of a token."""
    if header is None:
        raise Unauthorized("Access token is empty.", had_token=False)
    return Access(UUID(header.removeprefix("Bearer ")), frozenset(PERMISSIONS))


def opened(databases: Databases, tenant_id: TenantId) -> Microsoft365:
    """Open the adapter on the directory of these databases."""
    pool = databases.application.pool
    server = GraphServer(
        pool,
        find_groups=found_together(pool),
        graph_url=GRAPH,
        authenticate=authenticate,
        now=lambda: datetime.now(UTC),
        new_request_id=uuid4,
        is_strict=True,
        writer=Writer(databases.worker.pool, uuid4),
    )
    transport = RecordingTransport(httpx2.ASGITransport(app=server))
    return open_microsoft365(settings(tenant_id), tenant_id, None, transport=transport, sign_in=SignIn())


@dataclass
class PeerRoutes:
    """The adapters of both tenants as routes."""

    opened: Mapping[TenantId, Microsoft365]

    @property
    def elsewhere(self) -> Mapping[TenantId, Route]:
        return {tenant_id: Route(each.adapters) for tenant_id, each in self.opened.items()}

    async def refused(self, tenant_id: TenantId, error: ConnectionBroken) -> None:
        raise AssertionError(f"The connection of {tenant_id} is broken: {error.reason}")
