# SPDX-License-Identifier: Apache-2.0
"""The whole API over services that keep everything in memory."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from uuid import UUID

from starlette.types import ASGIApp

from chamberlain.app.routes import create_app
from chamberlain.auth.models import Actor, ActorType, Caller
from chamberlain.auth.permissions import Operation, ScopePrefixes
from chamberlain.core.errors import Fault, Forbidden, NotFound, Refusal, Unauthenticated
from chamberlain.core.idempotency import Act, KeptAnswer, Submission
from chamberlain.core.ids import ClientId, MailboxId, RequestId, TemplateId, TenantId, TraceId, UserId
from chamberlain.core.paging import Page, PageWanted, Position
from chamberlain.core.reasons import Reason
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.mailboxes import MailboxOrder, MailboxType, TemplateSource
from chamberlain.directory.models import NamedPerson
from chamberlain.directory.steps import Step
from chamberlain.groups.dry_run import GroupDryRun
from chamberlain.groups.models import GroupOrder
from chamberlain.groups.service import GroupService
from chamberlain.http.cursors import Cursors
from chamberlain.http.pipeline import hosts_of
from chamberlain.http.request import Addresses, Check, HttpContext
from chamberlain.http.responses import Streams
from chamberlain.mailboxes.dry_run import MailboxDryRun
from chamberlain.mailboxes.models import AcceptedMailbox, MailboxFilter, MailboxRecord, ProvisioningState
from chamberlain.mailboxes.service import MailboxService
from chamberlain.requests.approvals import LevelDryRun
from chamberlain.requests.models import (
    Accepted,
    ApprovalMode,
    RequestFilter,
    RequestKind,
    RequestRecord,
    RequestResult,
    RequestState,
    TemplateReference,
)
from chamberlain.requests.rules import Action, Naming, RequestView, viewed, viewed_by
from chamberlain.requests.service import RequestService
from chamberlain.requests.steps import Happening, Happenings
from chamberlain.secrets.keyring import Keyring
from chamberlain.templates.models import TemplateHead, TemplateKind
from tests.adoptions.fake_adoptions import FakeAdoptions
from tests.audit.fake_audit import FakeAudit
from tests.configuration.fake_configuration import FakeConfiguration
from tests.connections.fake_connections import FakeConnections
from tests.drift.fake_drift import FakeDrift
from tests.events.fake_events import FakeEvents
from tests.figures.fake_figures import FakeFigures
from tests.guests.assignments.fake_assignments import FakeAssignments
from tests.guests.findings.fake_findings import FakeFindings
from tests.guests.policies.fake_policies import FakePolicies
from tests.me.fake_me import FakeMe
from tests.people.fake_people import FakePeople
from tests.permissions.fake_permissions import FakePermissions
from tests.queue.fake_jobs import FakeJobs
from tests.releases.fake_releases import FakeReleases
from tests.substitutes.fake_substitutes import FakeSubstitutes
from tests.template_admin.fake_templates import FakeTemplates
from tests.tenants.fake_tenants import FakeTenants
from tests.webhooks.fake_webhooks import FakeWebhooks

BASE = "http://127.0.0.1:8365"
PREFIX = "https://api.estate.example"
ESTATE = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
ADA = UUID("ada00000-0000-4000-8000-000000000001")
DARA = UserId(UUID("da7a0000-0000-4000-8000-000000000004"))
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
    "Bearer administrator": replace(USER, permissions=frozenset({f"{PREFIX}/admin/Config.ReadWrite.All"})),
    "Bearer automation": replace(
        USER, type=ActorType.APPLICATION, permissions=frozenset({f"{PREFIX}/admin/Collab.Manage.ReadWrite.All"})
    ),
    "Bearer configuration": replace(
        USER, type=ActorType.APPLICATION, permissions=frozenset({f"{PREFIX}/admin/Collab.Config.ReadWrite.All"})
    ),
    "Bearer mail": replace(USER, permissions=frozenset({f"{PREFIX}/mail/App.ReadWrite.All"})),
    "Bearer mail manager": replace(
        USER, type=ActorType.APPLICATION, permissions=frozenset({f"{PREFIX}/admin/Mail.Manage.ReadWrite.All"})
    ),
    "Bearer mail automation": replace(
        USER, type=ActorType.APPLICATION, permissions=frozenset({f"{PREFIX}/admin/Mail.Config.ReadWrite.All"})
    ),
    "Bearer mail server": replace(
        USER, type=ActorType.APPLICATION, permissions=frozenset({f"{PREFIX}/requests/Replies.ReadWrite.All"})
    ),
}

ROOM_TEMPLATE = TemplateId(UUID("7e000000-0000-4000-8000-000000000003"))
MAILBOX_ID = MailboxId(UUID("5b1f0a52-7a0e-4f0b-8a55-0f6f5b7f2f11"))
DRY_RUN = GroupDryRun(
    template=TemplateHead(ESTATE, TemplateId(UUID(TEMPLATE)), 1, TemplateKind.TEAM, "Project team", active=True),
    display_name="Hooked",
    mail_nickname="hooked",
    address="hooked@estate.example",
    member_ship_type=MemberShipType.PUBLIC,
    owners=(NamedPerson(UserId(ADA), "Ada Achterberg"),),
    member_count=3,
    approvals=(LevelDryRun(1, ApprovalMode.ALL, (NamedPerson(DARA, "Dara Lindqvist"),)),),
    steps=(Step.CREATE_GROUP, Step.CREATE_TEAM),
    conflicts=(Fault("/displayName", "addressTaken", "Choose another."),),
    warnings=(Reason.build("nameNumberDrawn"),),
)


class FakeGroups(GroupService):
    """Group service in memory."""

    def __init__(self, http_fixture: "HttpFixture") -> None:
        self._fixture = http_fixture

    async def request(self, caller: Caller, order: GroupOrder, submission: Submission) -> Accepted:
        return await self._fixture.request_group(caller, order, submission)

    async def dry_run(self, caller: Caller, order: GroupOrder) -> GroupDryRun:
        return await self._fixture.dry_run_group(caller, order)

    async def await_result(self, accepted: Accepted) -> RequestResult | None:
        return await self._fixture.await_result(accepted)


class FakeMailboxes(MailboxService):
    """Mailbox service in memory."""

    def __init__(self, http_fixture: "HttpFixture") -> None:
        self._fixture = http_fixture

    async def request(self, caller: Caller, order: MailboxOrder, submission: Submission) -> AcceptedMailbox:
        return await self._fixture.request_mailbox(caller, order, submission)

    async def dry_run(self, caller: Caller, order: MailboxOrder) -> MailboxDryRun:
        return await self._fixture.dry_run_mailbox(caller, order)

    async def await_result(self, accepted: Accepted) -> RequestResult | None:
        return await self._fixture.await_result(accepted)

    async def read(self, caller: Caller, mailbox_id: MailboxId) -> MailboxRecord:
        return await self._fixture.read_mailbox(caller, mailbox_id)

    async def list(self, caller: Caller, wanted: MailboxFilter, page: PageWanted) -> Page[MailboxRecord]:
        return await self._fixture.list_mailboxes(caller, wanted, page)


class FakeRequests(RequestService):
    """Request service in memory."""

    def __init__(self, http_fixture: "HttpFixture") -> None:
        self._fixture = http_fixture

    async def list(self, caller: Caller, wanted: RequestFilter, page: PageWanted) -> Page[RequestView]:
        self._refuse()
        self._fixture.lists.append((caller, wanted, page))
        records = list(self._fixture.records.values())
        found = [viewed(each) for each in records[: page.limit]]
        more = len(records) > page.limit
        return Page(found, Position(found[-1].record.created_at, found[-1].record.request_id) if more else None)

    async def read(self, caller: Caller, request_id: RequestId) -> RequestView:
        self._refuse()
        record = self._fixture.records.get(request_id)
        if record is None or record.tenant_id != caller.tenant_id:
            raise NotFound("There is no such request.")
        return viewed(record)

    async def view(self, caller: Caller, record: RequestRecord) -> RequestView:
        return viewed_by(caller, record)

    async def watch(self, caller: Caller, request_id: RequestId, after: int) -> Happenings | None:
        await self.read(caller, request_id)
        return None if after >= self._fixture.newest else self._follow(after)

    async def approve(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        view = await self.read(caller, request_id)
        self._fixture.acts.append((caller, act))
        return KeptAnswer(render(view), self._fixture.replayed)

    async def reject(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        return await self.approve(caller, request_id, act, render)

    async def cancel(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        return await self.approve(caller, request_id, act, render)

    async def retry(
        self, caller: Caller, request_id: RequestId, act: Act, render: Callable[[RequestView], bytes]
    ) -> KeptAnswer:
        return await self.approve(caller, request_id, act, render)

    async def name_approvers(
        self,
        caller: Caller,
        request_id: RequestId,
        naming: Naming,
        act: Act,
        *,
        render: Callable[[RequestView], bytes],
    ) -> KeptAnswer:
        self._fixture.namings.append(naming)
        return await self.approve(caller, request_id, act, render)

    async def reply(
        self, caller: Caller, mail: bytes, act: Act, render: Callable[[Action, RequestRecord], bytes]
    ) -> KeptAnswer:
        self._refuse()
        self._fixture.acts.append((caller, act))
        self._fixture.replies.append(mail)
        return KeptAnswer(render(Action.APPROVE, self._fixture.records[REQUEST]), self._fixture.replayed)

    async def _follow(self, after: int) -> Happenings:
        http_fixture = self._fixture
        http_fixture.watching += 1
        try:
            while after < http_fixture.newest:
                after += 1
                yield (Happening(after, http_fixture.records[REQUEST]),)
            await http_fixture.ended.wait()
        finally:
            http_fixture.watching -= 1

    def _refuse(self) -> None:
        if self._fixture.refusal is not None:
            raise self._fixture.refusal


@dataclass
class HttpFixture:
    """The fake services behind the API. Every use case raises `refusal` once it is set."""

    allowed: list[tuple[Caller, Operation]] = field(default_factory=list)
    orders: list[tuple[Caller, GroupOrder, Submission]] = field(default_factory=list)
    previewed: list[tuple[Caller, GroupOrder]] = field(default_factory=list)
    records: dict[RequestId, RequestRecord] = field(default_factory=dict)
    lists: list[tuple[Caller, RequestFilter, PageWanted]] = field(default_factory=list)
    acts: list[tuple[Caller, Act]] = field(default_factory=list)
    replies: list[bytes] = field(default_factory=list)
    namings: list[Naming] = field(default_factory=list)
    jobs: FakeJobs = field(default_factory=FakeJobs)
    audit: FakeAudit = field(default_factory=FakeAudit)
    templates: FakeTemplates = field(default_factory=FakeTemplates)
    webhooks: FakeWebhooks = field(init=False)
    people: FakePeople = field(default_factory=FakePeople)
    substitutes: FakeSubstitutes = field(default_factory=FakeSubstitutes)
    policies: FakePolicies = field(default_factory=FakePolicies)
    tenants: FakeTenants = field(default_factory=FakeTenants)
    events: FakeEvents = field(default_factory=FakeEvents)
    assignments: FakeAssignments = field(default_factory=FakeAssignments)
    findings: FakeFindings = field(default_factory=FakeFindings)
    adoptions: FakeAdoptions = field(default_factory=FakeAdoptions)
    uses: list[tuple[Caller, Operation]] = field(default_factory=list)
    releases: FakeReleases = field(default_factory=FakeReleases)
    connections: FakeConnections = field(default_factory=FakeConnections)
    drift: FakeDrift = field(default_factory=FakeDrift)
    cursors: Cursors = field(default_factory=lambda: Cursors(Keyring("k1", {"k1": bytes(32)})))
    checks: Sequence[Check] = (Check("database", passed=True),)
    observed: list[tuple[str, str, int]] = field(default_factory=list)
    mailbox_orders: list[tuple[Caller, MailboxOrder, Submission]] = field(default_factory=list)
    mailbox_dry_runs: list[tuple[Caller, MailboxOrder]] = field(default_factory=list)
    mailbox_lists: list[tuple[Caller, MailboxFilter, PageWanted]] = field(default_factory=list)
    mailboxes: dict[MailboxId, MailboxRecord] = field(default_factory=dict)
    # The state of every mailbox when it is read.
    mailbox_state: ProvisioningState = ProvisioningState.QUEUED
    refusal: Exception | None = None
    # The error for a caller without permission.
    forbidden: Forbidden | None = None
    replayed: bool = False
    approval_required: bool = False
    body_timeout_seconds: float = 10.0
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    # The result of requests that have ended.
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    result: RequestResult | None = None
    awaiting: list[Accepted] = field(default_factory=list)
    # How many events there are, and how many watch for more.
    newest: int = 1
    watching: int = 0
    moment: datetime = MOMENT
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.webhooks = FakeWebhooks(self.templates)

    async def verify(self, authorization: str | None) -> Caller:
        if authorization is None:
            raise Unauthenticated("tokenMissing", "Send a bearer token.")
        if authorization not in CALLERS:
            raise Unauthenticated("tokenInvalid", 'The signature does not match ("kid" unknown).')
        return CALLERS[authorization]

    async def require_allowed(self, caller: Caller, operation: Operation) -> None:
        self.allowed.append((caller, operation))
        if self.forbidden is not None:
            raise self.forbidden

    async def request_group(self, caller: Caller, order: GroupOrder, submission: Submission) -> Accepted:
        if self.refusal is not None:
            raise self.refusal
        self.orders.append((caller, order, submission))
        return Accepted(REQUEST, caller.tenant_id, self.approval_required, self.replayed)

    async def dry_run_group(self, caller: Caller, order: GroupOrder) -> GroupDryRun:
        if self.refusal is not None:
            raise self.refusal
        self.previewed.append((caller, order))
        return replace(DRY_RUN, display_name=order.display_name)

    async def request_mailbox(self, caller: Caller, order: MailboxOrder, submission: Submission) -> AcceptedMailbox:
        if self.refusal is not None:
            raise self.refusal
        self.mailbox_orders.append((caller, order, submission))
        self.mailboxes[MAILBOX_ID] = replace(mailbox_record(caller, order), approval_required=self.approval_required)
        accepted = Accepted(REQUEST, caller.tenant_id, self.approval_required, self.replayed)
        return AcceptedMailbox(self.mailboxes[MAILBOX_ID], accepted)

    async def dry_run_mailbox(self, caller: Caller, order: MailboxOrder) -> MailboxDryRun:
        if self.refusal is not None:
            raise self.refusal
        self.mailbox_dry_runs.append((caller, order))
        return MailboxDryRun(
            template=TemplateHead(caller.tenant_id, ROOM_TEMPLATE, 1, TemplateKind.ROOM, "Room", active=True),
            template_source=TemplateSource.DEFAULT,
            name=order.name,
            display_name=order.display_name,
            address="atlas@rooms.estate.example",
            owners=(NamedPerson(UserId(ADA), "Ada Achterberg"),),
            approvals=(LevelDryRun(1, ApprovalMode.ANY, (NamedPerson(DARA, "Dara Lindqvist"),)),),
            steps=(Step.CREATE_MAILBOX,),
            conflicts=(Fault("/name", "nameTaken", "Choose another name."),),
            warnings=(Reason.build("nameNumberDrawn"),),
        )

    async def read_mailbox(self, caller: Caller, mailbox_id: MailboxId) -> MailboxRecord:
        if self.refusal is not None:
            raise self.refusal
        record = self.mailboxes.get(mailbox_id)
        if record is None or record.tenant_id != caller.tenant_id:
            raise NotFound("There is no such mailbox.")
        return replace(record, provisioning_state=self.mailbox_state)

    async def list_mailboxes(self, caller: Caller, wanted: MailboxFilter, page: PageWanted) -> Page[MailboxRecord]:
        if self.refusal is not None:
            raise self.refusal
        self.mailbox_lists.append((caller, wanted, page))
        found = [each for each in self.mailboxes.values() if each.tenant_id == caller.tenant_id]
        shown = found[: page.limit]
        more = len(found) > page.limit
        return Page(shown, Position(shown[-1].created_at, shown[-1].request_id) if more else None)

    async def await_result(self, accepted: Accepted) -> RequestResult | None:
        self.awaiting.append(accepted)
        try:
            await self.ended.wait()
            return self.result
        finally:
            self.awaiting.remove(accepted)

    async def check_readiness(self) -> Sequence[Check]:
        return self.checks

    def observe(self, path: str, method: str, status: int, seconds: float) -> None:
        assert seconds >= 0
        self.observed.append((path, method, status))
        self.answered.set()

    def app(self, mounts: Mapping[str, ASGIApp] | None = None) -> ASGIApp:
        """Build the API with these services."""
        return create_app(self.http(), self.services(), mounts)

    def services(self) -> Sequence[object]:
        """List one service for each table of endpoints."""
        return [
            self.adoptions,
            self.releases,
            self.connections,
            self.drift,
            self.templates,
            self.webhooks,
            FakeMe(),
            self.substitutes,
            self.people,
            FakeFigures(),
            FakePermissions(),
            FakeGroups(self),
            FakeMailboxes(self),
            FakeRequests(self),
            self.policies,
            self.assignments,
            self.findings,
            self.audit,
            self.events,
            self.jobs,
            self.tenants,
            FakeConfiguration(),
        ]

    def http(self) -> HttpContext:
        numbers = count(1)
        return HttpContext(
            verify=self.verify,
            require_allowed=self.require_allowed,
            cursors=self.cursors,
            streams=Streams(lambda: self.moment, self.stopping),
            check_readiness=self.check_readiness,
            observe=self.observe,
            count_use=lambda caller, operation: self.uses.append((caller, operation)),
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


def refusing(refusal: Refusal) -> HttpFixture:
    """Build an API that refuses every call."""
    return HttpFixture(refusal=refusal)


def mailbox_record(caller: Caller, order: MailboxOrder) -> MailboxRecord:
    """A room in the state of its queuing."""
    return MailboxRecord(
        id=MAILBOX_ID,
        tenant_id=caller.tenant_id,
        order=order,
        type=MailboxType.ROOM,
        mail="atlas@rooms.estate.example",
        template_id=ROOM_TEMPLATE,
        template_source=TemplateSource.DEFAULT,
        provisioning_state=ProvisioningState.QUEUED,
        request_id=REQUEST,
        approval_required=False,
        error=None,
        warnings=(),
        created_at=MOMENT,
        created_by=Actor(caller.type, caller.id, "Ada Achterberg"),
        updated_at=MOMENT,
    )
