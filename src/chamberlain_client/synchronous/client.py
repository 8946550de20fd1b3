# Made by `python3 dev.py twin` from asynchronous/client.py, which is the one to be changed.
"""The client: the addresses of one service, a token, and all that may be called."""

import ssl
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from chamberlain_client.calls import Id
from chamberlain_client.clocks import Clock
from chamberlain_client.connections import address_of, trusting
from chamberlain_client.models.directory import DirectoryGroup
from chamberlain_client.models.groups import AcceptedGroup
from chamberlain_client.models.requests import Request
from chamberlain_client.operations import Server
from chamberlain_client.retries import Retries
from chamberlain_client.synchronous.adoptions import Adoptions
from chamberlain_client.synchronous.audit import Audit
from chamberlain_client.synchronous.collab_templates import CollabTemplates
from chamberlain_client.synchronous.deliveries import Deliveries
from chamberlain_client.synchronous.directory import Directory
from chamberlain_client.synchronous.drift import Drift
from chamberlain_client.synchronous.events import Events
from chamberlain_client.synchronous.findings import Findings
from chamberlain_client.synchronous.groups import Groups
from chamberlain_client.synchronous.jobs import Jobs
from chamberlain_client.synchronous.mailbox_templates import MailboxTemplates
from chamberlain_client.synchronous.mailboxes import Mailboxes
from chamberlain_client.synchronous.managed import ManagedGroups, ManagedSites
from chamberlain_client.synchronous.policies import Policies
from chamberlain_client.synchronous.requests import Requests
from chamberlain_client.synchronous.tenant import OwnTenant
from chamberlain_client.synchronous.transport import Transport
from chamberlain_client.synchronous.webhooks import Webhooks
from chamberlain_client.tokens import TokenSource
from chamberlain_client.version import __version__


class Chamberlain:
    """Calls one service. It keeps connections open: use it in a `with` block, or close it."""

    def __init__(
        self,
        base_url: str,
        token: TokenSource,
        *,
        insiders_base_url: str | None = None,
        graph_url: str | None = None,
        graph_token: TokenSource | None = None,
        extension_prefix: str = "chamberlain",
        timeout: float = 30.0,
        verify: ssl.SSLContext | Path | str | bool = True,
        retries: Retries | None = None,
        clock: Clock | None = None,
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
        client = httpx2.Client(
            verify=trusting(verify=verify), headers={"user-agent": f"chamberlain-client/{__version__}"}
        )
        self._transport = Transport(
            client, addresses, tokens, timeout=timeout, retries=retries or Retries(), clock=clock or Clock()
        )
        self.mailboxes = Mailboxes(self._transport)
        self.groups = Groups(self._transport)
        self.requests = Requests(self._transport)
        self.directory = Directory(self._transport, extension_prefix)
        self.mailbox_templates = MailboxTemplates(self._transport)
        self.collab_templates = CollabTemplates(self._transport)
        self.policies = Policies(self._transport)
        self.managed_groups = ManagedGroups(self._transport)
        self.managed_sites = ManagedSites(self._transport)
        self.findings = Findings(self._transport)
        self.drift = Drift(self._transport)
        self.events = Events(self._transport)
        self.deliveries = Deliveries(self._transport)
        self.webhooks = Webhooks(self._transport)
        self.jobs = Jobs(self._transport)
        self.adoptions = Adoptions(self._transport)
        self.audit = Audit(self._transport)
        self.tenant = OwnTenant(self._transport)

    def wait_for_request(self, request_id: Id, timeout: float = 300.0, *, retry_after: float | None = None) -> Request:
        """As `requests.wait`."""
        return self.requests.wait(request_id, timeout=timeout, retry_after=retry_after)

    def wait_for_group(self, asked: AcceptedGroup | Id, *, retry_after: float | None = None) -> DirectoryGroup:
        """As `directory.wait_for_group`."""
        return self.directory.wait_for_group(asked, retry_after=retry_after)

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
