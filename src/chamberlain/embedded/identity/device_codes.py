"""Programs that wait until somebody lets them in on another screen (RFC 8628): what the page does with their codes."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from chamberlain.embedded.identity.database import transaction
from chamberlain.embedded.identity.estate import Account
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.random_secrets import digest_of
from chamberlain.embedded.identity.user_codes import read_user_code

_TENANT = "SELECT identity.tenant_of_device_code($1)"

_PENDING = """
SELECT client.id, client.name, code.scope
FROM identity.device_codes AS code
JOIN identity.clients AS client ON client.tenant_id = code.tenant_id AND client.id = code.client_id
WHERE code.tenant_id = $1 AND code.user_code_digest = $2 AND code.state = 'pending' AND code.ends_at > $3
"""

_ALLOW = """
UPDATE identity.device_codes SET state = 'allowed', account_id = $4, auth_time = $5
WHERE tenant_id = $1 AND user_code_digest = $2 AND state = 'pending' AND ends_at > $3
"""

_DENY = """
UPDATE identity.device_codes SET state = 'denied'
WHERE tenant_id = $1 AND user_code_digest = $2 AND state = 'pending' AND ends_at > $3
"""

_ONE_ROW = "UPDATE 1"


@dataclass(frozen=True, slots=True)
class PendingDevice:
    """A program that waits to be let in. `user_code` is as it is kept; `user_codes.shown` writes it with its dash."""

    tenant_id: UUID
    client_id: UUID
    client_name: str
    scopes: tuple[str, ...]
    user_code: str = field(repr=False)


async def find_pending(platform: IdentityPlatform, user_code: str) -> PendingDevice | None:
    """The program that shows this code and waits; None when there is none, it has ended, or was decided about.

    `user_code` is as somebody typed it. Who asks counts the codes that were not found: they are short.
    """
    code = read_user_code(user_code)
    if code is None:
        return None
    digest = digest_of(code)
    async with transaction(platform.pool) as connection:
        tenant_id: UUID | None = await connection.fetchval(_TENANT, digest)
    if tenant_id is None:
        return None
    async with transaction(platform.pool, tenant_id) as connection:
        row = await connection.fetchrow(_PENDING, tenant_id, digest, platform.now())
    if row is None:
        return None
    return PendingDevice(tenant_id, row["id"], row["name"], tuple(row["scope"].split()), code)


async def allow(platform: IdentityPlatform, user_code: str, account: Account, auth_time: datetime) -> bool:
    """Let the program act for the person, who signed in at `auth_time`.

    False when it does not wait any more, or waits in another tenant than the person's.
    """
    code = read_user_code(user_code)
    if code is None:
        return False
    async with transaction(platform.pool, account.tenant) as connection:
        status = await connection.execute(
            _ALLOW, account.tenant, digest_of(code), platform.now(), account.id, auth_time
        )
    return status == _ONE_ROW


async def deny(platform: IdentityPlatform, user_code: str, account: Account) -> bool:
    """Send the program away, as this person asks; False when it does not wait any more, or waits in another tenant."""
    code = read_user_code(user_code)
    if code is None:
        return False
    async with transaction(platform.pool, account.tenant) as connection:
        status = await connection.execute(_DENY, account.tenant, digest_of(code), platform.now())
    return status == _ONE_ROW
