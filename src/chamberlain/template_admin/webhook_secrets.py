"""Secrets of webhooks: sealed by the key ring for the template that they belong to, and never shown again."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.secrets.keyring import Keyring, KeysUnusable
from chamberlain.template_admin.models import TemplateRecord
from chamberlain.templates.models import (
    RotatedSecret,
    SecretFate,
    SettledSecret,
    SigningSecrets,
    WebhookKey,
    fate_of,
    overlap_end,
)
from chamberlain.templates.webhook import WebhookBody, kept_webhook

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


# Those that are to be called, and at this address still. Who gives a webhook another one, or takes it away, is waited
# for, or waits.
STILL_AT: Final = """
SELECT t.tenant_id, t.template_id FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS w (tenant_id, template_id, url)
JOIN chamberlain.template t ON t.tenant_id = w.tenant_id AND t.template_id = w.template_id
JOIN chamberlain.template_revision r
    ON r.tenant_id = t.tenant_id AND r.template_id = t.template_id AND r.revision = t.revision
WHERE chamberlain.clean(r.content) #>> '{webhook,url}' = w.url
    AND chamberlain.clean(r.content) #>> '{webhook,active}' = 'true'
ORDER BY t.tenant_id, t.template_id FOR SHARE OF t
"""

# The first failure says since when; the template is held, so that it is not removed meanwhile.
FAIL: Final = """
INSERT INTO chamberlain.webhook_state AS s (tenant_id, template_id, failing_since)
SELECT t.tenant_id, t.template_id, $3 FROM chamberlain.template t
JOIN (SELECT DISTINCT tenant_id, template_id FROM unnest($1::uuid[], $2::uuid[]) AS w (tenant_id, template_id)) w
    USING (tenant_id, template_id)
ORDER BY t.tenant_id, t.template_id FOR KEY SHARE OF t
ON CONFLICT (tenant_id, template_id) DO UPDATE SET failing_since = coalesce(s.failing_since, excluded.failing_since)
RETURNING s.tenant_id, s.template_id, s.failing_since
"""

RECOVER: Final = """
DELETE FROM chamberlain.webhook_state WHERE ctid = ANY (ARRAY(
    SELECT s.ctid FROM unnest($1::uuid[], $2::uuid[]) AS w (tenant_id, template_id)
    JOIN chamberlain.webhook_state s ON s.tenant_id = w.tenant_id AND s.template_id = w.template_id
    WHERE s.disabled_at IS NULL ORDER BY s.tenant_id, s.template_id FOR UPDATE OF s
))
"""

DISABLE: Final = """
WITH disabled AS (
    UPDATE chamberlain.webhook_state SET disabled_at = $3, disabled_reason = $4
    WHERE tenant_id = $1 AND template_id = $2 AND disabled_at IS NULL
    RETURNING tenant_id, template_id
)
SELECT chamberlain.clean(r.content) ->> 'name' AS name
FROM disabled JOIN chamberlain.template t USING (tenant_id, template_id)
JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
"""

ENABLE: Final = "DELETE FROM chamberlain.webhook_state WHERE tenant_id = $1 AND template_id = $2"


async def still_at(tx: Transaction, urls: Mapping[WebhookKey, str]) -> frozenset[WebhookKey]:
    """Those of these that are called at this address until the transaction ends."""
    rows = await tx.fetch(STILL_AT, *_columns(list(urls)), list(urls.values())) if urls else ()
    return frozenset((TenantId(row["tenant_id"]), TemplateId(row["template_id"])) for row in rows)


async def fail(tx: Transaction, webhooks: Sequence[WebhookKey], *, at: datetime) -> Mapping[WebhookKey, datetime]:
    """Note that calls of these have failed; since when they do. One whose template is gone is not in the answer."""
    rows = await tx.fetch(FAIL, *_columns(webhooks), at) if webhooks else ()
    return {(TenantId(row["tenant_id"]), TemplateId(row["template_id"])): row["failing_since"] for row in rows}


async def recover(tx: Transaction, webhooks: Sequence[WebhookKey]) -> None:
    """Note that calls of these have succeeded."""
    if webhooks:
        await tx.execute(RECOVER, *_columns(webhooks))


async def disable(tx: Transaction, webhook: WebhookKey, *, reason: str, at: datetime) -> str | None:
    """Call a webhook that has failed no more, until somebody enables it; the name of its template, None when that is
    nothing new."""
    row = await tx.fetch_row(DISABLE, *webhook, at, reason)
    return None if row is None else str(row["name"])


async def enable(tx: Transaction, tenant_id: TenantId, template_id: TemplateId) -> None:
    """Call a webhook again, as if nothing had been wrong with it."""
    await tx.execute(ENABLE, tenant_id, template_id)


def _columns(webhooks: Sequence[WebhookKey]) -> tuple[list[TenantId], list[TemplateId]]:
    return [tenant for tenant, _ in webhooks], [template for _, template in webhooks]


# What is sealed begins with the length of the key's id and the id (keyring.py).
COUNT: Final = """
SELECT convert_from(substring(sealed FROM 2 FOR get_byte(sealed, 0)), 'UTF8') AS key_id, count(*) AS number FROM (
    SELECT s.sealed FROM chamberlain.webhook_secret s
    UNION ALL SELECT s.previous_secret FROM chamberlain.webhook_secret s WHERE s.previous_secret IS NOT NULL
) secrets (sealed) WHERE length(sealed) > 1 GROUP BY 1
"""

# In the order of the key, so that two who do this at once never wait for each other in a circle; and held, so that
# nobody puts another secret there in between.
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

# Waits for whoever is just writing secrets, and keeps others from it until the end of the transaction.
HOLD: Final = "LOCK TABLE chamberlain.webhook_secret IN SHARE MODE"


@dataclass(frozen=True, slots=True)
class Resealed:
    """What one batch came to: secrets that were sealed anew, those that do not open, and where the next one begins;
    None at the end."""

    done: int
    left: int
    next: WebhookKey | None


async def hold(tx: Transaction) -> None:
    """Have nobody write secrets until this transaction ends."""
    await tx.execute(HOLD)


async def count(tx: Transaction) -> Mapping[str, int]:
    """How many secrets are sealed with each key."""
    return {row["key_id"]: row["number"] for row in await tx.fetch(COUNT)}


async def reseal(tx: Transaction, keyring: Keyring, after: WebhookKey, most: int) -> Resealed:
    """Seal up to `most` rows behind that one with the first key, where they are not. One that does not open stays as it
    is."""
    name = keyring.first.encode()
    begins = bytes([len(name)]) + name
    rows = await tx.fetch(TAKE, *after, begins, most)
    keys = [(TenantId(row["tenant_id"]), TemplateId(row["template_id"])) for row in rows]
    places = list(zip(rows, (context_of(*key) for key in keys), strict=True))
    newest = [_anew(keyring, row["sealed"], context) for row, context in places]
    previous = [_anew(keyring, row["previous_secret"], context) for row, context in places]
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
    """A secret as it is to be kept; None where there is none."""

    sealed: bytes | None
    opens: bool = True


def _anew(keyring: Keyring, sealed: bytes | None, context: str) -> _Secret:
    if sealed is None:
        return _Secret(None)
    try:
        return _Secret(keyring.seal(keyring.open(sealed, context), context))
    except KeysUnusable:
        return _Secret(sealed, opens=False)


def callable_url(template: TemplateRecord | None) -> str | None:
    """Where the webhook of a template is to be called; None when it is not, or when the template is gone."""
    if template is None or template.disabled_reason is not None:
        return None
    webhook = kept_webhook(template.stored.content)
    return webhook.url if webhook is not None and webhook.active else None
