"""Secrets of webhooks, encrypted with the key ring for their template, and their key rotation."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.secrets.keyring import Keyring, KeysUnusable
from chamberlain.templates.models import (
    RotatedSecret,
    SecretFate,
    SettledSecret,
    SigningSecrets,
    WebhookKey,
    fate_of,
    overlap_end,
)
from chamberlain.templates.webhook import WebhookBody

FIND = "SELECT sealed FROM chamberlain.webhook_secret WHERE tenant_id = $1 AND template_id = $2"

# `number` grows with every secret and is part of the template's ETag. The previous secret also signs until $4; older
# ones are deleted.
PUT = """
INSERT INTO chamberlain.webhook_secret AS s (tenant_id, template_id, sealed) VALUES ($1, $2, $3)
ON CONFLICT (tenant_id, template_id) DO UPDATE SET
    sealed = excluded.sealed, previous_secret = s.sealed, previous_until = $4, number = s.number + 1, updated_at = now()
RETURNING previous_until
"""

# Locks the template against deletion.
MAKE_FIRST = """
INSERT INTO chamberlain.webhook_secret (tenant_id, template_id, sealed)
SELECT t.tenant_id, t.template_id, $3 FROM chamberlain.template t WHERE t.tenant_id = $1 AND t.template_id = $2
FOR KEY SHARE
ON CONFLICT (tenant_id, template_id) DO NOTHING
"""

SIGNING = """
SELECT s.tenant_id, s.template_id, s.sealed,
    CASE WHEN s.previous_until > $3 THEN s.previous_secret END AS previous_secret
FROM unnest($1::uuid[], $2::uuid[]) AS w (tenant_id, template_id)
JOIN chamberlain.webhook_secret s USING (tenant_id, template_id)
"""

# Deletes secrets of all tenants that no longer sign. Skips locked rows to avoid deadlocks; the next run deletes them.
SWEEP = """
UPDATE chamberlain.webhook_secret SET previous_secret = NULL, previous_until = NULL
WHERE (tenant_id, template_id) = ANY (ARRAY(
    SELECT (tenant_id, template_id) FROM chamberlain.webhook_secret WHERE previous_until <= $1
    ORDER BY tenant_id, template_id LIMIT $2 FOR UPDATE SKIP LOCKED
)) RETURNING template_id
"""

# The lock of the INSERT, taken before encryption. It serializes with the removal of a key, so the key in use stays.
ANNOUNCE = "LOCK TABLE chamberlain.webhook_secret IN ROW EXCLUSIVE MODE"

DELETE = "DELETE FROM chamberlain.webhook_secret WHERE tenant_id = $1 AND template_id = $2"

# An encrypted value starts with the length of the key id and the key id (keyring.py).
COUNT: Final = """
SELECT convert_from(substring(sealed FROM 2 FOR get_byte(sealed, 0)), 'UTF8') AS key_id, count(*) AS number FROM (
    SELECT s.sealed FROM chamberlain.webhook_secret s
    UNION ALL SELECT s.previous_secret FROM chamberlain.webhook_secret s WHERE s.previous_secret IS NOT NULL
) secrets (sealed) WHERE length(sealed) > 1 GROUP BY 1
"""

# Locks in key order to avoid deadlocks with a concurrent run. The locks keep new secrets from being overwritten.
TAKE: Final = """
SELECT tenant_id, template_id, sealed, previous_secret FROM chamberlain.webhook_secret
WHERE (tenant_id, template_id) > ($1, $2)
AND NOT (
    substring(sealed FOR length($3::bytea)) = $3
    AND (previous_secret IS NULL OR substring(previous_secret FOR length($3::bytea)) = $3)
)
ORDER BY tenant_id, template_id LIMIT $4 FOR UPDATE
"""

PUT_RESEALED: Final = """
UPDATE chamberlain.webhook_secret s SET sealed = n.sealed, previous_secret = n.previous_secret
FROM unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::bytea[]) AS n (tenant_id, template_id, sealed, previous_secret)
WHERE s.tenant_id = n.tenant_id AND s.template_id = n.template_id
"""

# Waits for running writes of secrets, and blocks new ones until the end of the transaction.
HOLD: Final = "LOCK TABLE chamberlain.webhook_secret IN SHARE MODE"


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
        row = await tx.fetch_row(FIND, tenant_id, template_id)
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
        """Create a new secret. The previous one also signs for a day; older ones no longer do."""
        made = self.new_secret()
        return RotatedSecret(made, await self._put(tx, tenant_id, template_id, made))

    async def make_first(self, tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> None:
        """Create a secret if there is none, so that calls can be signed.

        It is never shown. Receivers rotate it to get one that they know.
        """
        sealed = await self._sealed(tx, tenant_id, template_id, self.new_secret())
        await tx.execute(MAKE_FIRST, tenant_id, template_id, sealed)

    async def _put(self, tx: Transaction, tenant_id: TenantId, template_id: TemplateId, secret: str) -> datetime | None:
        sealed = await self._sealed(tx, tenant_id, template_id, secret)
        row = await tx.fetch_row(PUT, tenant_id, template_id, sealed, overlap_end(self.now()))
        return None if row is None else row["previous_until"]

    async def _sealed(self, tx: Transaction, tenant_id: TenantId, template_id: TemplateId, secret: str) -> bytes:
        await tx.execute(ANNOUNCE)
        return self.keyring.seal(secret.encode("ascii"), context_of(tenant_id, template_id))

    def _opened(self, sealed: bytes, tenant_id: TenantId, template_id: TemplateId) -> str:
        """Decrypt a secret. One whose key is gone becomes an empty text, which no body can contain."""
        try:
            return self.keyring.open(sealed, context_of(tenant_id, template_id)).decode("ascii")
        except KeysUnusable:
            return ""


async def forget(tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> None:
    """Delete the secret of a template without webhook."""
    await tx.execute(DELETE, tenant_id, template_id)


async def sweep(tx: Transaction, *, before: datetime, most: int) -> int:
    """Delete secrets of all tenants that no longer sign, as the worker's role. Returns their number."""
    return len(await tx.fetch(SWEEP, before, most))


async def signing(
    tx: Transaction, keyring: Keyring, webhooks: Collection[WebhookKey], *, now: datetime
) -> Mapping[WebhookKey, SigningSecrets]:
    """Read the secrets that sign the calls of each webhook now."""
    found = dict.fromkeys(webhooks, SigningSecrets())
    tenants, templates = [tenant for tenant, _ in found], [template for _, template in found]
    for row in await tx.fetch(SIGNING, tenants, templates, now):
        key = TenantId(row["tenant_id"]), TemplateId(row["template_id"])
        found[key] = SigningSecrets(tuple(_openable(keyring, (row["sealed"], row["previous_secret"]), key)))
    return found


def _openable(keyring: Keyring, sealed: Iterable[bytes | None], key: WebhookKey) -> Iterator[str]:
    for each in sealed:
        # A secret whose key is gone does not sign. The other one still does.
        with suppress(KeysUnusable):
            if each is not None:
                yield keyring.open(bytes(each), context_of(*key)).decode("ascii")


@dataclass(frozen=True, slots=True)
class Resealed:
    """The result of one batch: the numbers of re-encrypted and undecryptable secrets.

    `next` is the cursor of the next batch, None at the end.
    """

    done: int
    left: int
    next: WebhookKey | None


async def hold(tx: Transaction) -> None:
    """Block writes of secrets until this transaction ends."""
    await tx.execute(HOLD)


async def count(tx: Transaction) -> Mapping[str, int]:
    """Count the secrets of each key."""
    return {row["key_id"]: row["number"] for row in await tx.fetch(COUNT)}


async def reseal(tx: Transaction, keyring: Keyring, after: WebhookKey, most: int) -> Resealed:
    """Re-encrypt up to `most` rows after a cursor with the first key.

    A secret that cannot be decrypted stays unchanged.
    """
    name = keyring.first.encode()
    begins = bytes([len(name)]) + name
    rows = await tx.fetch(TAKE, *after, begins, most)
    keys = [(TenantId(row["tenant_id"]), TemplateId(row["template_id"])) for row in rows]
    places = list(zip(rows, (context_of(*key) for key in keys), strict=True))
    newest = [_resealed(keyring, row["sealed"], context) for row, context in places]
    previous = [_resealed(keyring, row["previous_secret"], context) for row, context in places]
    columns = [[tenant for tenant, _ in keys], [template for _, template in keys]]
    await tx.execute(PUT_RESEALED, *columns, [each.sealed for each in newest], [each.sealed for each in previous])
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
