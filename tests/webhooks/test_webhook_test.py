# SPDX-License-Identifier: Apache-2.0
"""The webhook of a template is called once with a test event, by its administrators only."""

import json
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from ipaddress import ip_address, ip_network
from typing import Any
from uuid import UUID

import pytest
from standardwebhooks.webhooks import Webhook

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, Forbidden, KeyReused, NotFound
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.core.ids import TemplateId
from chamberlain.template_admin import webhook_secrets, webhook_state
from chamberlain.template_admin.models import COLLAB, MAIL, TemplateArea
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from chamberlain.webhooks.addresses import Address, Network
from chamberlain.webhooks.models import Attempt
from chamberlain.webhooks.sender import REFUSED, TIMED_OUT, Sender
from tests.estates import ADA, BEN, ESTATE, OTHER_GROUP, OTHER_HOUSE, PROJECT_GROUP, ZOE, Estate
from tests.requests.request_services import act, administrator, application
from tests.template_admin.template_fixture import KEYRING, TemplateFixture
from tests.webhooks.fake_webhook_receiver import HANG, FakeWebhookReceiver, answer, run_webhook_receiver
from tests.webhooks.webhook_services import webhook_service_of

ROOM = TemplateId(UUID("7e000000-0000-4000-8000-000000000003"))
LOOPBACK = (ip_network("127.0.0.0/8"),)
FIRST = f"whsec_{b64encode(bytes([1] * 32)).decode()}"
SECOND = f"whsec_{b64encode(bytes([2] * 32)).decode()}"
# Internal addresses: each by another name.
INSIDE = {
    "loopback.example": "127.0.0.1",
    "private.example": "10.1.2.3",
    "link.example": "169.254.169.254",
    "six.example": "fd00::1",
    "mapped.example": "::ffff:127.0.0.1",
}
AUDIT = "SELECT payload::text FROM chamberlain.audit WHERE action = 'webhook.test' ORDER BY sequence"
ZOE_ADMINISTERS = "UPDATE chamberlain.tenant SET administrator_users = $2 WHERE tenant_id = $1 RETURNING tenant_id"
STRANGERS = [
    pytest.param(administrator(ZOE, OTHER_HOUSE), id="delegated"),
    pytest.param(application("Collab.Config.ReadWrite.All", OTHER_HOUSE), id="application"),
]


async def resolve(host: str, _port: int) -> Sequence[Address]:
    """Names of ours, and addresses as they are; all else is unknown."""
    try:
        return [ip_address(INSIDE.get(host, host))]
    except ValueError as error:
        raise OSError(host) from error


@dataclass
class WebhookTester:
    """A caller that tests a webhook. `allowed` are the networks that the operator allows."""

    estate: Estate
    caller: Caller
    area: TemplateArea = COLLAB
    allowed: Sequence[Network] = LOOPBACK
    timeout: timedelta = timedelta(seconds=10)

    async def __call__(self, template_id: TemplateId, key: str | None = None, digest: bytes = b"") -> KeptAnswer:
        sender = Sender(
            resolve=resolve,
            allowed_networks=self.allowed,
            allow_http=True,
            trust=ssl.create_default_context(),
            now=self.estate.now,
            timeout=self.timeout,
        )
        service = replace(webhook_service_of(self.estate), send=sender.send)
        said = act(key=key, digest=digest)
        try:
            return await service.send_test(self.caller, template_id, said, shown, area=self.area)
        finally:
            await sender.close()

    async def attempt(self, template_id: TemplateId) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((await self(template_id)).body)
        return found


def shown(attempt: Attempt) -> bytes:
    return json.dumps({"status": attempt.status, "error": attempt.error, "answer": attempt.answer}).encode()


@pytest.fixture
async def webhook_receiver() -> AsyncIterator[FakeWebhookReceiver]:
    async with run_webhook_receiver() as found:
        yield found


@pytest.fixture
async def webhook_template(estate: Estate, webhook_receiver: FakeWebhookReceiver) -> TemplateId:
    """A template of groups that tells the receiver."""
    return await hook(estate, f"{webhook_receiver.address}/hook")


@pytest.fixture
def webhook_tester(estate: Estate) -> WebhookTester:
    return WebhookTester(estate, administrator(ADA))


async def hook(estate: Estate, url: str, **webhook: object) -> TemplateId:
    template_fixture = TemplateFixture(estate, administrator(ADA), COLLAB)
    return await template_fixture.create({"webhook": {"url": url, "secret": FIRST, **webhook}})


async def test_it_works(
    webhook_receiver: FakeWebhookReceiver, webhook_template: TemplateId, webhook_tester: WebhookTester
) -> None:
    webhook_receiver.answers = [answer(200, b"thanks")]

    attempt = await webhook_tester.attempt(webhook_template)

    assert attempt == {"status": 200, "error": None, "answer": "thanks"}
    (call,) = webhook_receiver.received
    assert call.line == "POST /hook HTTP/1.1"
    payload = json.loads(call.body)
    assert list(payload) == ["type", "timestamp", "requestId", "tenantId", "data"]
    assert payload == {
        "type": "webhook.test",
        "timestamp": "2026-11-20T09:30:00.000Z",
        "requestId": None,
        "tenantId": str(ESTATE),
        "data": {"templateId": str(webhook_template)},
    }


async def test_it_is_signed_with_every_secret_that_counts(
    estate: Estate, webhook_receiver: FakeWebhookReceiver, webhook_template: TemplateId, webhook_tester: WebhookTester
) -> None:
    async with estate.databases.application.transaction(ESTATE) as tx:
        await WebhookSecrets(KEYRING, lambda: SECOND, estate.now).rotate(tx, ESTATE, webhook_template)

    await webhook_tester(webhook_template)

    (call,) = webhook_receiver.received
    assert len(call.headers["webhook-signature"].split()) == 2
    for secret in (FIRST, SECOND):
        # The clock of the estate does not move, and the library uses another one.
        signature = Webhook(secret).sign(call.headers["webhook-id"], estate.now(), call.body.decode())
        assert signature in call.headers["webhook-signature"].split()


async def test_it_leaves_nothing_but_a_record(
    estate: Estate, webhook_template: TemplateId, webhook_tester: WebhookTester
) -> None:
    before = await estate.counts()

    await webhook_tester(webhook_template)

    after = await estate.counts()
    assert (after["event"], after["job"]) == (before["event"], before["job"])
    assert await estate.rows("SELECT FROM chamberlain.delivery") == []
    ((payload,),) = await estate.rows(AUDIT)
    told = json.loads(str(payload))
    assert told["actor"]["displayName"] == "Ada Achterberg"
    assert told["subject"] == {"type": "template", "id": str(webhook_template), "displayName": "Quiet group"}
    assert (told["after"]["status"], told["after"]["error"]) == (204, None)
    assert "whsec" not in str(payload)


async def test_one_that_is_not_called_otherwise_is_called_too(
    estate: Estate, webhook_receiver: FakeWebhookReceiver, webhook_template: TemplateId, webhook_tester: WebhookTester
) -> None:
    inactive = await hook(estate, webhook_receiver.address, active=False)
    async with estate.databases.worker.across_tenants() as tx:
        await webhook_state.fail(tx, [(ESTATE, webhook_template)], at=estate.now())
        await webhook_state.disable(tx, (ESTATE, webhook_template), reason="Gone.", at=estate.now())

    attempts = [await webhook_tester.attempt(each) for each in (inactive, webhook_template)]

    assert [each["status"] for each in attempts] == [204, 204]
    disabled = "SELECT disabled_reason FROM chamberlain.webhook_state"
    assert await estate.rows(disabled) == [("Gone.",)]


async def test_a_receiver_that_fails_is_reported_of_and_not_disabled(
    estate: Estate, webhook_receiver: FakeWebhookReceiver, webhook_template: TemplateId, webhook_tester: WebhookTester
) -> None:
    webhook_receiver.answers = [answer(410, b"no more")]

    assert await webhook_tester.attempt(webhook_template) == {"status": 410, "error": None, "answer": "no more"}
    assert await estate.rows("SELECT FROM chamberlain.webhook_state") == []


async def test_one_that_hangs_ends_with_the_time_out(
    estate: Estate, webhook_receiver: FakeWebhookReceiver, webhook_template: TemplateId
) -> None:
    webhook_receiver.answers = [HANG]

    attempt = await WebhookTester(estate, administrator(ADA), timeout=timedelta(milliseconds=300)).attempt(
        webhook_template
    )

    assert (attempt["status"], attempt["error"]) == (None, TIMED_OUT)


async def test_no_transaction_is_open_over_the_call(
    estate: Estate, webhook_receiver: FakeWebhookReceiver, webhook_template: TemplateId
) -> None:
    open_now = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
    seen: list[object] = []

    async def watch(host: str, port: int) -> Sequence[Address]:
        """Look at the database while the call is being made."""
        seen.extend(await estate.rows(open_now))
        return await resolve(host, port)

    sender = Sender(
        resolve=watch, allowed_networks=LOOPBACK, allow_http=True, trust=ssl.create_default_context(), now=estate.now
    )
    service = replace(webhook_service_of(estate), send=sender.send)
    await service.send_test(administrator(ADA), webhook_template, act(), shown, area=COLLAB)
    await sender.close()

    assert seen == [(0,)]
    assert len(webhook_receiver.received) == 1


async def test_a_repeated_call_is_made_once(
    webhook_receiver: FakeWebhookReceiver, webhook_template: TemplateId, webhook_tester: WebhookTester
) -> None:
    first = await webhook_tester(webhook_template, "k")

    second = await webhook_tester(webhook_template, "k")

    assert (second.body, second.replayed, len(webhook_receiver.received)) == (first.body, True, 1)
    with pytest.raises(KeyReused):
        await webhook_tester(webhook_template, "k", b"another")


async def test_refusals_all_look_the_same(estate: Estate) -> None:
    webhook_tester = WebhookTester(estate, administrator(ADA), allowed=())
    hosts = [*INSIDE, "unknown.example", "127.0.0.1:1", "2130706433", "[::1]", "127.1"]

    attempts = [await webhook_tester.attempt(await hook(estate, f"http://{host}/")) for host in hosts]

    assert attempts == [{"status": None, "error": REFUSED, "answer": None}] * len(hosts)


async def test_it_rejects_one_that_cannot_be_signed(
    estate: Estate, webhook_receiver: FakeWebhookReceiver, webhook_template: TemplateId, webhook_tester: WebhookTester
) -> None:
    async with estate.databases.worker.across_tenants() as tx:
        await webhook_secrets.forget(tx, ESTATE, webhook_template)

    with pytest.raises(Conflict) as refused:
        await webhook_tester(webhook_template)

    assert refused.value.code == "stateDoesNotAllow"
    assert webhook_receiver.received == []


@pytest.mark.parametrize("template_id", [PROJECT_GROUP, OTHER_GROUP, TemplateId(UUID(int=1))])
async def test_it_rejects_templates_without_a_webhook(webhook_tester: WebhookTester, template_id: TemplateId) -> None:
    with pytest.raises(NotFound):
        await webhook_tester(template_id)


async def test_it_rejects_who_does_not_administer_it(
    estate: Estate, webhook_receiver: FakeWebhookReceiver, webhook_template: TemplateId
) -> None:
    for caller in (administrator(BEN), application("Collab.Manage.ReadWrite.All")):
        with pytest.raises(Forbidden):
            await WebhookTester(estate, caller)(webhook_template)
    with pytest.raises(NotFound):
        await WebhookTester(estate, administrator(ADA), MAIL)(webhook_template)

    assert webhook_receiver.received == []


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_the_second_tenant_calls_nobody(
    estate: Estate, webhook_receiver: FakeWebhookReceiver, webhook_template: TemplateId, stranger: Caller
) -> None:
    await estate.rows(ZOE_ADMINISTERS, OTHER_HOUSE, [ZOE])

    with pytest.raises(NotFound):
        await WebhookTester(estate, stranger)(webhook_template)

    assert webhook_receiver.received == []
    assert await estate.rows(AUDIT) == []
