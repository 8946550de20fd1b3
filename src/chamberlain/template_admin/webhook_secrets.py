# SPDX-License-Identifier: Apache-2.0
"""Encrypted secrets of webhooks, and their rotation.

The key ring encrypts them for their template.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.queries import load_queries
from chamberlain.secrets.keyring import Keyring, KeysUnusable, Resealed
from chamberlain.template_admin.models import (
    RotatedSecret,
    SecretFate,
    SettledSecret,
    SigningSecrets,
    WebhookKey,
    fate_of,
    overlap_end,
)
from chamberlain.templates.webhook import WebhookBody

SQL = load_queries(__name__)


@dataclass(frozen=True, slots=True)
class WebhookSecrets:
    """Write the secrets of all tenants. `new_secret` returns a random secret."""

    keyring: Keyring
    new_secret: Callable[[], str]
    now: Callable[[], datetime]

    async def settle(
        self, tx: Transaction, tenant_id: TenantId, template_id: TemplateId, webhook: WebhookBody | None
    ) -> SettledSecret:
        """Keep, replace, create or delete the secret after its webhook was written.

        A replaced secret also signs for a day.
        """
        sent = None if webhook is None else webhook.secret
        row = await tx.fetch_row(SQL["find_webhook_secret"], tenant_id, template_id)
        sealed = None if row is None else bytes(row["sealed"])
        present = None if sealed is None else self._opened(sealed, tenant_id, template_id)
        fate = fate_of(has_webhook=webhook is not None, sent=sent, present=present)
        made = self.new_secret() if fate is SecretFate.MADE else None
        settled = SettledSecret(fate, was_there=sealed is not None, made=made)
        secret = made or sent
        if settled.is_new and secret is not None:
            await self._put(tx, tenant_id, template_id, secret)
        if fate is SecretFate.REMOVED:
            await forget(tx, tenant_id, template_id)
        return settled

    async def rotate(self, tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> RotatedSecret:
        """Create a new secret.

        The previous one also signs for a day; older ones no longer do.
        """
        made = self.new_secret()
        return RotatedSecret(made, await self._put(tx, tenant_id, template_id, made))

    async def make_first(self, tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> None:
        """Create a secret if there is none, to sign calls.

        It is never shown. Receivers rotate it to get one that they know.
        """
        sealed = await self._sealed(tx, tenant_id, template_id, self.new_secret())
        await tx.execute(SQL["make_first"], tenant_id, template_id, sealed)

    async def _put(self, tx: Transaction, tenant_id: TenantId, template_id: TemplateId, secret: str) -> datetime | None:
        sealed = await self._sealed(tx, tenant_id, template_id, secret)
        row = await tx.fetch_row(SQL["put"], tenant_id, template_id, sealed, overlap_end(self.now()))
        return None if row is None else row["previous_until"]

    async def _sealed(self, tx: Transaction, tenant_id: TenantId, template_id: TemplateId, secret: str) -> bytes:
        await tx.execute(SQL["announce"])
        return self.keyring.seal(secret.encode("ascii"), context_of(tenant_id, template_id))

    def _opened(self, sealed: bytes, tenant_id: TenantId, template_id: TemplateId) -> str:
        """Decrypt a secret.

        One whose key is gone becomes an empty text, which no body can contain.
        """
        try:
            return self.keyring.open(sealed, context_of(tenant_id, template_id)).decode("ascii")
        except KeysUnusable:
            return ""


async def forget(tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> None:
    """Delete the secret of a template without webhook."""
    await tx.execute(SQL["delete"], tenant_id, template_id)


async def sweep(tx: Transaction, *, before: datetime, most: int) -> int:
    """Delete expired secrets of all tenants. Returns their number.

    It needs the worker's role.
    """
    return len(await tx.fetch(SQL["sweep"], before, most))


async def signing(
    tx: Transaction, keyring: Keyring, webhooks: Collection[WebhookKey], *, now: datetime
) -> Mapping[WebhookKey, SigningSecrets]:
    """Read the secrets that sign the calls of each webhook now."""
    found = dict.fromkeys(webhooks, SigningSecrets())
    tenants, templates = [tenant for tenant, _ in found], [template for _, template in found]
    for row in await tx.fetch(SQL["signing"], tenants, templates, now):
        key = TenantId(row["tenant_id"]), TemplateId(row["template_id"])
        found[key] = SigningSecrets(tuple(_openable(keyring, (row["sealed"], row["previous_secret"]), key)))
    return found


def _openable(keyring: Keyring, sealed: Iterable[bytes | None], key: WebhookKey) -> Iterator[str]:
    for each in sealed:
        # A secret whose key is gone does not sign. The other one still does.
        with suppress(KeysUnusable):
            if each is not None:
                yield keyring.open(bytes(each), context_of(*key)).decode("ascii")


async def hold(tx: Transaction) -> None:
    """Block writes of secrets until this transaction ends."""
    await tx.execute(SQL["hold"])


async def count(tx: Transaction) -> Mapping[str, int]:
    """Count the secrets of each key."""
    return {row["key_id"]: row["number"] for row in await tx.fetch(SQL["count"])}


async def reseal(tx: Transaction, keyring: Keyring, after: WebhookKey, most: int) -> Resealed[WebhookKey]:
    """Re-encrypt up to `most` rows after a cursor with the first key.

    A secret that cannot be decrypted stays unchanged.
    """
    rows = await tx.fetch(SQL["take"], *after, keyring.first_header, most)
    keys = [(TenantId(row["tenant_id"]), TemplateId(row["template_id"])) for row in rows]
    places = list(zip(rows, (context_of(*key) for key in keys), strict=True))
    newest = [_resealed(keyring, row["sealed"], context) for row, context in places]
    previous = [_resealed(keyring, row["previous_secret"], context) for row, context in places]
    columns = [[tenant for tenant, _ in keys], [template for _, template in keys]]
    await tx.execute(
        SQL["put_resealed"], *columns, [each.sealed for each in newest], [each.sealed for each in previous]
    )
    left = sum(not each.opens for each in (*newest, *previous))
    return Resealed(
        done=sum(each.sealed is not None for each in (*newest, *previous)) - left,
        left=left,
        next=keys[-1] if len(keys) == most else None,
    )


@dataclass(frozen=True, slots=True)
class _Secret:
    """An encrypted secret, None if there is none."""

    sealed: bytes | None
    opens: bool = True


def _resealed(keyring: Keyring, sealed: bytes | None, context: str) -> _Secret:
    if sealed is None:
        return _Secret(None)
    try:
        return _Secret(keyring.seal(keyring.open(sealed, context), context))
    except KeysUnusable:
        return _Secret(sealed, opens=False)


def context_of(tenant_id: TenantId, template_id: TemplateId) -> str:
    """Return the encryption context of a template's secret."""
    return f"{tenant_id} webhook_secret {template_id}"
