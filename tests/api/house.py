"""A small house with real doors: the whole API over services that keep everything in memory."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from uuid import UUID

from chamberlain.api.hosts import hosts_of
from chamberlain.api.services import Addresses, Check, Services
from chamberlain.api.streams import Streams
from chamberlain.rules.actions import RequestView, viewed
from chamberlain.rules.callers import Actor, ActorType, Caller
from chamberlain.rules.errors import NotFound, Refusal, Unauthenticated
from chamberlain.rules.groups import GroupOrder
from chamberlain.rules.ids import ClientId, RequestId, TemplateId, TenantId, TraceId
from chamberlain.rules.permissions import ScopePrefixes
from chamberlain.rules.requests import (
    Accepted,
    RequestKind,
    RequestRecord,
    RequestResult,
    RequestState,
    Submission,
    TemplateReference,
)
from chamberlain.rules.timeline import Happening, Happenings

BASE = "http://127.0.0.1:8365"
PREFIX = "https://api.estate.example"
ESTATE = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
ADA = UUID("ada00000-0000-4000-8000-000000000001")
TEMPLATE = "7e000000-0000-4000-8000-000000000011"
REQUEST = RequestId(UUID("0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10"))
MOMENT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)

USER = Caller(
    tenant_id=ESTATE,
    type=ActorType.USER,
    id=ADA,
    client_id=ClientId("c11e0000-0000-4000-8000-000000000001"),
    permissions=frozenset({f"{PREFIX}/collab/App.ReadWrite.All"}),
    expires_at=datetime(2026, 11, 20, 10, 30, tzinfo=UTC),
)
CALLERS = {
    "Bearer ada": USER,
    "Bearer powerless": replace(USER, permissions=frozenset()),
    "Bearer automation": replace(
        USER, type=ActorType.APPLICATION, permissions=frozenset({f"{PREFIX}/admin/Collab.Manage.ReadWrite.All"})
    ),
}


@dataclass
class House:
    """What stands behind the API here. `refusal` is raised by every use case once it is set."""

    orders: list[tuple[Caller, GroupOrder, Submission]] = field(default_factory=list)
    records: dict[RequestId, RequestRecord] = field(default_factory=dict)
    checks: Sequence[Check] = (Check("database", passed=True),)
    observed: list[tuple[str, str, int]] = field(default_factory=list)
    refusal: Exception | None = None
    replayed: bool = False
    approval_required: bool = False
    body_timeout_seconds: float = 10.0
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    # What requests come to, once they have ended.
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    result: RequestResult | None = None
    awaiting: list[Accepted] = field(default_factory=list)
    # How many events there are, and how many watch for more.
    newest: int = 1
    watching: int = 0
    moment: datetime = MOMENT
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def verify(self, authorization: str | None) -> Caller:
        if authorization is None:
            raise Unauthenticated("tokenMissing", "Send a bearer token.")
        if authorization not in CALLERS:
            raise Unauthenticated("tokenInvalid", 'The signature does not match ("kid" unknown).')
        return CALLERS[authorization]

    async def request_group(self, caller: Caller, order: GroupOrder, submission: Submission) -> Accepted:
        if self.refusal is not None:
            raise self.refusal
        self.orders.append((caller, order, submission))
        return Accepted(REQUEST, caller.tenant_id, self.approval_required, self.replayed)

    async def await_result(self, accepted: Accepted) -> RequestResult | None:
        self.awaiting.append(accepted)
        try:
            await self.ended.wait()
            return self.result
        finally:
            self.awaiting.remove(accepted)

    async def watch_request(self, caller: Caller, request_id: RequestId, after: int) -> Happenings | None:
        await self.read_request(caller, request_id)
        return None if after >= self.newest else self._happenings(after)

    async def _happenings(self, after: int) -> Happenings:
        self.watching += 1
        try:
            while after < self.newest:
                after += 1
                yield (Happening(after, self.records[REQUEST]),)
            await self.ended.wait()
        finally:
            self.watching -= 1

    async def read_request(self, caller: Caller, request_id: RequestId) -> RequestView:
        if self.refusal is not None:
            raise self.refusal
        record = self.records.get(request_id)
        if record is None or record.tenant_id != caller.tenant_id:
            raise NotFound("There is no such request.")
        return viewed(record)

    async def check_readiness(self) -> Sequence[Check]:
        return self.checks

    def observe(self, path: str, method: str, status: int, seconds: float) -> None:
        assert seconds >= 0
        self.observed.append((path, method, status))
        self.answered.set()

    def services(self) -> Services:
        numbers = count(1)
        return Services(
            verify=self.verify,
            request_group=self.request_group,
            await_result=self.await_result,
            read_request=self.read_request,
            watch_request=self.watch_request,
            streams=Streams(lambda: self.moment, self.stopping),
            check_readiness=self.check_readiness,
            observe=self.observe,
            new_trace_id=lambda: TraceId(f"{next(numbers):032x}"),
            prefixes=ScopePrefixes(PREFIX, PREFIX),
            addresses=Addresses(BASE, BASE, f"{BASE}/graph"),
            hosts=hosts_of([BASE], [8365]),
            retry_after_seconds=1,
            body_timeout_seconds=self.body_timeout_seconds,
        )


def record() -> RequestRecord:
    """A request that has just been queued."""
    return RequestRecord(
        request_id=REQUEST,
        tenant_id=ESTATE,
        approval_required=False,
        kind=RequestKind.GROUP,
        state=RequestState.QUEUED,
        display_name="Hooked",
        template=TemplateReference(TemplateId(UUID(TEMPLATE)), "Project group"),
        body=b'{"displayName": "Hooked", "templateId": "7e000000-0000-4000-8000-000000000011"}',
        waiting=None,
        blocked=None,
        error=None,
        warnings=(),
        result=None,
        steps=(),
        created_at=MOMENT,
        created_by=Actor(ActorType.USER, ADA, "Ada Achterberg"),
        client_id=ClientId("c11e0000-0000-4000-8000-000000000001"),
        updated_at=MOMENT,
        finished_at=None,
    )


def refusing(refusal: Refusal) -> House:
    """A house that refuses everything it is asked."""
    return House(refusal=refusal)
