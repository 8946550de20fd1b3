"""The client: the addresses of one service, a token, and all that may be called."""

import ssl
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from chamberlain_client.asynchronous.adoptions import AsyncAdoptions
from chamberlain_client.asynchronous.audit import AsyncAudit
from chamberlain_client.asynchronous.collab_templates import AsyncCollabTemplates
from chamberlain_client.asynchronous.deliveries import AsyncDeliveries
from chamberlain_client.asynchronous.directory import AsyncDirectory
from chamberlain_client.asynchronous.drift import AsyncDrift
from chamberlain_client.asynchronous.events import AsyncEvents
from chamberlain_client.asynchronous.findings import AsyncFindings
from chamberlain_client.asynchronous.groups import AsyncGroups
from chamberlain_client.asynchronous.jobs import AsyncJobs
from chamberlain_client.asynchronous.mailbox_templates import AsyncMailboxTemplates
from chamberlain_client.asynchronous.mailboxes import AsyncMailboxes
from chamberlain_client.asynchronous.managed import AsyncManagedGroups, AsyncManagedSites
from chamberlain_client.asynchronous.policies import AsyncPolicies
from chamberlain_client.asynchronous.requests import AsyncRequests
from chamberlain_client.asynchronous.tenant import AsyncOwnTenant
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.asynchronous.webhooks import AsyncWebhooks
from chamberlain_client.calls import Id
from chamberlain_client.clocks import AsyncClock
from chamberlain_client.connections import address_of, trusting
from chamberlain_client.models.directory import DirectoryGroup
from chamberlain_client.models.groups import AcceptedGroup
from chamberlain_client.models.requests import Request
from chamberlain_client.operations import Server
from chamberlain_client.retries import Retries
from chamberlain_client.tokens import AsyncTokenSource
from chamberlain_client.version import __version__


class AsyncChamberlain:
    """Calls one service. It keeps connections open: use it in a `with` block, or close it."""

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
        """`token` is a bearer token, or what gives one for each call. The directory takes tokens of its own audience:
        `graph_token`. `timeout` is the seconds in which an answer has to come; `verify` an SSL context, or the file
        with the certificates of the authorities to be trusted, or False to trust everybody. The directory is looked
        for below `base_url`, where the embedded one is, unless `graph_url` says another place. Raises NotAnAddress."""
        base = address_of(base_url)
        tokens = {
            Server.BASE: token,
            Server.INSIDERS: token,
            Server.GRAPH: token if graph_token is None else graph_token,
        }
        addresses = {
            Server.BASE: base,
            Server.INSIDERS: address_of(insiders_base_url or base),
            Server.GRAPH: address_of(graph_url or f"{base}/graph"),
        }
        client = httpx2.AsyncClient(
            verify=trusting(verify=verify), headers={"user-agent": f"chamberlain-client/{__version__}"}
        )
        self._transport = AsyncTransport(
            client, addresses, tokens, timeout=timeout, retries=retries or Retries(), clock=clock or AsyncClock()
        )
        self.mailboxes = AsyncMailboxes(self._transport)
        self.groups = AsyncGroups(self._transport)
        self.requests = AsyncRequests(self._transport)
        self.directory = AsyncDirectory(self._transport, extension_prefix)
        self.mailbox_templates = AsyncMailboxTemplates(self._transport)
        self.collab_templates = AsyncCollabTemplates(self._transport)
        self.policies = AsyncPolicies(self._transport)
        self.managed_groups = AsyncManagedGroups(self._transport)
        self.managed_sites = AsyncManagedSites(self._transport)
        self.findings = AsyncFindings(self._transport)
        self.drift = AsyncDrift(self._transport)
        self.events = AsyncEvents(self._transport)
        self.deliveries = AsyncDeliveries(self._transport)
        self.webhooks = AsyncWebhooks(self._transport)
        self.jobs = AsyncJobs(self._transport)
        self.adoptions = AsyncAdoptions(self._transport)
        self.audit = AsyncAudit(self._transport)
        self.tenant = AsyncOwnTenant(self._transport)

    async def wait_for_request(
        self, request_id: Id, timeout: float = 300.0, *, retry_after: float | None = None
    ) -> Request:
        """As `requests.wait`."""
        return await self.requests.wait(request_id, timeout=timeout, retry_after=retry_after)

    async def wait_for_group(self, asked: AcceptedGroup | Id, *, retry_after: float | None = None) -> DirectoryGroup:
        """As `directory.wait_for_group`."""
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
