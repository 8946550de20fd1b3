"""Secrets of webhooks: sealed by the key ring for the template that they belong to, and never shown again."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.secrets.keyring import Keyring, KeysUnusable
from chamberlain.templates.webhook import WebhookBody
from chamberlain.templates.webhook_webhooks import (
    RotatedSecret,
    SecretFate,
    SettledSecret,
    SigningSecrets,
    WebhookKey,
    fate_of,
    overlap_end,
)

FIND = "SELECT sealed FROM chamberlain.webhook_secret WHERE tenant_id = $1 AND template_id = $2"

# `number` grows with every new secret, so that the template's version is another one. The one that was the newest signs
# as well until $4; what there was before that is gone.
PUT = """
INSERT INTO chamberlain.webhook_secret AS s (tenant_id, template_id, sealed) VALUES ($1, $2, $3)
ON CONFLICT (tenant_id, template_id) DO UPDATE SET
    sealed = excluded.sealed, previous_secret = s.sealed, previous_until = $4, number = s.number + 1, updated_at = now()
RETURNING previous_until
"""

# The template is held, so that it is not removed meanwhile.
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

# Of all tenants: what does not sign any more is not kept. One that is just written, or sealed anew, is left to the next
# time, so that nobody waits for another in a circle.
SWEEP = """
UPDATE chamberlain.webhook_secret SET previous_secret = NULL, previous_until = NULL
WHERE (tenant_id, template_id) = ANY (ARRAY(
    SELECT (tenant_id, template_id) FROM chamberlain.webhook_secret WHERE previous_until <= $1
    ORDER BY tenant_id, template_id LIMIT $2 FOR UPDATE SKIP LOCKED
)) RETURNING template_id
"""

# What the INSERT takes anyhow, taken before something is sealed: whoever drops a key waits for us then, or we for them,
# and seal with a key that stays.
ANNOUNCE = "LOCK TABLE chamberlain.webhook_secret IN ROW EXCLUSIVE MODE"

DELETE = "DELETE FROM chamberlain.webhook_secret WHERE tenant_id = $1 AND template_id = $2"


async def forget(tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> None:
    """Remove the secret of a template that has no webhook any more."""
    await tx.execute(DELETE, tenant_id, template_id)


async def sweep(tx: Transaction, *, before: datetime, most: int) -> int:
    """Remove what does not sign any more, of all tenants, as the worker's role; gives the number of secrets."""
    return len(await tx.fetch(SWEEP, before, most))


async def signing(
    tx: Transaction, keyring: Keyring, webhooks: Collection[WebhookKey], *, now: datetime
) -> Mapping[WebhookKey, SigningSecrets]:
    """What the calls of each of these are signed with now, as the role of the transaction sees them."""
    found = dict.fromkeys(webhooks, SigningSecrets())
    tenants, templates = [tenant for tenant, _ in found], [template for _, template in found]
    for row in await tx.fetch(SIGNING, tenants, templates, now):
        key = TenantId(row["tenant_id"]), TemplateId(row["template_id"])
        found[key] = SigningSecrets(tuple(_openable(keyring, (row["sealed"], row["previous_secret"]), key)))
    return found


def _openable(keyring: Keyring, sealed: Iterable[bytes | None], key: WebhookKey) -> Iterator[str]:
    for each in sealed:
        # One whose key is gone signs nothing, and spoils nothing for the other.
        with suppress(KeysUnusable):
            if each is not None:
                yield keyring.open(bytes(each), context_of(*key)).decode("ascii")


@dataclass(frozen=True, slots=True)
class WebhookSecrets:
    """Keeps the secrets of all tenants; `new_secret` makes one, and `now` says since when there is another one."""

    keyring: Keyring
    new_secret: Callable[[], str]
    now: Callable[[], datetime]

    async def settle(
        self, tx: Transaction, tenant_id: TenantId, template_id: TemplateId, webhook: WebhookBody | None
    ) -> SettledSecret:
        """Keep, put, make or remove the secret of a template that is there, and whose webhook is this one now. One that
        another takes the place of signs as well for a day."""
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
        """Make a new one for a template that is there. The newest so far signs as well for a day, and one that did so
        because of it does no more."""
        made = self.new_secret()
        return RotatedSecret(made, await self._put(tx, tenant_id, template_id, made))

    async def make_first(self, tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> None:
        """Make one where there is none, so that calls can be signed. Nobody knows it: whoever receives them asks for
        the next one."""
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
        """The secret; one whose key is gone counts as there, and is none that anybody can send."""
        try:
            return self.keyring.open(sealed, context_of(tenant_id, template_id)).decode("ascii")
        except KeysUnusable:
            return ""


def context_of(tenant_id: TenantId, template_id: TemplateId) -> str:
    """What the secret of this template is sealed for."""
    return f"{tenant_id} webhook_secret {template_id}"
