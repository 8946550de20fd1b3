# SPDX-License-Identifier: Apache-2.0
"""The secret of a webhook is rotated: shown once, on record without it, and never for another tenant."""

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from chamberlain.auth.models import Caller, Edit
from chamberlain.core.errors import Forbidden, KeyReused, NotFound, Stale
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.core.ids import TemplateId
from chamberlain.template_admin import webhook_secrets
from chamberlain.template_admin.models import COLLAB, MAIL, RotatedWebhook, TemplateArea
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from tests.estates import ADA, BEN, ESTATE, OTHER_GROUP, OTHER_HOUSE, PROJECT_GROUP, TRACE, ZOE, Estate
from tests.requests.request_services import act, administrator, application
from tests.template_admin.template_fixture import KEYRING, TemplateFixture
from tests.webhooks.webhook_services import webhook_service_of

ROOM = TemplateId(UUID("7e000000-0000-4000-8000-000000000003"))
NO_GUESTS = TemplateId(UUID("7e000000-0000-4000-8000-000000000021"))
STRANGERS = [
    pytest.param(administrator(ZOE, OTHER_HOUSE), id="delegated"),
    pytest.param(application("Collab.Config.ReadWrite.All", OTHER_HOUSE), id="application"),
]
HOOK: dict[str, object] = {"webhook": {"url": "https://hooks.estate.example/chamberlain"}}
AUDIT = "SELECT payload::text FROM chamberlain.audit WHERE action = 'webhook.rotate' ORDER BY sequence"
ZOE_ADMINISTERS = "UPDATE chamberlain.tenant SET administrator_users = $2 WHERE tenant_id = $1 RETURNING tenant_id"
EVERYTHING = """
SELECT string_agg(t.text, ' ') FROM (
    SELECT payload::text AS text FROM chamberlain.audit UNION ALL
    SELECT data::text FROM chamberlain.event UNION ALL
    SELECT answer FROM chamberlain.idempotency_key
) t
"""


def shown(rotated: RotatedWebhook) -> bytes:
    until = rotated.previous_until
    return json.dumps(
        {
            "id": str(rotated.record.stored.head.id),
            "number": rotated.record.secret_number,
            "secret": rotated.record.made_secret,
            "until": until and until.isoformat(),
        }
    ).encode()


@dataclass
class SecretRotator:
    """A caller that rotates; created secrets are counted."""

    estate: Estate
    caller: Caller
    area: TemplateArea = COLLAB
    made: int = 0

    async def __call__(self, template_id: TemplateId, key: str | None = None, digest: bytes = b"") -> KeptAnswer:
        secrets = WebhookSecrets(KEYRING, self.new_secret, self.estate.now)
        service = replace(webhook_service_of(self.estate), secrets=secrets)
        said = act(comment="Yearly", key=key, digest=digest)
        return await service.rotate_secret(self.caller, template_id, said, shown, area=self.area)

    def new_secret(self) -> str:
        self.made += 1
        return f"whsec_made{self.made}"

    async def answered(self, template_id: TemplateId, key: str | None = None) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((await self(template_id, key)).body)
        return found


@pytest.fixture
async def webhook_template(estate: Estate) -> TemplateId:
    """A template of groups with a webhook, whose secret the service has made."""
    return await TemplateFixture(estate, administrator(ADA), COLLAB).create(HOOK)


async def signing(estate: Estate, template_id: TemplateId) -> tuple[str, ...]:
    key = ESTATE, template_id
    async with estate.databases.worker.across_tenants() as tx:
        return (await webhook_secrets.signing(tx, KEYRING, [key], now=estate.now()))[key].values


async def test_it_works(estate: Estate, webhook_template: TemplateId) -> None:
    (first,) = await signing(estate, webhook_template)

    answer = await SecretRotator(estate, administrator(ADA)).answered(webhook_template)

    assert answer["id"] == str(webhook_template)
    assert answer["secret"] == "whsec_made1"
    assert answer["number"] == 2
    assert await signing(estate, webhook_template) == ("whsec_made1", first)
    estate.moment += timedelta(hours=24)
    assert await signing(estate, webhook_template) == ("whsec_made1",)


async def test_the_one_before_counts_for_24_hours_from_now(estate: Estate, webhook_template: TemplateId) -> None:
    answer = await SecretRotator(estate, administrator(ADA)).answered(webhook_template)

    assert answer["until"] == (estate.moment + timedelta(hours=24)).isoformat()


async def test_it_makes_the_first_one_of_a_webhook_without_any(estate: Estate, webhook_template: TemplateId) -> None:
    async with estate.databases.worker.across_tenants() as tx:
        await webhook_secrets.forget(tx, ESTATE, webhook_template)

    answer = await SecretRotator(estate, administrator(ADA)).answered(webhook_template)

    assert (answer["secret"], answer["number"], answer["until"]) == ("whsec_made1", 1, None)
    assert await signing(estate, webhook_template) == ("whsec_made1",)
    ((payload,),) = await estate.rows(AUDIT)
    assert json.loads(str(payload))["before"] == {"secret": None}


async def test_the_trail_says_who_and_shows_no_secret(estate: Estate, webhook_template: TemplateId) -> None:
    await SecretRotator(estate, administrator(ADA))(webhook_template, "k")

    ((payload,),) = await estate.rows(AUDIT)
    told = json.loads(str(payload))
    assert told["actor"]["displayName"] == "Ada Achterberg"
    assert told["subject"] == {"type": "template", "id": str(webhook_template), "displayName": "Quiet group"}
    assert (told["before"], told["after"]) == ({"secret": "***"}, {"secret": "***", "comment": "Yearly"})
    ((everything,),) = await estate.rows(EVERYTHING)
    assert "whsec" not in str(everything)


async def test_a_repeated_call_rotates_once_and_is_not_shown_the_secret(
    estate: Estate, webhook_template: TemplateId
) -> None:
    rotator = SecretRotator(estate, administrator(ADA))
    first = await rotator(webhook_template, "k", b"one")

    second = await rotator(webhook_template, "k", b"one")

    assert (rotator.made, second.replayed) == (1, True)
    assert json.loads(second.body) == {**json.loads(first.body), "secret": None}
    with pytest.raises(KeyReused):
        await rotator(webhook_template, "k", b"another")


async def test_the_template_is_another_version_then(estate: Estate, webhook_template: TemplateId) -> None:
    template_fixture = TemplateFixture(estate, administrator(ADA), COLLAB)
    seen = Edit(frozenset({(await template_fixture.read(webhook_template)).etag}), TRACE)

    await SecretRotator(estate, administrator(ADA))(webhook_template)

    with pytest.raises(Stale):
        await template_fixture.replace(webhook_template, HOOK, seen)


async def test_a_put_without_a_secret_keeps_both(estate: Estate, webhook_template: TemplateId) -> None:
    await SecretRotator(estate, administrator(ADA))(webhook_template)
    before = await signing(estate, webhook_template)

    await TemplateFixture(estate, administrator(ADA), COLLAB).replace(webhook_template, HOOK | {"name": "Loud group"})

    assert await signing(estate, webhook_template) == before
    assert len(before) == 2


async def test_each_area_rotates_its_own(estate: Estate, webhook_template: TemplateId) -> None:
    await TemplateFixture(estate, administrator(ADA)).replace(ROOM, HOOK)

    answer = await SecretRotator(estate, administrator(ADA), MAIL).answered(ROOM)

    assert answer["secret"] == "whsec_made1"
    for area, theirs in ((MAIL, webhook_template), (COLLAB, ROOM)):
        with pytest.raises(NotFound):
            await SecretRotator(estate, administrator(ADA), area)(theirs)


async def test_it_works_for_an_application_that_configures(estate: Estate, webhook_template: TemplateId) -> None:
    await SecretRotator(estate, application("Collab.Config.ReadWrite.All"))(webhook_template)

    for permission in ("Collab.Manage.ReadWrite.All", "Mail.Config.ReadWrite.All"):
        with pytest.raises(Forbidden):
            await SecretRotator(estate, application(permission))(webhook_template)


@pytest.mark.parametrize("template_id", [PROJECT_GROUP, NO_GUESTS, OTHER_GROUP, TemplateId(UUID(int=1))])
async def test_it_rejects_templates_without_a_webhook(estate: Estate, template_id: TemplateId) -> None:
    rotator = SecretRotator(estate, administrator(ADA))

    with pytest.raises(NotFound):
        await rotator(template_id)

    assert await estate.rows("SELECT number FROM chamberlain.webhook_secret") == []


async def test_it_rejects_who_is_no_administrator(estate: Estate, webhook_template: TemplateId) -> None:
    before = await signing(estate, webhook_template)

    with pytest.raises(Forbidden):
        await SecretRotator(estate, administrator(BEN))(webhook_template)

    assert await signing(estate, webhook_template) == before


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_it_rejects_the_second_tenant(estate: Estate, webhook_template: TemplateId, stranger: Caller) -> None:
    await estate.rows(ZOE_ADMINISTERS, OTHER_HOUSE, [ZOE])
    before = await signing(estate, webhook_template)

    with pytest.raises(NotFound):
        await SecretRotator(estate, stranger)(webhook_template)

    assert await signing(estate, webhook_template) == before
    assert await estate.rows(AUDIT) == []
