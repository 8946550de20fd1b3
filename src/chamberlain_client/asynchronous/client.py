# SPDX-License-Identifier: Apache-2.0
"""The client: one service, its tokens, and all operations by noun."""

import ssl
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from chamberlain_client.asynchronous.administration import (
    AsyncAdoptions,
    AsyncAudit,
    AsyncConfiguration,
    AsyncConnections,
    AsyncDeliveries,
    AsyncDrift,
    AsyncEvents,
    AsyncJobs,
    AsyncOwnFigures,
    AsyncOwnTenant,
    AsyncPermissions,
    AsyncReleases,
    AsyncWebhooks,
)
from chamberlain_client.asynchronous.groups import AsyncCollabTemplates, AsyncDirectory, AsyncGroups
from chamberlain_client.asynchronous.guests import (
    AsyncFindings,
    AsyncManagedGroups,
    AsyncManagedSites,
    AsyncPolicies,
)
from chamberlain_client.asynchronous.mailboxes import AsyncMailboxes, AsyncMailboxTemplates
from chamberlain_client.asynchronous.me import AsyncCaller
from chamberlain_client.asynchronous.people import AsyncPeople
from chamberlain_client.asynchronous.requests import AsyncOwnSubstitute, AsyncRequests
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import Id
from chamberlain_client.connections import AsyncTokenSource, load_trust, parse_address
from chamberlain_client.models import AcceptedGroup, DirectoryGroup, Request
from chamberlain_client.operations import Server
from chamberlain_client.timing import AsyncClock, Retries
from chamberlain_client.version import __version__


class AsyncChamberlain:
    """A client of one service.

    It keeps connections open: use it in a `with` block, or close it.
    """

    def __init__(
        self,
        base_url: str,
        token: AsyncTokenSource,
        *,
        insiders_base_url: str | None = None,
        graph_url: str | None = None,
        graph_token: AsyncTokenSource | None = None,
        extension_prefix: str = "chamberlain",
        timeout: float = 30.0,
        verify: ssl.SSLContext | Path | str | bool = True,
        retries: Retries | None = None,
        clock: AsyncClock | None = None,
    ) -> None:
        """Configure the client; nothing is sent. Raises NotAnAddress.

        `token` is a bearer token, or a function that returns one for each call. The directory needs tokens of its own
        audience: `graph_token`. `timeout` is the number of seconds for a response. `verify` is an SSL context, a file
        with the certificates of trusted authorities, or False, which disables verification. `graph_url` is the address
        of the directory; the default is the embedded one, below `base_url`.
        """
        base = parse_address(base_url)
        tokens = {
            Server.BASE: token,
            Server.INSIDERS: token,
            Server.GRAPH: token if graph_token is None else graph_token,
        }
        addresses = {
            Server.BASE: base,
            Server.INSIDERS: parse_address(insiders_base_url or base),
            Server.GRAPH: parse_address(graph_url or f"{base}/graph"),
        }
        client = httpx2.AsyncClient(
            verify=load_trust(verify=verify), headers={"user-agent": f"chamberlain-client/{__version__}"}
        )
        self._transport = AsyncTransport(
            client, addresses, tokens, timeout=timeout, retries=retries or Retries(), clock=clock or AsyncClock()
        )
        self.me = AsyncCaller(self._transport)
        self.mailboxes = AsyncMailboxes(self._transport)
        self.groups = AsyncGroups(self._transport)
        self.requests = AsyncRequests(self._transport)
        self.people = AsyncPeople(self._transport)
        self.substitute = AsyncOwnSubstitute(self._transport)
        self.directory = AsyncDirectory(self._transport, extension_prefix)
        self.mailbox_templates = AsyncMailboxTemplates(self._transport)
        self.collab_templates = AsyncCollabTemplates(self._transport)
        self.policies = AsyncPolicies(self._transport)
        self.managed_groups = AsyncManagedGroups(self._transport)
        self.managed_sites = AsyncManagedSites(self._transport)
        self.findings = AsyncFindings(self._transport)
        self.drift = AsyncDrift(self._transport)
        self.figures = AsyncOwnFigures(self._transport)
        self.permissions = AsyncPermissions(self._transport)
        self.events = AsyncEvents(self._transport)
        self.deliveries = AsyncDeliveries(self._transport)
        self.webhooks = AsyncWebhooks(self._transport)
        self.jobs = AsyncJobs(self._transport)
        self.adoptions = AsyncAdoptions(self._transport)
        self.releases = AsyncReleases(self._transport)
        self.connections = AsyncConnections(self._transport)
        self.audit = AsyncAudit(self._transport)
        self.tenant = AsyncOwnTenant(self._transport)
        self.configuration = AsyncConfiguration(self._transport)

    async def wait_for_request(
        self, request_id: Id, timeout: float = 300.0, *, retry_after: float | None = None
    ) -> Request:
        """Call `requests.wait`."""
        return await self.requests.wait(request_id, timeout=timeout, retry_after=retry_after)

    async def wait_for_group(self, asked: AcceptedGroup | Id, *, retry_after: float | None = None) -> DirectoryGroup:
        """Call `directory.wait_for_group`."""
        return await self.directory.wait_for_group(asked, retry_after=retry_after)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
