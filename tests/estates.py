# SPDX-License-Identifier: Apache-2.0
"""The example estate in a database of its own, and the services on it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import msgspec
from hypothesis.vendor.pretty import RepresentationPrinter

from chamberlain.app.maintenance import configuration_service
from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Actor, ActorType, Caller
from chamberlain.auth.permissions import ScopePrefixes
from chamberlain.configuration.files import Configuration
from chamberlain.core.idempotency import IdempotencyKey, Submission
from chamberlain.core.ids import ClientId, RequestId, TemplateId, TenantId, TraceId, UserId
from chamberlain.database.notify import Notifier
from chamberlain.database.transactions import Transaction
from chamberlain.directory.capabilities import Capabilities
from chamberlain.directory.embedded.directory import EmbeddedDirectory
from chamberlain.directory.embedded.mapping import KEY_MEMBER
from chamberlain.directory.embedded.people import EmbeddedPeople
from chamberlain.directory.groups import GroupReference, ObservedGroup
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.embedded import postgres
from chamberlain.embedded.directory.groups import Groups
from chamberlain.embedded.directory.load import load
from chamberlain.embedded.directory.mailboxes import Mailboxes
from chamberlain.embedded.directory.people import HELD_ADDRESSES, Register
from chamberlain.groups.provision import GroupProvisioner
from chamberlain.groups.service import GroupService
from chamberlain.groups.wire import read_group_order
from chamberlain.mailboxes.models import AcceptedMailbox
from chamberlain.mailboxes.provision import MailboxProvisioner
from chamberlain.mailboxes.service import MailboxService
from chamberlain.mailboxes.wire import read_mailbox_order
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, JobKind
from chamberlain.requests import records as request_records
from chamberlain.requests.batcher import Acceptor
from chamberlain.requests.models import Accepted, RequestRecord
from chamberlain.templates.cache import Catalog
from chamberlain.templates.submission import Submitter
from tests.databases import Databases, filled_database
from tests.estate_services import Dependencies, group_service, mailbox_service, provision_groups, provision_mailboxes
from tests.example import configuration_in, example_document
from tests.faulty_directory import FaultyDirectory, FaultyPeople
from tests.restricted_directory import RESTRICTED, RestrictedDirectory, RestrictedPeople

ESTATE = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
OTHER_HOUSE = TenantId(UUID("e57a7e00-0000-4000-8000-000000000002"))
ADA = UserId(UUID("ada00000-0000-4000-8000-000000000001"))
BEN = UserId(UUID("be000000-0000-4000-8000-000000000002"))
CLEO = UserId(UUID("c1e00000-0000-4000-8000-000000000003"))
DARA = UserId(UUID("da7a0000-0000-4000-8000-000000000004"))
ZOE = UserId(UUID("20e00000-0000-4000-8000-000000000001"))
NOBODY = UserId(UUID("0000dead-0000-4000-8000-000000000000"))
PROJECT_GROUP = TemplateId(UUID("7e000000-0000-4000-8000-000000000011"))
PROJECT_TEAM = TemplateId(UUID("7e000000-0000-4000-8000-000000000012"))
CONFIDENTIAL_TEAM = TemplateId(UUID("7e000000-0000-4000-8000-000000000013"))
SALES_DEPARTMENT = TemplateId(UUID("7e000000-0000-4000-8000-000000000014"))
OTHER_GROUP = TemplateId(UUID("7e000000-0000-4000-8000-0000000000f1"))
INTERNAL = "1abe1000-0000-4000-8000-000000000001"

CLIENT = ClientId("c11e0000-0000-4000-8000-000000000001")
TRACE = TraceId("4bf92f3577b34da6a3ce929d0e0e4736")
OPERATOR = Actor(ActorType.SYSTEM, None, "Test")
LEASE = timedelta(seconds=10)
PREFIX = "https://api.estate.example"
PREFIXES = ScopePrefixes(PREFIX, PREFIX)
SHARED_MAILBOX = TemplateId(UUID("7e000000-0000-4000-8000-000000000001"))
EQUIPMENT_MAILBOX = TemplateId(UUID("7e000000-0000-4000-8000-000000000002"))
ROOM_MAILBOX = TemplateId(UUID("7e000000-0000-4000-8000-000000000003"))


def changed_estate(**templates: Mapping[str, object]) -> Configuration:
    """The example estate with some of its group templates changed: `project_group={"naming": ...}` and so on.

    Other House gets a template of its own, since the example has none for it.
    """
    document = example_document()
    names = {"project_group": PROJECT_GROUP, "project_team": PROJECT_TEAM, "sales_department": SALES_DEPARTMENT}
    for name, members in templates.items():
        (found,) = [each for each in document["tenants"][0]["templates"] if each["id"] == str(names[name])]
        found.update(members)
    document["tenants"][1]["templates"] = [{"id": str(OTHER_GROUP), "kind": "group", "name": "House group"}]
    return configuration_in(document)


async def apply(databases: Databases, configuration: Configuration) -> None:
    """Apply it as the command line does."""
    await configuration_service(databases.worker).apply(configuration, actor=OPERATOR, trace_id=TRACE)


async def until(condition: Callable[[], Awaitable[object]], *, seconds: float = 20) -> None:
    """Wait until it holds; a test whose condition never does fails."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 (no event reports a change elsewhere)
            await asyncio.sleep(0.005)


@dataclass
class Estate:
    """The parts of a service with the example estate behind them. `moment` is what its clock shows."""

    databases: Databases
    people: FaultyPeople
    directory: FaultyDirectory
    catalog: Catalog
    acceptor: Acceptor
    groups: GroupService
    provision_groups: GroupProvisioner
    mailboxes: MailboxService
    provision_mailboxes: MailboxProvisioner
    moment: datetime

    def _repr_pretty_(self, printer: RepresentationPrinter, _cycle: bool) -> None:  # noqa: FBT001 - as it is called
        # It shows what a test was given, and all that is in here would be too much.
        printer.text("Estate()")

    def now(self) -> datetime:
        return self.moment

    def restrict(self, capabilities: Capabilities = RESTRICTED) -> None:
        """Take abilities away from the directory."""
        self.directory.directory = RestrictedDirectory(self.directory.directory, capabilities)
        self.people.people = RestrictedPeople(self.people.people, capabilities)

    def authorization(self) -> Authorization:
        """Authorize callers, with nothing cached yet."""
        return Authorization(self.databases.application, self.people, PREFIXES, self.now)

    async def read_time(self, _tx: Transaction) -> datetime:
        return self.moment

    async def request(
        self, display_name: str = "Apollo", *, caller: Caller | None = None, key: str | None = None, **sent: object
    ) -> Accepted:
        """Ask for a group as the API does: the order is what the body says."""
        return await self.ask({"displayName": display_name, **sent}, caller=caller, key=key)

    async def ask(
        self, sent: Mapping[str, object], *, caller: Caller | None = None, key: str | None = None
    ) -> Accepted:
        """As `request`, with the body as one thing. Without a template it is that of the project group."""
        body = msgspec.json.encode({"templateId": str(PROJECT_GROUP), **sent})
        idempotency = None if key is None else IdempotencyKey(key, body)
        order = read_group_order(body)
        return await self.groups.request(caller or caller_of(ADA), order, Submission(body, idempotency, TRACE))

    async def ask_mailbox(
        self, sent: Mapping[str, object], *, caller: Caller | None = None, key: str | None = None
    ) -> AcceptedMailbox:
        """Ask for a mailbox as the API does; without a template, the body shows the type."""
        body = msgspec.json.encode(sent)
        idempotency = None if key is None else IdempotencyKey(key, body)
        order = read_mailbox_order(body)
        return await self.mailboxes.request(caller or mail_caller_of(ADA), order, Submission(body, idempotency, TRACE))

    async def claim(self, *, most: int = 100, kinds: Iterable[JobKind] = JobKind) -> Claim:
        """Lease what is due, as a worker does."""
        lease_id = uuid4()
        async with self.databases.worker.across_tenants() as tx:
            taken = await queue_jobs.claim(tx, lease_id, kinds=kinds, most=most, lease=LEASE, tenant_limit=1000)
        return Claim(lease_id, tuple(taken))

    async def claim_lanes(self, kind: JobKind) -> Claim:
        """Lease what is due of a kind that waits in lanes, as a worker does."""
        lease_id = uuid4()
        async with self.databases.worker.across_tenants() as tx:
            taken = await queue_jobs.claim_from_lanes(
                tx, lease_id, kinds=[kind], most=100, of_one=100, lease=LEASE, named=(), only_named=False
            )
        return Claim(lease_id, tuple(job for _, job in taken))

    async def work(self) -> None:
        """Run what is due, once."""
        await self.provision_groups.provision(await self.claim(kinds=[JobKind.GROUP_PROVISION]))
        await self.provision_mailboxes.provision(await self.claim(kinds=[JobKind.MAILBOX_PROVISION]))

    async def record(self, request_id: RequestId, tenant_id: TenantId = ESTATE) -> RequestRecord:
        """The request as it is stored."""
        async with self.databases.application.transaction(tenant_id) as tx:
            record = await request_records.find(tx, request_id)
        assert record is not None
        return record

    async def group(self, request_id: RequestId, tenant_id: TenantId = ESTATE) -> ObservedGroup | None:
        """The group that the directory shows for a request."""
        reference = GroupReference(tenant_id, "chamberlain_group", request_id)
        (group,) = await self.directory.observe([reference])
        return group

    async def mailbox(self, request_id: RequestId, tenant_id: TenantId = ESTATE) -> ObservedMailbox | None:
        """The mailbox that the directory shows for a request."""
        reference = MailboxReference(tenant_id, "chamberlain_mailbox", request_id)
        (mailbox,) = await self.directory.observe_mailboxes([reference])
        return mailbox

    async def rows(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Run a statement for all tenants, and return its rows."""
        return await rows(self.databases, statement, *values)

    async def counts(self) -> dict[str, int]:
        """How many rows each table that an accepted request writes has."""
        return await counts(self.databases)


TABLES = ("request", "reservation", "idempotency_key", "job", "audit", "event")
COUNTS = """
SELECT
    (SELECT count(*) FROM chamberlain.request), (SELECT count(*) FROM chamberlain.reservation),
    (SELECT count(*) FROM chamberlain.idempotency_key), (SELECT count(*) FROM chamberlain.job),
    (SELECT count(request_id) FROM chamberlain.audit), (SELECT count(*) FROM chamberlain.event)
"""


async def rows(databases: Databases, statement: str, *values: object) -> list[tuple[object, ...]]:
    """Run a statement for all tenants, and return its rows."""
    async with databases.worker.across_tenants() as tx:
        return [tuple(row.values()) for row in await tx.fetch(statement, *values)]


async def counts(databases: Databases) -> dict[str, int]:
    """How many rows each table has that an accepted request writes to. The audit rows of configuration do not count."""
    (found,) = await rows(databases, COUNTS)
    return {table: int(str(count)) for table, count in zip(TABLES, found, strict=True)}


def caller_of(user: UserId, tenant_id: TenantId = ESTATE) -> Caller:
    """A user with a token to create groups."""
    return Caller(
        tenant_id=tenant_id,
        type=ActorType.USER,
        id=user,
        client_id=CLIENT,
        permissions=frozenset({"https://api.estate.example/collab/App.ReadWrite.All"}),
        expires_at=datetime(2027, 1, 1, tzinfo=UTC),
    )


def mail_caller_of(user: UserId, tenant_id: TenantId = ESTATE) -> Caller:
    """A user with a token to create mailboxes."""
    return replace(caller_of(user, tenant_id), permissions=frozenset({f"{PREFIX}/mail/App.ReadWrite.All"}))


@asynccontextmanager
async def example_database(server: postgres.Server) -> AsyncIterator[Databases]:
    """A database of its own for one test, with the example estate in it, as open_estate leaves it."""
    async with filled_database(server, "example", open_estate) as databases:
        yield databases


async def open_estate(databases: Databases, configuration: Configuration | None = None) -> Estate:
    """Load the example estate, or a changed one, and build what a service has."""
    configuration = configuration or changed_estate()
    await load(databases.worker.pool, configuration.directory)
    await apply(databases, configuration)
    return service_of(databases)


def service_of(databases: Databases) -> Estate:
    """The parts of one process."""
    people = FaultyPeople(EmbeddedPeople(Register(databases.application.pool)))
    pool = databases.worker.pool
    directory = FaultyDirectory(
        EmbeddedDirectory(Groups(pool, key_member=KEY_MEMBER), Mailboxes(pool, key_member=KEY_MEMBER))
    )
    catalog = Catalog(databases.application)
    acceptor = Acceptor(databases.application, held_addresses=HELD_ADDRESSES)
    submitter = Submitter(databases.application, catalog, acceptor, Notifier(databases.addresses.application))

    def now() -> datetime:
        return estate.moment

    dependencies = Dependencies(databases, people, directory, catalog, submitter, PREFIXES, now)
    estate = Estate(
        databases=databases,
        people=people,
        directory=directory,
        catalog=catalog,
        acceptor=acceptor,
        groups=group_service(dependencies),
        provision_groups=provision_groups(dependencies),
        mailboxes=mailbox_service(dependencies),
        provision_mailboxes=provision_mailboxes(dependencies),
        moment=datetime(2026, 11, 20, 9, 30, tzinfo=UTC),
    )
    return estate
