# SPDX-License-Identifier: Apache-2.0
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
from tests.webhooks.fake_webhook_receiver import CLOSE, HANG, FakeWebhookReceiver, answer, run_webhook_receiver

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
class DeliveryFixture:
    """An estate with a webhook for project groups, its receiver, and a delivering worker.

    `moment` is the time of its clock, `meanwhile` an action during a call.
    """

    estate: Estate
    webhook_receiver: FakeWebhookReceiver
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
async def webhook_receiver() -> AsyncIterator[FakeWebhookReceiver]:
    async with run_webhook_receiver() as found:
        yield found


@pytest.fixture
async def delivery_fixture(databases: Databases, webhook_receiver: FakeWebhookReceiver) -> DeliveryFixture:
    url = f"{webhook_receiver.address}/chamberlain"
    estate = await open_estate(databases, changed_estate(project_group={"webhook": {"url": url}}))
    async with databases.application.transaction(ESTATE) as tx:
        settled = await FIRST.settle(tx, ESTATE, PROJECT_GROUP, WebhookBody(url=url))
    assert settled.made is not None
    return DeliveryFixture(estate, webhook_receiver, settled.made)


def in_real_time(delivery_fixture: DeliveryFixture) -> DeliveryFixture:
    """The reference library looks at the time of a call."""
    delivery_fixture.moment = datetime.now(UTC)
    return delivery_fixture


async def test_it_works(delivery_fixture: DeliveryFixture) -> None:
    in_real_time(delivery_fixture)
    accepted = await delivery_fixture.estate.request("Apollo", metadata={"el-text-1": "x"})
    await delivery_fixture.estate.work()
    await delivery_fixture.deliver()

    (got,) = delivery_fixture.webhook_receiver.received
    payload = Webhook(delivery_fixture.secret).verify(got.body, dict(got.headers))
    group = await delivery_fixture.estate.group(accepted.request_id)
    assert group is not None
    assert set(payload) == {"type", "timestamp", "requestId", "tenantId", "data"}
    assert (payload["type"], payload["requestId"]) == ("group.created", str(accepted.request_id))
    assert payload["data"]["group"]["id"] == str(group.id)
    found = await delivery_fixture.only()
    assert got.headers["webhook-id"] == str(found.event_id)
    assert (found.state, found.next_attempt_at) == (SUCCEEDED, None)
    assert [(each.number, each.status, each.error, each.at) for each in found.attempts] == [
        (1, 204, None, delivery_fixture.moment)
    ]
    assert await delivery_fixture.estate.rows("SELECT FROM chamberlain.job WHERE kind = 'webhookDeliver'") == []
    assert await delivery_fixture.estate.rows(STATE) == []
    assert delivery_fixture.outcomes == ["succeeded"]


async def test_it_works_for_many_at_a_time(delivery_fixture: DeliveryFixture) -> None:
    in_real_time(delivery_fixture)
    names = [f"Group {number}" for number in range(30)]
    await delivery_fixture.create(*names)
    await delivery_fixture.deliver()

    bodies = [
        Webhook(delivery_fixture.secret).verify(each.body, dict(each.headers))
        for each in delivery_fixture.webhook_receiver.received
    ]
    assert sorted(each["data"]["group"]["displayName"] for each in bodies) == sorted(names)
    assert {each.state for each in await delivery_fixture.all()} == {SUCCEEDED}


async def test_both_secrets_verify_while_they_rotate(delivery_fixture: DeliveryFixture) -> None:
    in_real_time(delivery_fixture)
    now = delivery_fixture.moment
    async with delivery_fixture.estate.databases.application.transaction(ESTATE) as tx:
        rotated = await WebhookSecrets(KEYRING, lambda: f"whsec_{'B' * 44}", lambda: now).rotate(
            tx, ESTATE, PROJECT_GROUP
        )
    await delivery_fixture.create()
    await delivery_fixture.deliver()

    (got,) = delivery_fixture.webhook_receiver.received
    for secret in (rotated.made, delivery_fixture.secret):
        Webhook(secret).verify(got.body, dict(got.headers))


async def test_it_comes_back_to_one_that_answers_500_three_times(delivery_fixture: DeliveryFixture) -> None:
    delivery_fixture.webhook_receiver.answers = [answer(500, b"oops")] * 3
    await delivery_fixture.create()
    await delivery_fixture.deliver()
    waits = []
    for _ in range(3):
        (row,) = await delivery_fixture.estate.rows(
            "SELECT run_at - now() FROM chamberlain.job WHERE kind = 'webhookDeliver'"
        )
        waits.append(row[0])
        assert await delivery_fixture.estate.rows("SELECT failing_since FROM chamberlain.webhook_state") == [(MOMENT,)]
        delivery_fixture.moment += timedelta(hours=1)
        await delivery_fixture.deliver_later()

    found = await delivery_fixture.only()
    assert found.state is SUCCEEDED
    assert [each.status for each in found.attempts] == [500, 500, 500, 204]
    assert [each.number for each in found.attempts] == [1, 2, 3, 4]
    assert found.attempts[0].answer == "oops"
    for wait, expected in zip(waits, RETRY_SCHEDULE, strict=False):
        assert isinstance(wait, timedelta)
        assert expected - timedelta(seconds=4) < wait <= expected
    # The same id and the same bytes each time, and nothing is left of the failure.
    assert len({(each.headers["webhook-id"], each.body) for each in delivery_fixture.webhook_receiver.received}) == 1
    assert await delivery_fixture.estate.rows(STATE) == []
    assert delivery_fixture.outcomes == ["again", "again", "again", "succeeded"]


async def test_it_gives_up_at_the_end_of_the_schedule(delivery_fixture: DeliveryFixture) -> None:
    delivery_fixture.webhook_receiver.usual = answer(500)
    await delivery_fixture.create()
    await delivery_fixture.deliver()
    for _ in RETRY_SCHEDULE:
        await delivery_fixture.deliver_later()

    found = await delivery_fixture.only()
    assert (found.state, found.next_attempt_at, len(found.attempts)) == (FAILED, None, 10)
    assert await delivery_fixture.estate.rows("SELECT FROM chamberlain.job WHERE kind = 'webhookDeliver'") == []


async def test_a_redelivery_begins_the_schedule_again_with_the_same_id(delivery_fixture: DeliveryFixture) -> None:
    delivery_fixture.webhook_receiver.usual = answer(500)
    await delivery_fixture.create()
    await delivery_fixture.deliver()
    for _ in RETRY_SCHEDULE:
        await delivery_fixture.deliver_later()
    found = await delivery_fixture.only()
    async with delivery_fixture.estate.databases.application.transaction(ESTATE) as tx:
        assert await webhook_store.redeliver(tx, found.id)
    await delivery_fixture.deliver()

    again = await delivery_fixture.only()
    assert (again.state, len(again.attempts)) == (PENDING, 11)
    assert again.attempts[-1].number == 11
    (row,) = await delivery_fixture.estate.rows(
        "SELECT run_at - now() FROM chamberlain.job WHERE kind = 'webhookDeliver'"
    )
    assert isinstance(row[0], timedelta)
    assert row[0] <= RETRY_SCHEDULE[0]
    assert len({each.headers["webhook-id"] for each in delivery_fixture.webhook_receiver.received}) == 1


@pytest.mark.parametrize(
    ("usual", "status", "error"),
    [(HANG, None, TIMED_OUT), (answer(302, Location="/elsewhere"), 302, None), (CLOSE, None, "any")],
    ids=["hangs", "redirects", "hangs up"],
)
async def test_it_comes_back_to_one_that_behaves_badly(
    delivery_fixture: DeliveryFixture, usual: bytes, status: int | None, error: str | None
) -> None:
    delivery_fixture.webhook_receiver.usual = usual
    delivery_fixture.timeout = timedelta(milliseconds=200)
    await delivery_fixture.create()
    await delivery_fixture.deliver()

    found = await delivery_fixture.only()
    (attempt,) = found.attempts
    assert (found.state, attempt.status) == (PENDING, status)
    assert attempt.error == error or (error == "any" and attempt.error)
    assert found.next_attempt_at is not None
    assert [each.line for each in delivery_fixture.webhook_receiver.received] == ["POST /chamberlain HTTP/1.1"]


async def test_it_takes_a_success_of_50_megabytes_for_what_it_is(delivery_fixture: DeliveryFixture) -> None:
    delivery_fixture.webhook_receiver.usual = answer(200, b"x" * 50_000_000)
    await delivery_fixture.create()
    await delivery_fixture.deliver()

    found = await delivery_fixture.only()
    assert (found.state, found.attempts[0].answer) == (SUCCEEDED, "x" * 1024)
    assert delivery_fixture.webhook_receiver.sent < 20_000_000


async def test_one_that_is_gone_is_disabled_with_an_event_and_called_no_more(delivery_fixture: DeliveryFixture) -> None:
    delivery_fixture.webhook_receiver.answers = [answer(500), answer(410)]
    await delivery_fixture.create("Apollo")
    await delivery_fixture.deliver()
    await delivery_fixture.create("Mercury")
    await delivery_fixture.deliver()

    states = {each.state: len(each.attempts) for each in await delivery_fixture.all()}
    assert states == {FAILED: 1, CANCELLED: 1}
    ((data,),) = await delivery_fixture.estate.rows(DISABLED)
    assert msgspec.json.decode(str(data)) == {
        "templateId": str(PROJECT_GROUP),
        "url": f"{delivery_fixture.webhook_receiver.address}/chamberlain",
        "reason": GONE,
    }
    ((audited,),) = await delivery_fixture.estate.rows(AUDITED)
    record = msgspec.json.decode(str(audited))
    assert (record["actor"]["type"], record["client"]) == ("system", None)
    assert record["subject"] == {"type": "template", "id": str(PROJECT_GROUP), "displayName": "Project group"}
    assert (record["before"], record["after"]) == ({"active": True}, {"active": False, "disabledReason": GONE})
    assert await delivery_fixture.estate.rows("SELECT FROM chamberlain.job WHERE kind = 'webhookDeliver'") == []
    await delivery_fixture.create("Gemini")
    assert len(await delivery_fixture.all()) == 2


async def test_what_the_receiver_before_has_answered_disables_no_other_one(delivery_fixture: DeliveryFixture) -> None:
    """It was called before its place was taken, and has answered after that."""
    delivery_fixture.webhook_receiver.usual = answer(410)
    await delivery_fixture.create()

    async def put_another() -> None:
        await delivery_fixture.put_webhook(url="https://hooks.estate.example/another")

    delivery_fixture.meanwhile = put_another
    await delivery_fixture.deliver()

    assert (await delivery_fixture.only()).attempts[0].status == 410
    assert await delivery_fixture.estate.rows(STATE) == []
    assert await delivery_fixture.estate.rows(DISABLED) == []


async def test_one_without_a_success_for_five_days_is_disabled(delivery_fixture: DeliveryFixture) -> None:
    delivery_fixture.webhook_receiver.usual = answer(500)
    await delivery_fixture.create()
    await delivery_fixture.deliver()
    delivery_fixture.moment += timedelta(days=4.9)
    await delivery_fixture.deliver_later()
    assert await delivery_fixture.estate.rows(STATE) == [(MOMENT, None)]
    delivery_fixture.moment += timedelta(days=0.2)
    await delivery_fixture.deliver_later()

    assert await delivery_fixture.estate.rows(STATE) == [(MOMENT, FAILING)]
    assert len(await delivery_fixture.estate.rows(DISABLED)) == 1
    assert (await delivery_fixture.only()).state in {PENDING, CANCELLED}
    await delivery_fixture.deliver_later()
    assert (await delivery_fixture.only()).state is CANCELLED
    assert len(delivery_fixture.webhook_receiver.received) == 3


async def test_one_success_in_between_is_enough(delivery_fixture: DeliveryFixture) -> None:
    delivery_fixture.webhook_receiver.usual = answer(500)
    await delivery_fixture.create("Apollo")
    await delivery_fixture.deliver()
    delivery_fixture.moment += timedelta(days=4)
    delivery_fixture.webhook_receiver.answers = [answer(204)]
    await delivery_fixture.create("Mercury")
    await delivery_fixture.deliver()
    delivery_fixture.moment += timedelta(days=4)
    await delivery_fixture.deliver_later()

    assert await delivery_fixture.estate.rows(STATE) == [(delivery_fixture.moment, None)]
    assert await delivery_fixture.estate.rows(DISABLED) == []


async def test_it_asks_the_template_as_it_is_now(delivery_fixture: DeliveryFixture) -> None:
    in_real_time(delivery_fixture)
    await delivery_fixture.create()
    async with run_webhook_receiver() as other:
        await delivery_fixture.put_webhook(url=f"{other.address}/new")
        async with delivery_fixture.estate.databases.application.transaction(ESTATE) as tx:
            sent = WebhookBody(url="https://hooks.estate.example/", secret=f"whsec_{'D' * 44}")
            await FIRST.settle(tx, ESTATE, PROJECT_GROUP, sent)
        await delivery_fixture.deliver()

        assert delivery_fixture.webhook_receiver.received == []
        (got,) = other.received
        Webhook(f"whsec_{'D' * 44}").verify(got.body, dict(got.headers))
        assert (await delivery_fixture.only()).url == f"{other.address}/new"


@pytest.mark.parametrize("change", ["removed", "inactive", "deleted"])
async def test_what_has_no_webhook_any_more_is_cancelled(delivery_fixture: DeliveryFixture, change: str) -> None:
    await delivery_fixture.create()
    match change:
        case "removed":
            await delivery_fixture.put_webhook()
        case "inactive":
            await delivery_fixture.put_webhook(url=delivery_fixture.webhook_receiver.address, active=False)
        case _:
            async with delivery_fixture.estate.databases.application.transaction(ESTATE) as tx:
                await template_records.remove(tx, ESTATE, PROJECT_GROUP)
    await delivery_fixture.deliver()

    found = await delivery_fixture.only()
    assert (found.state, found.attempts, found.next_attempt_at) == (CANCELLED, (), None)
    assert delivery_fixture.webhook_receiver.received == []
    assert delivery_fixture.outcomes == ["cancelled"]


async def test_a_webhook_without_a_secret_gets_one_when_it_is_called(delivery_fixture: DeliveryFixture) -> None:
    in_real_time(delivery_fixture)
    await delivery_fixture.estate.rows("DELETE FROM chamberlain.webhook_secret RETURNING 1")
    await delivery_fixture.create()
    await delivery_fixture.deliver()

    (got,) = delivery_fixture.webhook_receiver.received
    Webhook(f"whsec_{'C' * 44}").verify(got.body, dict(got.headers))
    key = ESTATE, PROJECT_GROUP
    async with delivery_fixture.estate.databases.worker.across_tenants() as tx:
        kept = await webhook_secrets.signing(tx, KEYRING, [key], now=delivery_fixture.moment)
    assert kept[key].values == (f"whsec_{'C' * 44}",)


async def test_nothing_is_sent_that_cannot_be_signed(delivery_fixture: DeliveryFixture) -> None:
    delivery_fixture.keyring = Keyring("other", {"other": bytes([1] * 32)})
    await delivery_fixture.create()
    await delivery_fixture.deliver()

    found = await delivery_fixture.only()
    assert (found.state, found.attempts[0].error) == (PENDING, UNSIGNED)
    assert delivery_fixture.webhook_receiver.received == []
    # It is not the receiver that fails.
    assert await delivery_fixture.estate.rows(STATE) == []


async def test_a_name_that_stands_for_a_private_address_later_is_refused_then(
    delivery_fixture: DeliveryFixture,
) -> None:
    answers = ["127.0.0.1", "10.0.0.1"]

    async def resolve(_host: str, _port: int) -> list[Address]:
        return [ip_address(answers.pop(0))]

    delivery_fixture.resolve = resolve
    port = delivery_fixture.webhook_receiver.address.rpartition(":")[2]
    await delivery_fixture.put_webhook(url=f"http://hooks.estate.example:{port}/chamberlain")
    delivery_fixture.webhook_receiver.answers = [answer(500)]
    await delivery_fixture.create()
    await delivery_fixture.deliver()
    await delivery_fixture.deliver_later()

    found = await delivery_fixture.only()
    assert [(each.status, each.error) for each in found.attempts] == [(500, None), (None, REFUSED)]
    assert len(delivery_fixture.webhook_receiver.received) == 1


async def test_a_worker_that_dies_over_a_call_is_followed_by_one_that_delivers(
    delivery_fixture: DeliveryFixture,
) -> None:
    await delivery_fixture.create()
    delivery_fixture.webhook_receiver.answers = [HANG]
    async with delivery_fixture.delivering() as deliver:
        first = asyncio.create_task(deliver.deliver(await delivery_fixture.claim()))
        async with asyncio.timeout(10):
            while not delivery_fixture.webhook_receiver.received:  # noqa: ASYNC110 (the receiver has no event)
                await asyncio.sleep(0.005)
        first.cancel()
        await asyncio.wait({first})
    await delivery_fixture.estate.rows("UPDATE chamberlain.job SET lease_until = now() - interval '1 s' RETURNING 1")
    await delivery_fixture.deliver()

    found = await delivery_fixture.only()
    assert (found.state, [each.status for each in found.attempts]) == (SUCCEEDED, [204])
    # By its id the receiver has the event once.
    assert len({each.headers["webhook-id"] for each in delivery_fixture.webhook_receiver.received}) == 1


async def test_what_came_of_a_call_outlives_a_deadlock(delivery_fixture: DeliveryFixture) -> None:
    """A transaction that locks the same rows in another order ends in a deadlock. The outcome is written all the same.

    PostgreSQL ends the transaction that has waited for a second. On a very slow machine that is the other one.
    """
    await delivery_fixture.create()
    async with delivery_fixture.delivering() as deliver:
        with suppress(Overtaken):
            async with delivery_fixture.estate.databases.worker.across_tenants() as other:
                await other.execute("SELECT FROM chamberlain.delivery FOR UPDATE")
                delivering = asyncio.create_task(deliver.deliver(await delivery_fixture.claim()))

                async def waits() -> bool:
                    return bool(
                        await delivery_fixture.estate.rows(
                            "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                        )
                    )

                await until(waits)
                await other.execute("SELECT FROM chamberlain.job FOR UPDATE")
        await delivering

    assert ((await delivery_fixture.only()).state, len(delivery_fixture.webhook_receiver.received)) == (SUCCEEDED, 1)


async def test_to_run_it_twice_is_boring(delivery_fixture: DeliveryFixture) -> None:
    await delivery_fixture.create()
    claim = await delivery_fixture.claim()
    async with delivery_fixture.delivering() as deliver:
        await deliver.deliver(claim)
        await deliver.deliver(claim)

    assert len(delivery_fixture.webhook_receiver.received) == 1
    assert len((await delivery_fixture.only()).attempts) == 1


async def test_creating_goes_on_whatever_becomes_of_the_webhook(delivery_fixture: DeliveryFixture) -> None:
    await delivery_fixture.put_webhook(url="http://hooks..estate.example/")
    accepted = await delivery_fixture.estate.request("Apollo")
    await delivery_fixture.estate.work()
    await delivery_fixture.deliver()

    assert (await delivery_fixture.estate.record(accepted.request_id)).state == "succeeded"
    assert (await delivery_fixture.only()).attempts[0].error == REFUSED
