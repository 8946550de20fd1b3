# SPDX-License-Identifier: Apache-2.0
"""Secrets of webhooks at rest: sealed for one template, replaced when they cannot be opened any more, and never more
than two of one webhook that count."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.secrets.keyring import Keyring, KeysUnusable
from chamberlain.template_admin import webhook_secrets
from chamberlain.template_admin.models import RotatedSecret, SecretFate, SettledSecret
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from chamberlain.templates.webhook import WebhookBody
from tests.estates import CONFIDENTIAL_TEAM, ESTATE, OTHER_HOUSE, PROJECT_GROUP, Estate

HOOK = WebhookBody(url="https://hooks.estate.example/")
OLD, NEW = Keyring("k1", {"k1": bytes(32)}), Keyring("k2", {"k2": bytes([1] * 32)})
BOTH = Keyring("k2", {**NEW.keys, **OLD.keys})
MOMENT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(hours=24)
SEALED = "SELECT sealed, number FROM chamberlain.webhook_secret WHERE template_id = $1"


def keeper(
    keyring: Keyring = OLD, now: datetime = MOMENT, new_secret: Callable[[], str] = lambda: "whsec_made"
) -> WebhookSecrets:
    return WebhookSecrets(keyring, new_secret, lambda: now)


async def rotate(
    estate: Estate, made: str, *, now: datetime = MOMENT, template_id: TemplateId = PROJECT_GROUP
) -> RotatedSecret:
    async with estate.databases.application.transaction(ESTATE) as tx:
        return await keeper(now=now, new_secret=lambda: made).rotate(tx, ESTATE, template_id)


async def signing(
    estate: Estate, now: datetime = MOMENT, keyring: Keyring = OLD, tenant_id: TenantId = ESTATE
) -> tuple[str, ...]:
    """The secrets that sign calls, as the calling worker reads them."""
    key = tenant_id, PROJECT_GROUP
    async with estate.databases.worker.across_tenants() as tx:
        found = await webhook_secrets.signing(tx, keyring, [key], now=now)
    return found[key].values


async def settle(
    estate: Estate, webhook: WebhookBody | None, keyring: Keyring = OLD, template_id: TemplateId = PROJECT_GROUP
) -> SettledSecret:
    async with estate.databases.application.transaction(ESTATE) as tx:
        return await keeper(keyring).settle(tx, ESTATE, template_id, webhook)


async def sealed(estate: Estate, template_id: TemplateId = PROJECT_GROUP) -> tuple[bytes, int]:
    ((found, number),) = await estate.rows(SEALED, template_id)
    assert isinstance(found, bytes)
    assert isinstance(number, int)
    return found, number


async def test_it_works(estate: Estate) -> None:
    first = await settle(estate, HOOK)
    again = await settle(estate, HOOK)
    gone = await settle(estate, None)
    nothing = await settle(estate, None)

    assert first == SettledSecret(SecretFate.MADE, was_there=False, made="whsec_made")
    assert again == SettledSecret(SecretFate.KEPT, was_there=True)
    assert gone == SettledSecret(SecretFate.REMOVED, was_there=True)
    assert nothing == SettledSecret(SecretFate.ABSENT, was_there=False)
    assert await estate.rows(SEALED, PROJECT_GROUP) == []


async def test_it_is_sealed_for_its_template_alone(estate: Estate) -> None:
    await settle(estate, HOOK)
    found, _ = await sealed(estate)

    assert b"whsec" not in found
    assert OLD.open(found, f"{ESTATE} webhook_secret {PROJECT_GROUP}") == b"whsec_made"
    with pytest.raises(KeysUnusable):
        OLD.open(found, f"{ESTATE} webhook_secret {CONFIDENTIAL_TEAM}")
    with pytest.raises(KeysUnusable):
        OLD.open(found, f"{UUID(int=1)} webhook_secret {PROJECT_GROUP}")


async def test_a_given_one_takes_the_place_of_the_other_and_counts(estate: Estate) -> None:
    await settle(estate, HOOK)

    given = await settle(estate, WebhookBody(url=HOOK.url, secret="whsec_given"))
    same = await settle(estate, WebhookBody(url=HOOK.url, secret="whsec_given"), BOTH)

    assert (given.fate, given.made, same.fate) == (SecretFate.GIVEN, None, SecretFate.KEPT)
    assert (await sealed(estate))[1] == 2


async def test_one_whose_key_is_gone_is_kept_until_another_is_given(estate: Estate) -> None:
    await settle(estate, HOOK)

    kept = await settle(estate, HOOK, NEW)
    given = await settle(estate, WebhookBody(url=HOOK.url, secret="whsec_made"), NEW)

    assert (kept.fate, given.fate) == (SecretFate.KEPT, SecretFate.GIVEN)
    assert NEW.open((await sealed(estate))[0], f"{ESTATE} webhook_secret {PROJECT_GROUP}") == b"whsec_made"


async def test_two_templates_have_two(estate: Estate) -> None:
    await settle(estate, HOOK)
    await settle(estate, WebhookBody(url=HOOK.url, secret="whsec_given"), template_id=CONFIDENTIAL_TEAM)

    assert (await sealed(estate))[0] != (await sealed(estate, CONFIDENTIAL_TEAM))[0]
    assert (await settle(estate, None)).fate is SecretFate.REMOVED
    assert (await sealed(estate, CONFIDENTIAL_TEAM))[1] == 1


async def test_a_rotated_one_signs_for_a_day_beside_the_new_one(estate: Estate) -> None:
    await settle(estate, HOOK)

    rotated = await rotate(estate, "whsec_new")

    assert rotated == RotatedSecret("whsec_new", MOMENT + DAY)
    assert await signing(estate, MOMENT) == ("whsec_new", "whsec_made")
    assert await signing(estate, MOMENT + DAY - timedelta(microseconds=1)) == ("whsec_new", "whsec_made")
    assert await signing(estate, MOMENT + DAY) == ("whsec_new",)
    assert (await sealed(estate))[1] == 2


async def test_the_first_one_has_none_before_it(estate: Estate) -> None:
    assert await rotate(estate, "whsec_first") == RotatedSecret("whsec_first", None)
    assert await signing(estate) == ("whsec_first",)


async def test_another_rotation_within_the_day_ends_the_oldest_at_once(estate: Estate) -> None:
    await settle(estate, HOOK)
    await rotate(estate, "whsec_second")

    third = await rotate(estate, "whsec_third", now=MOMENT + HOUR)

    assert third.previous_until == MOMENT + HOUR + DAY
    assert await signing(estate, MOMENT + HOUR) == ("whsec_third", "whsec_second")
    assert await signing(estate, MOMENT + HOUR + DAY) == ("whsec_third",)


async def test_never_three_count_however_many_are_made_at_the_same_time(estate: Estate) -> None:
    await settle(estate, HOOK)
    made: set[str] = set()

    async def one(number: int) -> None:
        made.add((await rotate(estate, f"whsec_{number}")).made)

    await asyncio.gather(*map(one, range(8)))

    found = await signing(estate)
    assert len(made) == 8
    assert len(found) == 2
    assert set(found) < made
    assert (await sealed(estate))[1] == 9


async def test_one_that_is_sent_takes_turns_as_a_rotated_one_does(estate: Estate) -> None:
    await settle(estate, HOOK)

    await settle(estate, WebhookBody(url=HOOK.url, secret="whsec_given"))
    given = await signing(estate)
    await settle(estate, HOOK)
    kept = await signing(estate)
    await settle(estate, WebhookBody(url=HOOK.url, secret="whsec_made"))
    back = await signing(estate)

    assert given == kept == ("whsec_given", "whsec_made")
    assert back == ("whsec_made", "whsec_given")


async def test_with_the_webhook_both_go(estate: Estate) -> None:
    await settle(estate, HOOK)
    await rotate(estate, "whsec_new")

    await settle(estate, None)
    gone = await signing(estate)
    await settle(estate, HOOK)

    assert gone == ()
    assert await signing(estate) == ("whsec_made",)


async def test_the_one_before_is_sealed_too(estate: Estate) -> None:
    await settle(estate, HOOK)
    before, _ = await sealed(estate)

    await rotate(estate, "whsec_new")

    ((previous,),) = await estate.rows("SELECT previous_secret FROM chamberlain.webhook_secret")
    assert previous == before
    assert isinstance(previous, bytes)
    assert b"whsec" not in previous


async def test_one_whose_key_is_gone_signs_nothing_and_spoils_nothing(estate: Estate) -> None:
    await settle(estate, HOOK)
    async with estate.databases.application.transaction(ESTATE) as tx:
        await keeper(NEW, new_secret=lambda: "whsec_new").rotate(tx, ESTATE, PROJECT_GROUP)

    assert await signing(estate, keyring=NEW) == ("whsec_new",)
    assert await signing(estate, keyring=OLD) == ("whsec_made",)
    assert await signing(estate, keyring=BOTH) == ("whsec_new", "whsec_made")


async def test_many_are_looked_up_at_once_and_each_is_its_own(estate: Estate) -> None:
    await settle(estate, HOOK)
    await settle(estate, WebhookBody(url=HOOK.url, secret="whsec_team"), template_id=CONFIDENTIAL_TEAM)
    group, team, nothing = (ESTATE, PROJECT_GROUP), (ESTATE, CONFIDENTIAL_TEAM), (OTHER_HOUSE, PROJECT_GROUP)

    async with estate.databases.worker.across_tenants() as tx:
        found = await webhook_secrets.signing(tx, OLD, [group, team, nothing, group], now=MOMENT)

    values = {key: each.values for key, each in found.items()}
    assert values == {group: ("whsec_made",), team: ("whsec_team",), nothing: ()}
    assert "whsec" not in repr(found)


async def test_another_tenant_signs_with_none_of_them(estate: Estate) -> None:
    await settle(estate, HOOK)
    key = ESTATE, PROJECT_GROUP

    async with estate.databases.application.transaction(OTHER_HOUSE) as tx:
        found = await webhook_secrets.signing(tx, OLD, [key], now=MOMENT)

    assert found[key].values == ()


async def test_what_does_not_sign_any_more_is_swept(estate: Estate) -> None:
    for template_id in (PROJECT_GROUP, CONFIDENTIAL_TEAM):
        await settle(estate, HOOK, template_id=template_id)
    await rotate(estate, "whsec_new")
    await rotate(estate, "whsec_later", now=MOMENT + HOUR, template_id=CONFIDENTIAL_TEAM)

    async with estate.databases.worker.across_tenants() as tx:
        swept = [await webhook_secrets.sweep(tx, before=MOMENT + DAY, most=10) for _ in range(2)]

    assert swept == [1, 0]
    kept = "SELECT template_id FROM chamberlain.webhook_secret WHERE previous_secret IS NOT NULL"
    assert await estate.rows(kept) == [(CONFIDENTIAL_TEAM,)]
