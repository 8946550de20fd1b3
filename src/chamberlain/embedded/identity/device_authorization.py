"""A program without a browser of its own asks for its two codes (RFC 8628, 3.1 and 3.2): one that it keeps to itself
and asks with again and again, and one that a person types in elsewhere."""

from datetime import datetime, timedelta
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from chamberlain.embedded.identity.bodies import read_form
from chamberlain.embedded.identity.client_authentication import identify
from chamberlain.embedded.identity.clients import RegisteredClient
from chamberlain.embedded.identity.database import Connection, transaction
from chamberlain.embedded.identity.errors import AccessDenied, TemporarilyUnavailable
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.random_secrets import digest_of, new_secret
from chamberlain.embedded.identity.scopes import choose_for_user
from chamberlain.embedded.identity.user_codes import new_user_code, shown

LIFE = timedelta(minutes=15)
INTERVAL = timedelta(seconds=5)
# Remembered for so long after their end, so that the program is told that it was too late.
_REMEMBERED = timedelta(hours=1)
# Nobody proves anything to get codes. This bounds what strangers can have kept, and how likely a guess is.
MOST_WAITING = 1000

_WAITING = """
SELECT count(*) FROM (
    SELECT 1 FROM identity.device_codes WHERE tenant_id = $1 AND ends_at > $2 AND state = 'pending' LIMIT $3
) AS waiting
"""

_ISSUE = """
INSERT INTO identity.device_codes
    (tenant_id, digest, user_code_digest, client_id, scope, interval_seconds, ends_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (user_code_digest) DO NOTHING
"""

# Some at each issue: more go than come.
REMOVE_ENDED = """
DELETE FROM identity.device_codes WHERE tenant_id = $1 AND digest = ANY (ARRAY(
    SELECT digest FROM identity.device_codes WHERE tenant_id = $1 AND ends_at <= $2
    ORDER BY ends_at LIMIT 100 FOR UPDATE SKIP LOCKED))
"""


async def give_device_code(platform: IdentityPlatform, tenant_id: UUID, request: Request) -> Response:
    """The two codes, and where the person types in the second."""
    if not platform.serves_people:
        raise AccessDenied("Other machines can reach this service, so the example users cannot sign in here.")
    form = await read_form(request)
    client = await identify(platform, tenant_id, request, form)
    scope = form.get("scope", "")
    choose_for_user(client, scope)
    async with transaction(platform.pool, tenant_id) as connection:
        now = platform.now()
        await connection.execute(REMOVE_ENDED, tenant_id, now - _REMEMBERED)
        if await connection.fetchval(_WAITING, tenant_id, now, MOST_WAITING) >= MOST_WAITING:
            raise TemporarilyUnavailable("Too many devices wait for their sign-in. Ask again in some minutes.")
        device_code, user_code = await _issue(connection, client, scope, now)
    address = f"{platform.base_url}/device"
    return JSONResponse(
        {
            "device_code": device_code,
            "user_code": shown(user_code),
            "verification_uri": address,
            "expires_in": int(LIFE.total_seconds()),
            "interval": int(INTERVAL.total_seconds()),
            # Not in the RFC: what MSAL and azure-identity show people.
            "message": f"To sign in, open {address} in a browser and type in the code {shown(user_code)}.",
        }
    )


async def _issue(connection: Connection, client: RegisteredClient, scope: str, now: datetime) -> tuple[str, str]:
    device_code = new_secret()
    while True:
        user_code = new_user_code()
        status = await connection.execute(
            _ISSUE,
            client.tenant_id,
            digest_of(device_code),
            digest_of(user_code),
            client.id,
            scope,
            int(INTERVAL.total_seconds()),
            now + LIFE,
        )
        # Another device has this one otherwise; the next is as good.
        if status == "INSERT 0 1":
            return device_code, user_code
