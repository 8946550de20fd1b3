# SPDX-License-Identifier: Apache-2.0
"""Administrators of the tenant list deliveries and send them again; no other caller can."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, Forbidden, KeyReused, NotFound, NotPossible
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.core.ids import DeliveryId, TemplateId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.template_admin import webhook_state
from chamberlain.webhooks.models import DeliveryFilter, DeliveryRecord, DeliverySpan, DeliveryState
from tests.databases import Databases
from tests.estates import (
    ADA,
    BEN,
    ESTATE,
    OTHER_GROUP,
    OTHER_HOUSE,
    PROJECT_GROUP,
    PROJECT_TEAM,
    ZOE,
    Estate,
    changed_estate,
    open_estate,
)
from tests.requests.request_services import act, administrator, application
from tests.webhooks.webhook_services import webhook_service_of

URL = "https://hooks.estate.example/chamberlain"
HOOK, TEAM_HOOK = {"webhook": {"url": URL}}, {"webhook": {"url": f"{URL}/teams"}}
ANY, FIRST = DeliveryFilter(), PageWanted(200, None)
EVER = DeliverySpan(datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
AUDIT = """
SELECT payload::text, request_id FROM chamberlain.audit WHERE action = 'delivery.redeliver' ORDER BY sequence
"""
ZOE_ADMINISTERS = "UPDATE chamberlain.tenant SET administrator_users = $2 WHERE tenant_id = $1 RETURNING tenant_id"
STRANGERS = [
    pytest.param(administrator(ZOE, OTHER_HOUSE), id="delegated"),
    pytest.param(application("Collab.Config.ReadWrite.All", OTHER_HOUSE), id="collab"),
    pytest.param(application("Mail.Config.ReadWrite.All", OTHER_HOUSE), id="mail"),
]


@dataclass
class DeliveriesFixture:
    """An administrator of deliveries."""

    estate: Estate
    caller: Caller
    batch: int = 500

    async def page(self, wanted: DeliveryFilter = ANY, page: PageWanted = FIRST) -> Page[DeliveryRecord]:
        return await webhook_service_of(self.estate).list_deliveries(self.caller, wanted, page)

    async def again(self, delivery_id: DeliveryId, key: str | None = None, digest: bytes = b"") -> KeptAnswer:
        service = webhook_service_of(self.estate)
        return await service.redeliver(self.caller, delivery_id, act(comment="Back", key=key, digest=digest), shown)

    async def span(
        self, span: DeliverySpan = EVER, key: str | None = None, digest: bytes = b"", batch: int = 500
    ) -> KeptAnswer:
        service = replace(webhook_service_of(self.estate), batch=batch)
        said = act(key=key, digest=digest)
        return await service.redeliver_span(self.caller, span, said, lambda count: str(count).encode())


def shown(record: DeliveryRecord) -> bytes:
    has_next = record.next_attempt_at is not None
    return json.dumps({"id": str(record.id), "state": record.state, "next": has_next}).encode()


@pytest.fixture
async def estate(databases: Databases) -> Estate:
    """The example estate with a webhook for project groups; three deliveries have failed."""
    estate = await open_estate(databases, changed_estate(project_group=HOOK, project_team=TEAM_HOOK))
    for name in ("Apollo", "Mercury", "Gemini"):
        await estate.request(name)
    await estate.work()
    await estate.rows(
        "WITH ended AS (DELETE FROM chamberlain.job WHERE kind = 'webhookDeliver') "
        "UPDATE chamberlain.delivery SET state = 'failed', job_id = NULL, tries = 10 RETURNING 1"
    )
    return estate


@pytest.fixture
def deliveries_fixture(estate: Estate) -> DeliveriesFixture:
    return DeliveriesFixture(estate, administrator(ADA))


async def states(estate: Estate) -> list[object]:
    return [state for (state,) in await estate.rows("SELECT state FROM chamberlain.delivery ORDER BY state")]


async def jobs(estate: Estate) -> int:
    return len(await estate.rows("SELECT job_id FROM chamberlain.job WHERE kind = 'webhookDeliver'"))


async def disable(estate: Estate, template_id: TemplateId) -> None:
    async with estate.databases.worker.across_tenants() as tx:
        await webhook_state.fail(tx, [(ESTATE, template_id)], at=estate.now())
        await webhook_state.disable(tx, (ESTATE, template_id), reason="Gone.", at=estate.now())


async def test_it_works(estate: Estate, deliveries_fixture: DeliveriesFixture) -> None:
    first, *_ = (await deliveries_fixture.page()).items

    answer = await deliveries_fixture.again(first.id)

    assert json.loads(answer.body) == {"id": str(first.id), "state": "pending", "next": True}
    assert await states(estate) == ["failed", "failed", "pending"]
    assert await jobs(estate) == 1


async def test_lists_come_in_pages_and_by_every_filter(deliveries_fixture: DeliveriesFixture) -> None:
    everything = (await deliveries_fixture.page()).items
    first = await deliveries_fixture.page(page=PageWanted(2, None))
    second = await deliveries_fixture.page(page=PageWanted(2, first.next))

    assert [*first.items, *second.items] == list(everything)
    assert len(everything) == 3
    wanted = everything[1]
    (found,) = (await deliveries_fixture.page(DeliveryFilter(request_id=wanted.request_id))).items
    assert found == wanted
    assert len((await deliveries_fixture.page(DeliveryFilter(template_id=PROJECT_GROUP))).items) == 3
    assert (await deliveries_fixture.page(DeliveryFilter(template_id=PROJECT_TEAM))).items == []
    assert (await deliveries_fixture.page(DeliveryFilter(state=DeliveryState.SUCCEEDED))).items == []


async def test_the_trail_says_who_sent_it_again(estate: Estate, deliveries_fixture: DeliveriesFixture) -> None:
    first, *_ = (await deliveries_fixture.page()).items

    await deliveries_fixture.again(first.id)

    ((payload, request_id),) = await estate.rows(AUDIT)
    told = json.loads(str(payload))
    assert request_id == first.request_id
    assert told["actor"]["displayName"] == "Ada Achterberg"
    assert told["subject"] == {"type": "delivery", "id": str(first.id), "displayName": "group.created"}
    assert (told["before"], told["after"]) == ({"state": "failed"}, {"state": "pending", "comment": "Back"})


async def test_a_repeated_call_is_done_once(estate: Estate, deliveries_fixture: DeliveriesFixture) -> None:
    one, other, _ = (await deliveries_fixture.page()).items
    first = await deliveries_fixture.again(one.id, "k", b"one")
    await estate.rows("UPDATE chamberlain.delivery SET state = 'succeeded' RETURNING 1")

    second = await deliveries_fixture.again(one.id, "k", b"one")

    assert (second.body, second.replayed) == (first.body, True)
    assert await states(estate) == ["succeeded"] * 3
    with pytest.raises(KeyReused):
        await deliveries_fixture.again(other.id, "k", b"other")


@pytest.mark.parametrize("batch", [1, 2, 3, 500])
async def test_a_span_is_sent_again_in_batches_of_any_size(
    estate: Estate, deliveries_fixture: DeliveriesFixture, batch: int
) -> None:
    answer = await deliveries_fixture.span(batch=batch)

    assert answer.body == b"3"
    assert await states(estate) == ["pending"] * 3
    assert await jobs(estate) == 3


async def test_a_span_has_a_beginning_an_end_and_perhaps_a_template(
    estate: Estate, deliveries_fixture: DeliveriesFixture
) -> None:
    newest, *_ = (await deliveries_fixture.page()).items
    moment = newest.created_at
    await estate.rows(
        "UPDATE chamberlain.delivery SET created_at = $2 WHERE delivery_id = $1 RETURNING 1",
        newest.id,
        moment - timedelta(hours=1),
    )

    early = await deliveries_fixture.span(DeliverySpan(moment - timedelta(hours=2), moment))
    none = await deliveries_fixture.span(DeliverySpan(moment + timedelta(seconds=60), EVER.until))
    other = await deliveries_fixture.span(replace(EVER, template_id=PROJECT_TEAM))
    own = await deliveries_fixture.span(replace(EVER, template_id=PROJECT_GROUP))

    assert [early.body, none.body, other.body, own.body] == [b"1", b"0", b"0", b"3"]


async def test_a_span_is_on_record_and_done_once_for_a_key(
    estate: Estate, deliveries_fixture: DeliveriesFixture
) -> None:
    first = await deliveries_fixture.span(key="k")
    await estate.rows("UPDATE chamberlain.delivery SET state = 'succeeded' RETURNING 1")

    second = await deliveries_fixture.span(key="k")

    assert (first.body, second.body, second.replayed) == (b"3", b"3", True)
    assert await states(estate) == ["succeeded"] * 3
    ((payload, _),) = await estate.rows(AUDIT)
    told = json.loads(str(payload))
    assert told["subject"]["type"] == "delivery"
    assert told["after"] == {"from": EVER.since.isoformat(), "to": EVER.until.isoformat(), "templateId": None}
    with pytest.raises(KeyReused):
        await deliveries_fixture.span(key="k", digest=b"another")


async def test_it_rejects_what_is_not_to_be_called(estate: Estate, deliveries_fixture: DeliveriesFixture) -> None:
    first, *_ = (await deliveries_fixture.page()).items
    await disable(estate, PROJECT_GROUP)

    for attempt in (
        deliveries_fixture.again(first.id),
        deliveries_fixture.span(replace(EVER, template_id=PROJECT_GROUP)),
    ):
        with pytest.raises(Conflict) as refused:
            await attempt
        assert refused.value.code == "stateDoesNotAllow"

    assert (await deliveries_fixture.span()).body == b"0"
    assert await states(estate) == ["failed"] * 3


@pytest.mark.parametrize("template_id", [OTHER_GROUP, TemplateId(UUID(int=1))])
async def test_it_rejects_a_template_that_is_not_there(
    deliveries_fixture: DeliveriesFixture, template_id: TemplateId
) -> None:
    with pytest.raises(NotPossible) as refused:
        await deliveries_fixture.span(replace(EVER, template_id=template_id))

    assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [("/templateId", "templateUnknown")]


async def test_it_rejects_one_that_is_not_there(deliveries_fixture: DeliveriesFixture) -> None:
    with pytest.raises(NotFound):
        await deliveries_fixture.again(DeliveryId(UUID(int=1)))


async def test_it_rejects_who_does_not_administer_the_tenant(
    estate: Estate, deliveries_fixture: DeliveriesFixture
) -> None:
    first, *_ = (await deliveries_fixture.page()).items

    for caller in (administrator(BEN), application("Collab.Manage.ReadWrite.All")):
        stranger = DeliveriesFixture(estate, caller)
        for attempt in (stranger.page(), stranger.again(first.id), stranger.span()):
            with pytest.raises(Forbidden):
                await attempt

    assert await states(estate) == ["failed"] * 3


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_the_second_tenant_sees_and_does_nothing(
    estate: Estate, deliveries_fixture: DeliveriesFixture, stranger: Caller
) -> None:
    await estate.rows(ZOE_ADMINISTERS, OTHER_HOUSE, [ZOE])
    theirs = DeliveriesFixture(estate, stranger)
    first, *_ = (await deliveries_fixture.page()).items

    assert (await theirs.page()).items == []
    assert (await theirs.page(DeliveryFilter(template_id=PROJECT_GROUP))).items == []
    assert (await theirs.page(DeliveryFilter(request_id=first.request_id))).items == []
    with pytest.raises(NotFound):
        await theirs.again(first.id)
    with pytest.raises(NotPossible):
        await theirs.span(replace(EVER, template_id=PROJECT_GROUP))
    assert (await theirs.span()).body == b"0"
    assert await states(estate) == ["failed"] * 3
    assert await jobs(estate) == 0
