"""Notices by mail, wired: the mail server that the settings name, and the loop that hands messages over to it."""

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

from chamberlain.app.clock_and_ids import new_id, new_webhook_secret, now
from chamberlain.app.dependencies import WorkMeans
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.database.clock import decision_time
from chamberlain.notifications.jobs import SendNotices
from chamberlain.notifications.mail_server import MailServer, read_address
from chamberlain.notifications.messages import Sender
from chamberlain.observability.metrics import delivery_run, jobs_done
from chamberlain.queue.lanes import LaneLoop, Places
from chamberlain.queue.models import JobKind
from chamberlain.requests.finish import RequestJobHolder
from chamberlain.secrets.keyring import load_keyring
from chamberlain.settings import Settings
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from chamberlain.webhooks.addresses import Resolver
from chamberlain.webhooks.jobs import DeliverWebhooks
from chamberlain.webhooks.sender import Send
from chamberlain.webhooks.sender import Sender as WebhookSender

# Each is a connection, and mail servers let few come from one machine. Nobody waits for a mail as for a page.
PLACES = Places(fast=4, fast_of_one=2, slow=4, slow_of_one=2, all=8, free=1)
# Without a mail server there is nothing to do but to give up what is left of the time when there was one.
IDLE = timedelta(minutes=1)


def notice_loop(means: WorkMeans, may_claim: Callable[[], bool]) -> LaneLoop:
    """Sends notices, those of each tenant in a lane of their own: a mail server that hangs delays nothing but mail."""
    server = mail_server(means.settings)
    return LaneLoop(
        means.database,
        JobKind.NOTICE_SEND,
        SendNotices(
            means.database,
            means.people,
            server,
            link_maker(means.settings),
            confirm_address(means.settings),
            decision_time,
        ),
        wake=asyncio.Event(),
        new_id=new_id,
        holder=RequestJobHolder(means.database, means.notifier),
        observe=jobs_done,
        may_claim=may_claim,
        places=PLACES if server is not None else replace(PLACES, poll=IDLE),
    )


def mail_server(settings: Settings) -> MailServer | None:
    """The server that mail is handed to; None where nobody is told anything by mail."""
    if settings.smtp_url is None:
        return None
    return MailServer(read_address(settings.smtp_url.get_secret_value()), _sender(settings.smtp_sender))


def link_maker(settings: Settings) -> Callable[[TenantId, RequestId], str | None]:
    """Gives where a person can look at a request, if somewhere."""

    def link_of(tenant_id: TenantId, request_id: RequestId) -> str | None:
        link = settings.notice_link
        return link and link.replace("{tenantId}", str(tenant_id)).replace("{requestId}", str(request_id))

    return link_of


def confirm_address(settings: Settings) -> str:
    """Where a finding is confirmed, with ID for its id."""
    return f"{settings.base_url}/admin/v1/findings/ID/confirm/"


def _sender(written: str) -> Sender:
    """`Name <address>`, or an address alone; the settings have seen that it is one of these."""
    name, _, address = written.rpartition("<")
    return Sender(name.strip(), address.removesuffix(">"))


@asynccontextmanager
async def webhook_sender(settings: Settings) -> AsyncIterator[WebhookSender]:
    """Open a sender for as long as the block runs."""
    sender = WebhookSender(
        resolve=Resolver(),
        allowed_networks=settings.allowed_networks,
        allow_http=settings.webhook_allow_http,
        trust=ssl.create_default_context(),
        now=now,
    )
    try:
        yield sender
    finally:
        await sender.close()


def webhook_work(means: WorkMeans, send: Send) -> DeliverWebhooks:
    """Build the handler of deliveries. Raises KeysUnusable."""
    return DeliverWebhooks(
        database=means.database,
        send=send,
        secrets=WebhookSecrets(load_keyring(means.settings.keys_file), new_webhook_secret, now),
        new_id=new_id,
        now=now,
        decision_time=decision_time,
        jitter=random.random,
        observe=delivery_run,
    )
