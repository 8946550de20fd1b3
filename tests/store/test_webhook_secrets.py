"""Secrets of webhooks at rest: sealed for one template, and replaced when they cannot be opened any more."""

from uuid import UUID

import pytest

from chamberlain.rules.ids import TemplateId
from chamberlain.rules.webhooks import SecretFate, SettledSecret
from chamberlain.shapes.webhooks import WebhookBody
from chamberlain.store.keyring import Keyring, KeysUnusable
from chamberlain.store.webhook_secrets import WebhookSecrets
from tests.databases import Databases
from tests.estates import CONFIDENTIAL_TEAM, ESTATE, PROJECT_GROUP, Estate, open_estate

HOOK = WebhookBody(url="https://hooks.estate.example/")
OLD, NEW = Keyring("k1", {"k1": bytes(32)}), Keyring("k2", {"k2": bytes([1] * 32)})
BOTH = Keyring("k2", {**NEW.keys, **OLD.keys})
SEALED = "SELECT sealed, number FROM chamberlain.webhook_secret WHERE template_id = $1"


@pytest.fixture
async def estate(databases: Databases) -> Estate:
    return await open_estate(databases)


async def settle(
    estate: Estate, webhook: WebhookBody | None, keyring: Keyring = OLD, template_id: TemplateId = PROJECT_GROUP
) -> SettledSecret:
    async with estate.databases.application.transaction(ESTATE) as tx:
        return await WebhookSecrets(keyring, lambda: "whsec_made").settle(tx, ESTATE, template_id, webhook)


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
