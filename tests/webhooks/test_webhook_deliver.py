"""Delivering: what receivers of all sorts get, and what becomes of it, with the time passed in."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from uuid import uuid4

import msgspec
import pytest
from standardwebhooks.webhooks import Webhook

from chamberlain.core.paging import PageWanted
from chamberlain.database.transactions import Overtaken, Transaction
from chamberlain.queue.models import Claim, JobKind
from chamberlain.secrets.keyring import Keyring
from chamberlain.template_admin import webhook_secrets
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from chamberlain.templates import records as template_records
from chamberlain.templates.webhook import WebhookBody
from chamberlain.webhooks import store as webhook_store
from chamberlain.webhooks.addresses import Address, Resolve, Resolver
from chamberlain.webhooks.jobs import UNSIGNED, WebhookJobs
from chamberlain.webhooks.models import DeliveryFilter, DeliveryRecord, DeliveryState, Reply, WebhookCall
from chamberlain.webhooks.rules import FAILING, GONE, RETRY_SCHEDULE
from chamberlain.webhooks.sender import REFUSED, TIMED_OUT, Sender
from tests.databases import Databases
from tests.estates import ESTATE, PROJECT_GROUP, Estate, changed_estate, open_estate, until
from tests.webhooks.fake_webhook_receiver import CLOSE, HANG, Receiver, answer, receiving

MOMENT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
KEYRING = Keyring("k1", {"k1": bytes(32)})
FIRST = WebhookSecrets(KEYRING, lambda: f"whsec_{'A' * 44}", lambda: MOMENT)
STATE = "SELECT failing_since, disabled_reason FROM chamberlain.webhook_state"
AUDITED = "SELECT payload FROM chamberlain.audit WHERE action = 'webhook.disable'"
DISABLED = "SELECT data FROM chamberlain.event WHERE type = 'webhook.disabled'"
PENDING, SUCCEEDED, FAILED, CANCELLED = DeliveryState


async def nothing() -> None:
    """The default action during a call: none."""


@dataclass
class House:
    """An estate with a webhook for project groups, its receiver, and a delivering worker.

    `moment` is the time of its clock, `meanwhile` an action during a call.
    """

    estate: Estate
    receiver: Receiver
    secret: str
    keyring: Keyring = KEYRING
    resolve: Resolve = field(default_factory=Resolver)
    timeout: timedelta = timedelta(seconds=10)
    moment: datetime = MOMENT
    outcomes: list[str] = field(default_factory=list)
    meanwhile: Callable[[], Awaitable[None]] = nothing

    async def read_time(self, _tx: Transaction) -> datetime:
        return self.moment

    async def create(self, *names: str) -> None:
        """Groups, which are then there."""
        for name in names or ("Apollo",):
            await self.estate.request(name)
        await self.estate.work()

    async def claim(self) -> Claim:
        return await self.estate.claim_lanes(JobKind.WEBHOOK_DELIVER)

    async def deliver(self) -> None:
        """Run what is due, once."""
        async with self.delivering() as deliver:
            await deliver.deliver(await self.claim())

    async def deliver_later(self) -> None:
        """Run what waits, whatever for."""
        await self.estate.rows("UPDATE chamberlain.job SET run_at = now() WHERE kind = 'webhookDeliver' RETURNING 1")
        await self.deliver()

    @asynccontextmanager
    async def delivering(self) -> AsyncIterator[WebhookJobs]:
        sender = Sender(
            resolve=self.resolve,
            allowed_networks=[ip_network("127.0.0.0/8")],
            allow_http=True,
            trust=ssl.create_default_context(),
            now=lambda: self.moment,
            timeout=self.timeout,
        )

        async def send(call: WebhookCall) -> Reply:
            reply = await sender.send(call)
            await self.meanwhile()
            return reply

        try:
            yield WebhookJobs(
                database=self.estate.databases.worker,
                send=send,
                secrets=WebhookSecrets(self.keyring, lambda: f"whsec_{'C' * 44}", lambda: self.moment),
                new_id=uuid4,
                now=lambda: self.moment,
                decision_time=self.read_time,
                jitter=lambda: 0,
                observe=lambda outcome, _seconds: self.outcomes.append(outcome),
            )
        finally:
            await sender.close()

    async def only(self) -> DeliveryRecord:
        (found,) = await self.all()
        return found

    async def all(self) -> list[DeliveryRecord]:
        async with self.estate.databases.application.transaction(ESTATE) as tx:
            return list((await webhook_store.find_page(tx, DeliveryFilter(), PageWanted(200, None))).items)

    async def put_webhook(self, **webhook: object) -> None:
        """The webhook of the template as it is from now on."""
        async with self.estate.databases.application.transaction(ESTATE) as tx:
            stored = await template_records.find(tx, PROJECT_GROUP)
            assert stored is not None
            content = msgspec.json.decode(stored.content)
            content["webhook"] = {"active": True, **webhook} if webhook else None
            changed = msgspec.json.encode(content).decode()
            await tx.execute(
                "INSERT INTO chamberlain.template_revision (tenant_id, template_id, revision, content) "
                "SELECT $1, $2, $3, $4::text::json",
                ESTATE,
                PROJECT_GROUP,
                stored.head.revision + 1,
                changed,
            )
            await tx.execute(
                "UPDATE chamberlain.template SET revision = revision + 1 WHERE tenant_id = $1 AND template_id = $2",
                ESTATE,
                PROJECT_GROUP,
            )


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as found:
        yield found


@pytest.fixture
async def house(databases: Databases, receiver: Receiver) -> House:
    url = f"{receiver.address}/chamberlain"
    estate = await open_estate(databases, changed_estate(project_group={"webhook": {"url": url}}))
    async with databases.application.transaction(ESTATE) as tx:
        settled = await FIRST.settle(tx, ESTATE, PROJECT_GROUP, WebhookBody(url=url))
    assert settled.made is not None
    return House(estate, receiver, settled.made)


def in_real_time(house: House) -> House:
    """The reference library looks at the time of a call."""
    house.moment = datetime.now(UTC)
    return house


async def test_it_works(house: House) -> None:
    in_real_time(house)
    accepted = await house.estate.request("Apollo", metadata={"el-text-1": "x"})
    await house.estate.work()
    await house.deliver()

    (got,) = house.receiver.received
    payload = Webhook(house.secret).verify(got.body, dict(got.headers))
    group = await house.estate.group(accepted.request_id)
    assert group is not None
    assert set(payload) == {"type", "timestamp", "requestId", "tenantId", "data"}
    assert (payload["type"], payload["requestId"]) == ("group.created", str(accepted.request_id))
    assert payload["data"]["group"]["id"] == str(group.id)
    found = await house.only()
    assert got.headers["webhook-id"] == str(found.event_id)
    assert (found.state, found.next_attempt_at) == (SUCCEEDED, None)
    assert [(each.number, each.status, each.error, each.at) for each in found.attempts] == [
        (1, 204, None, house.moment)
    ]
    assert await house.estate.rows("SELECT FROM chamberlain.job WHERE kind = 'webhookDeliver'") == []
    assert await house.estate.rows(STATE) == []
    assert house.outcomes == ["succeeded"]


async def test_it_works_for_many_at_a_time(house: House) -> None:
    in_real_time(house)
    names = [f"Group {number}" for number in range(30)]
    await house.create(*names)
    await house.deliver()

    bodies = [Webhook(house.secret).verify(each.body, dict(each.headers)) for each in house.receiver.received]
    assert sorted(each["data"]["group"]["displayName"] for each in bodies) == sorted(names)
    assert {each.state for each in await house.all()} == {SUCCEEDED}


async def test_both_secrets_verify_while_they_rotate(house: House) -> None:
    in_real_time(house)
    now = house.moment
    async with house.estate.databases.application.transaction(ESTATE) as tx:
        rotated = await WebhookSecrets(KEYRING, lambda: f"whsec_{'B' * 44}", lambda: now).rotate(
            tx, ESTATE, PROJECT_GROUP
        )
    await house.create()
    await house.deliver()

    (got,) = house.receiver.received
    for secret in (rotated.made, house.secret):
        Webhook(secret).verify(got.body, dict(got.headers))


async def test_it_comes_back_to_one_that_answers_500_three_times(house: House) -> None:
    house.receiver.answers = [answer(500, b"oops")] * 3
    await house.create()
    await house.deliver()
    waits = []
    for _ in range(3):
        (row,) = await house.estate.rows("SELECT run_at - now() FROM chamberlain.job WHERE kind = 'webhookDeliver'")
        waits.append(row[0])
        assert await house.estate.rows("SELECT failing_since FROM chamberlain.webhook_state") == [(MOMENT,)]
        house.moment += timedelta(hours=1)
        await house.deliver_later()

    found = await house.only()
    assert found.state is SUCCEEDED
    assert [each.status for each in found.attempts] == [500, 500, 500, 204]
    assert [each.number for each in found.attempts] == [1, 2, 3, 4]
    assert found.attempts[0].answer == "oops"
    for wait, expected in zip(waits, RETRY_SCHEDULE, strict=False):
        assert isinstance(wait, timedelta)
        assert expected - timedelta(seconds=4) < wait <= expected
    # The same id and the same bytes each time, and nothing is left of the failure.
    assert len({(each.headers["webhook-id"], each.body) for each in house.receiver.received}) == 1
    assert await house.estate.rows(STATE) == []
    assert house.outcomes == ["again", "again", "again", "succeeded"]


async def test_it_gives_up_at_the_end_of_the_schedule(house: House) -> None:
    house.receiver.usual = answer(500)
    await house.create()
    await house.deliver()
    for _ in RETRY_SCHEDULE:
        await house.deliver_later()

    found = await house.only()
    assert (found.state, found.next_attempt_at, len(found.attempts)) == (FAILED, None, 10)
    assert await house.estate.rows("SELECT FROM chamberlain.job WHERE kind = 'webhookDeliver'") == []


async def test_a_redelivery_begins_the_schedule_anew_with_the_same_id(house: House) -> None:
    house.receiver.usual = answer(500)
    await house.create()
    await house.deliver()
    for _ in RETRY_SCHEDULE:
        await house.deliver_later()
    found = await house.only()
    async with house.estate.databases.application.transaction(ESTATE) as tx:
        assert await webhook_store.redeliver(tx, found.id)
    await house.deliver()

    again = await house.only()
    assert (again.state, len(again.attempts)) == (PENDING, 11)
    assert again.attempts[-1].number == 11
    (row,) = await house.estate.rows("SELECT run_at - now() FROM chamberlain.job WHERE kind = 'webhookDeliver'")
    assert isinstance(row[0], timedelta)
    assert row[0] <= RETRY_SCHEDULE[0]
    assert len({each.headers["webhook-id"] for each in house.receiver.received}) == 1


@pytest.mark.parametrize(
    ("usual", "status", "error"),
    [(HANG, None, TIMED_OUT), (answer(302, Location="/elsewhere"), 302, None), (CLOSE, None, "any")],
    ids=["hangs", "redirects", "hangs up"],
)
async def test_it_comes_back_to_one_that_behaves_badly(
    house: House, usual: bytes, status: int | None, error: str | None
) -> None:
    house.receiver.usual = usual
    house.timeout = timedelta(milliseconds=200)
    await house.create()
    await house.deliver()

    found = await house.only()
    (attempt,) = found.attempts
    assert (found.state, attempt.status) == (PENDING, status)
    assert attempt.error == error or (error == "any" and attempt.error)
    assert found.next_attempt_at is not None
    assert [each.line for each in house.receiver.received] == ["POST /chamberlain HTTP/1.1"]


async def test_it_takes_a_success_of_50_megabytes_for_what_it_is(house: House) -> None:
    house.receiver.usual = answer(200, b"x" * 50_000_000)
    await house.create()
    await house.deliver()

    found = await house.only()
    assert (found.state, found.attempts[0].answer) == (SUCCEEDED, "x" * 1024)
    assert house.receiver.sent < 20_000_000


async def test_one_that_is_gone_is_disabled_with_an_event_and_called_no_more(house: House) -> None:
    house.receiver.answers = [answer(500), answer(410)]
    await house.create("Apollo")
    await house.deliver()
    await house.create("Mercury")
    await house.deliver()

    states = {each.state: len(each.attempts) for each in await house.all()}
    assert states == {FAILED: 1, CANCELLED: 1}
    ((data,),) = await house.estate.rows(DISABLED)
    assert msgspec.json.decode(str(data)) == {
        "templateId": str(PROJECT_GROUP),
        "url": f"{house.receiver.address}/chamberlain",
        "reason": GONE,
    }
    ((audited,),) = await house.estate.rows(AUDITED)
    record = msgspec.json.decode(str(audited))
    assert (record["actor"]["type"], record["client"]) == ("system", None)
    assert record["subject"] == {"type": "template", "id": str(PROJECT_GROUP), "displayName": "Project group"}
    assert (record["before"], record["after"]) == ({"active": True}, {"active": False, "disabledReason": GONE})
    assert await house.estate.rows("SELECT FROM chamberlain.job WHERE kind = 'webhookDeliver'") == []
    await house.create("Gemini")
    assert len(await house.all()) == 2


async def test_what_the_receiver_before_has_answered_disables_no_other_one(house: House) -> None:
    """It was called before its place was taken, and has answered after that."""
    house.receiver.usual = answer(410)
    await house.create()

    async def put_another() -> None:
        await house.put_webhook(url="https://hooks.estate.example/another")

    house.meanwhile = put_another
    await house.deliver()

    assert (await house.only()).attempts[0].status == 410
    assert await house.estate.rows(STATE) == []
    assert await house.estate.rows(DISABLED) == []


async def test_one_without_a_success_for_five_days_is_disabled(house: House) -> None:
    house.receiver.usual = answer(500)
    await house.create()
    await house.deliver()
    house.moment += timedelta(days=4.9)
    await house.deliver_later()
    assert await house.estate.rows(STATE) == [(MOMENT, None)]
    house.moment += timedelta(days=0.2)
    await house.deliver_later()

    assert await house.estate.rows(STATE) == [(MOMENT, FAILING)]
    assert len(await house.estate.rows(DISABLED)) == 1
    assert (await house.only()).state in {PENDING, CANCELLED}
    await house.deliver_later()
    assert (await house.only()).state is CANCELLED
    assert len(house.receiver.received) == 3


async def test_one_success_in_between_is_enough(house: House) -> None:
    house.receiver.usual = answer(500)
    await house.create("Apollo")
    await house.deliver()
    house.moment += timedelta(days=4)
    house.receiver.answers = [answer(204)]
    await house.create("Mercury")
    await house.deliver()
    house.moment += timedelta(days=4)
    await house.deliver_later()

    assert await house.estate.rows(STATE) == [(house.moment, None)]
    assert await house.estate.rows(DISABLED) == []


async def test_it_asks_the_template_as_it_is_now(house: House) -> None:
    in_real_time(house)
    await house.create()
    async with receiving() as other:
        await house.put_webhook(url=f"{other.address}/new")
        async with house.estate.databases.application.transaction(ESTATE) as tx:
            sent = WebhookBody(url="https://hooks.estate.example/", secret=f"whsec_{'D' * 44}")
            await FIRST.settle(tx, ESTATE, PROJECT_GROUP, sent)
        await house.deliver()

        assert house.receiver.received == []
        (got,) = other.received
        Webhook(f"whsec_{'D' * 44}").verify(got.body, dict(got.headers))
        assert (await house.only()).url == f"{other.address}/new"


@pytest.mark.parametrize("change", ["removed", "inactive", "deleted"])
async def test_what_has_no_webhook_any_more_is_cancelled(house: House, change: str) -> None:
    await house.create()
    match change:
        case "removed":
            await house.put_webhook()
        case "inactive":
            await house.put_webhook(url=house.receiver.address, active=False)
        case _:
            async with house.estate.databases.application.transaction(ESTATE) as tx:
                await template_records.remove(tx, ESTATE, PROJECT_GROUP)
    await house.deliver()

    found = await house.only()
    assert (found.state, found.attempts, found.next_attempt_at) == (CANCELLED, (), None)
    assert house.receiver.received == []
    assert house.outcomes == ["cancelled"]


async def test_a_webhook_without_a_secret_gets_one_when_it_is_called(house: House) -> None:
    in_real_time(house)
    await house.estate.rows("DELETE FROM chamberlain.webhook_secret RETURNING 1")
    await house.create()
    await house.deliver()

    (got,) = house.receiver.received
    Webhook(f"whsec_{'C' * 44}").verify(got.body, dict(got.headers))
    key = ESTATE, PROJECT_GROUP
    async with house.estate.databases.worker.across_tenants() as tx:
        kept = await webhook_secrets.signing(tx, KEYRING, [key], now=house.moment)
    assert kept[key].values == (f"whsec_{'C' * 44}",)


async def test_nothing_is_sent_that_cannot_be_signed(house: House) -> None:
    house.keyring = Keyring("other", {"other": bytes([1] * 32)})
    await house.create()
    await house.deliver()

    found = await house.only()
    assert (found.state, found.attempts[0].error) == (PENDING, UNSIGNED)
    assert house.receiver.received == []
    # It is not the receiver that fails.
    assert await house.estate.rows(STATE) == []


async def test_a_name_that_stands_for_a_private_address_later_is_refused_then(house: House) -> None:
    answers = ["127.0.0.1", "10.0.0.1"]

    async def resolve(_host: str, _port: int) -> list[Address]:
        return [ip_address(answers.pop(0))]

    house.resolve = resolve
    port = house.receiver.address.rpartition(":")[2]
    await house.put_webhook(url=f"http://hooks.estate.example:{port}/chamberlain")
    house.receiver.answers = [answer(500)]
    await house.create()
    await house.deliver()
    await house.deliver_later()

    found = await house.only()
    assert [(each.status, each.error) for each in found.attempts] == [(500, None), (None, REFUSED)]
    assert len(house.receiver.received) == 1


async def test_a_worker_that_dies_over_a_call_is_followed_by_one_that_delivers(house: House) -> None:
    await house.create()
    house.receiver.answers = [HANG]
    async with house.delivering() as deliver:
        first = asyncio.create_task(deliver.deliver(await house.claim()))
        async with asyncio.timeout(10):
            while not house.receiver.received:  # noqa: ASYNC110 (the receiver has no event)
                await asyncio.sleep(0.005)
        first.cancel()
        await asyncio.wait({first})
    await house.estate.rows("UPDATE chamberlain.job SET lease_until = now() - interval '1 s' RETURNING 1")
    await house.deliver()

    found = await house.only()
    assert (found.state, [each.status for each in found.attempts]) == (SUCCEEDED, [204])
    # By its id the receiver has the event once.
    assert len({each.headers["webhook-id"] for each in house.receiver.received}) == 1


async def test_what_came_of_a_call_outlives_a_deadlock(house: House) -> None:
    """A transaction that locks the same rows in another order ends in a deadlock. The outcome is written all the same.

    PostgreSQL ends the transaction that has waited for a second. On a very slow machine that is the other one.
    """
    await house.create()
    async with house.delivering() as deliver:
        with suppress(Overtaken):
            async with house.estate.databases.worker.across_tenants() as other:
                await other.execute("SELECT FROM chamberlain.delivery FOR UPDATE")
                delivering = asyncio.create_task(deliver.deliver(await house.claim()))

                async def waits() -> bool:
                    return bool(await house.estate.rows("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))

                await until(waits)
                await other.execute("SELECT FROM chamberlain.job FOR UPDATE")
        await delivering

    assert ((await house.only()).state, len(house.receiver.received)) == (SUCCEEDED, 1)


async def test_to_run_it_twice_is_boring(house: House) -> None:
    await house.create()
    claim = await house.claim()
    async with house.delivering() as deliver:
        await deliver.deliver(claim)
        await deliver.deliver(claim)

    assert len(house.receiver.received) == 1
    assert len((await house.only()).attempts) == 1


async def test_creating_goes_on_whatever_becomes_of_the_webhook(house: House) -> None:
    await house.put_webhook(url="http://hooks..estate.example/")
    accepted = await house.estate.request("Apollo")
    await house.estate.work()
    await house.deliver()

    assert (await house.estate.record(accepted.request_id)).state == "succeeded"
    assert (await house.only()).attempts[0].error == REFUSED
