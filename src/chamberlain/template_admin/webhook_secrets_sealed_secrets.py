"""Which keys the secrets of webhooks are sealed with, and sealing them anew, of all tenants as the worker's role."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from chamberlain.core.ids import TemplateId, TenantId
from chamberlain.database.transactions import Transaction
from chamberlain.secrets.keyring import Keyring, KeysUnusable
from chamberlain.template_admin.webhook_secrets import context_of
from chamberlain.templates.webhook_webhooks import WebhookKey

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

PUT: Final = """
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
    await tx.execute(PUT, *columns, [each.sealed for each in newest], [each.sealed for each in previous])
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
