# SPDX-License-Identifier: Apache-2.0
"""A webhook that was disabled is shown so on its template, and is called again when it is put as active."""

import json
from typing import Any

import pytest

from chamberlain.auth.models import Edit
from chamberlain.core.errors import Stale
from chamberlain.core.ids import TemplateId
from chamberlain.template_admin import webhook_state
from chamberlain.template_admin.documents import decode_template
from chamberlain.template_admin.models import COLLAB, TemplateRecord
from chamberlain.template_admin.wire import TemplateWebhook, encode_webhook
from tests.estates import ADA, ESTATE, PROJECT_GROUP, TRACE, Estate, apply, changed_estate
from tests.requests.request_services import administrator
from tests.template_admin.template_fixture import TemplateFixture

URL = "https://hooks.estate.example/chamberlain"
HOOK: dict[str, object] = {"webhook": {"url": URL}}
GONE = "The receiver answered 410 (Gone)."
AUDIT = "SELECT payload::text FROM chamberlain.audit WHERE action = 'template.replace' ORDER BY sequence DESC"
STATES = "SELECT failing_since IS NOT NULL, disabled_reason FROM chamberlain.webhook_state"


@pytest.fixture
def template_fixture(estate: Estate) -> TemplateFixture:
    return TemplateFixture(estate, administrator(ADA), COLLAB)


@pytest.fixture
async def disabled(estate: Estate, template_fixture: TemplateFixture) -> TemplateId:
    """A template whose receiver wants no more."""
    made = await template_fixture.create(HOOK)
    await fail(estate, made)
    await disable(estate, made)
    return made


async def fail(estate: Estate, template_id: TemplateId) -> None:
    async with estate.databases.worker.across_tenants() as tx:
        await webhook_state.fail(tx, [(ESTATE, template_id)], at=estate.now())


async def disable(estate: Estate, template_id: TemplateId) -> None:
    async with estate.databases.worker.across_tenants() as tx:
        assert await webhook_state.disable(tx, (ESTATE, template_id), reason=GONE, at=estate.now())


def shown(record: TemplateRecord) -> TemplateWebhook | None:
    """Encode the webhook for administrators."""
    return encode_webhook(decode_template(record.stored), record)


async def audited(estate: Estate) -> dict[str, Any]:
    """The newest record of a replaced template."""
    found: dict[str, Any] = json.loads(str((await estate.rows(AUDIT))[0][0]))
    return {"before": found["before"], "after": found["after"]}


async def told(template_fixture: TemplateFixture, template_id: TemplateId) -> tuple[bool, str | None]:
    webhook = shown(await template_fixture.read(template_id))
    return getattr(webhook, "active", False), getattr(webhook, "disabled_reason", None)


async def test_it_works(estate: Estate, template_fixture: TemplateFixture, disabled: TemplateId) -> None:
    before = await told(template_fixture, disabled)

    await template_fixture.replace(disabled, {"webhook": {"url": URL, "active": True}})

    assert before == (False, GONE)
    assert await told(template_fixture, disabled) == (True, None)
    assert await estate.rows(STATES) == []
    assert await audited(estate) == {
        "before": {"webhook": {"url": URL, "active": False, "disabledReason": GONE}},
        "after": {"webhook": {"url": URL, "active": True}},
    }


async def test_it_is_shown_in_the_list_too(template_fixture: TemplateFixture, disabled: TemplateId) -> None:
    (listed,) = [each for each in (await template_fixture.page()).items if each.stored.head.id == disabled]

    assert listed.disabled_reason == GONE


async def test_what_was_read_can_be_changed_and_put_back_and_stays_disabled(
    template_fixture: TemplateFixture, disabled: TemplateId
) -> None:
    body: dict[str, object] = {"webhook": {"url": URL, "active": False, "disabledReason": GONE, "hasSecret": True}}

    await template_fixture.replace(disabled, body | {"name": "Loud group"})
    still = await told(template_fixture, disabled)
    await template_fixture.replace(disabled, HOOK)

    assert still == (False, GONE)
    assert await told(template_fixture, disabled) == (True, None)


async def test_it_is_another_version_then(estate: Estate, template_fixture: TemplateFixture) -> None:
    made = await template_fixture.create(HOOK)
    seen = Edit(frozenset({(await template_fixture.read(made)).etag}), TRACE)
    await fail(estate, made)
    still = await template_fixture.read(made)

    await disable(estate, made)

    assert seen.if_match == frozenset({still.etag})
    with pytest.raises(Stale):
        await template_fixture.replace(made, HOOK, seen)
    assert await told(template_fixture, made) == (False, GONE)


async def test_one_that_goes_and_comes_back_begins_again(
    estate: Estate, template_fixture: TemplateFixture, disabled: TemplateId
) -> None:
    await template_fixture.replace(disabled, {})
    gone = await estate.rows(STATES)
    await template_fixture.replace(disabled, HOOK)

    assert gone == []
    assert await told(template_fixture, disabled) == (True, None)


async def test_another_address_begins_again_and_another_name_does_not(
    estate: Estate, template_fixture: TemplateFixture
) -> None:
    made = await template_fixture.create(HOOK)
    await fail(estate, made)

    await template_fixture.replace(made, HOOK | {"name": "Loud group"})
    renamed = await estate.rows(STATES)
    await template_fixture.replace(made, {"webhook": {"url": f"{URL}/two"}})

    assert renamed == [(True, None)]
    assert await estate.rows(STATES) == []


async def test_a_configuration_file_that_changes_the_template_does_the_same(estate: Estate) -> None:
    await apply(estate.databases, changed_estate(project_group=HOOK))
    await fail(estate, PROJECT_GROUP)
    await disable(estate, PROJECT_GROUP)

    await apply(estate.databases, changed_estate(project_group=HOOK))
    same = await estate.rows(STATES)
    await apply(estate.databases, changed_estate(project_group=HOOK | {"description": "Changed"}))

    assert same == [(True, GONE)]
    assert await estate.rows(STATES) == []
