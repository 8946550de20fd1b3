# SPDX-License-Identifier: Apache-2.0
"""The service of requests, and the use cases of jobs, built over an estate."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID, uuid4

from chamberlain.auth.models import ActorType, Caller
from chamberlain.auth.permissions import ScopePrefixes
from chamberlain.core.idempotency import Act, IdempotencyKey, KeptAnswer
from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.database.notify import REQUESTS_CHANNEL, Notifier, Watchers
from chamberlain.queue.service import JobService
from chamberlain.requests.models import RequestState
from chamberlain.requests.replies import ReplyTokens
from chamberlain.requests.rules import RequestView
from chamberlain.requests.service import RequestService
from chamberlain.requests.store import RequestLooks
from chamberlain.requests.timeline import Timelines
from chamberlain.secrets.keyring import Keyring
from tests.estates import ESTATE, TRACE, Estate, caller_of

PREFIX = "https://api.estate.example"
PREFIXES = ScopePrefixes(PREFIX, PREFIX)
ADDRESS = "192.0.2.1"
ACT = Act(None, None, TRACE, ADDRESS)


def act(*, comment: str | None = None, key: str | None = None, digest: bytes = b"") -> Act:
    """Build the act of an action."""
    return Act(comment, None if key is None else IdempotencyKey(key, digest), TRACE, ADDRESS)


def render(view: RequestView) -> bytes:
    """As little as shows what became of it."""
    return f'{{"state": "{view.record.state}", "actions": {len(view.actions)}}}'.encode()


def administrator(user: UserId, tenant_id: TenantId = ESTATE) -> Caller:
    """A caller with the permission of an administrator and no other."""
    return replace(caller_of(user, tenant_id), permissions=frozenset({f"{PREFIX}/admin/Config.ReadWrite.All"}))


def application(permission: str, tenant_id: TenantId = ESTATE) -> Caller:
    """A program that speaks for itself."""
    return replace(
        caller_of(UserId(uuid4()), tenant_id),
        type=ActorType.APPLICATION,
        permissions=frozenset({f"{PREFIX}/admin/{permission}"}),
    )


def request_service(
    estate: Estate, *, timelines: Timelines | None = None, new_id: Callable[[], UUID] = uuid4
) -> RequestService:
    """Build the service of requests of one process."""
    database = estate.databases.application
    return RequestService(
        database=database,
        authorization=estate.authorization(),
        people=estate.people,
        looks=RequestLooks(database),
        timelines=timelines or Timelines(database, Watchers()),
        workers=workers(estate),
        watchers=watchers(estate),
        new_id=new_id,
        now=estate.now,
        reply_tokens=reply_tokens(),
    )


def reply_tokens() -> ReplyTokens:
    """Tokens of approval mails, by a fixed key."""
    keyring = Keyring("test", {"test": bytes(32)})
    return ReplyTokens(keyring.sign, keyring.is_signed)


def job_service(estate: Estate) -> JobService:
    database = estate.databases.application
    return JobService(database, estate.authorization(), workers(estate))


def workers(estate: Estate) -> Notifier:
    return Notifier(estate.databases.addresses.application)


def watchers(estate: Estate) -> Notifier:
    return Notifier(estate.databases.addresses.application, REQUESTS_CHANNEL)


async def cancel(estate: Estate, request_id: RequestId, caller: Caller, said: Act = ACT) -> KeptAnswer:
    return await request_service(estate).cancel(caller, request_id, said, render)


async def retry(estate: Estate, request_id: RequestId, caller: Caller, said: Act = ACT) -> KeptAnswer:
    return await request_service(estate).retry(caller, request_id, said, render)


async def put(estate: Estate, request_id: RequestId, state: RequestState) -> None:
    """Let a request be in a state, however it may have come there."""
    async with estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.request SET state = $2 WHERE request_id = $1", request_id, state)
