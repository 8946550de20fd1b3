"""A device asks whether somebody has let it in (RFC 8628, 3.4 and 3.5), and gets its tokens once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from starlette.requests import Request

from chamberlain.embedded.identity import refresh_tokens
from chamberlain.embedded.identity.client_authentication import identify
from chamberlain.embedded.identity.clients import RegisteredClient, find_account_by_id
from chamberlain.embedded.identity.database import Connection, transaction
from chamberlain.embedded.identity.errors import (
    AuthorizationPending,
    DeviceDenied,
    ExpiredToken,
    InvalidGrant,
    InvalidRequest,
    OAuthError,
    SlowDown,
)
from chamberlain.embedded.identity.id_tokens import SignIn
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.random_secrets import digest_of
from chamberlain.embedded.identity.scopes import OFFLINE_ACCESS, ChosenForUser, choose_for_user
from chamberlain.embedded.identity.user_answers import answer_for_user

# What the network may take from the time between two questions of a device that keeps to its interval.
_TOLERANCE = timedelta(seconds=1)
# RFC 8628, 3.5: by how much the interval grows for one that does not.
_SLOWER_BY_SECONDS = 5
_SLOWEST_SECONDS = 60

# Compare and swap: of several who ask at the same moment, one gets the tokens.
_USE = """
UPDATE identity.device_codes SET state = 'used'
WHERE tenant_id = $1 AND digest = $2 AND client_id = $3 AND state = 'allowed' AND ends_at > $4
RETURNING account_id, scope, auth_time
"""

_READ = """
SELECT state, interval_seconds, polled_at, ends_at FROM identity.device_codes
WHERE tenant_id = $1 AND digest = $2 AND client_id = $3
FOR UPDATE
"""

_POLLED = """
UPDATE identity.device_codes SET polled_at = $3, interval_seconds = $4 WHERE tenant_id = $1 AND digest = $2
"""


@dataclass(frozen=True, slots=True)
class _LetIn:
    account_id: UUID
    auth_time: datetime
    chosen: ChosenForUser
    refresh_token: str | None = field(repr=False)


async def give_for_device_code(
    platform: IdentityPlatform, tenant_id: UUID, request: Request, form: Mapping[str, str]
) -> dict[str, object]:
    """Tokens for the person who let the device in; refused in the RFC's words while nobody has, and afterwards."""
    client = await identify(platform, tenant_id, request, form)
    if "device_code" not in form:
        raise InvalidRequest("Send device_code, the one of the answer of the devicecode endpoint.")
    async with transaction(platform.pool, tenant_id) as connection:
        outcome = await _let_in(connection, client, form["device_code"], platform.now())
    if isinstance(outcome, OAuthError):
        raise outcome
    account = await find_account_by_id(platform.pool, tenant_id, outcome.account_id)
    if account is None:
        raise InvalidGrant("Whoever let the device in is not known any more.")
    sign_in = SignIn(account, outcome.auth_time)
    return await answer_for_user(platform, client, sign_in, chosen=outcome.chosen, refresh_token=outcome.refresh_token)


async def _let_in(
    connection: Connection, client: RegisteredClient, device_code: str, now: datetime
) -> _LetIn | OAuthError:
    """The refusal is given back rather than raised: when the device has asked has to be kept."""
    digest = digest_of(device_code)
    row = await connection.fetchrow(_USE, client.tenant_id, digest, client.id, now)
    if row is None:
        return await _not_let_in(connection, client, digest, now)
    chosen, refresh_token = choose_for_user(client, row["scope"]), None
    if OFFLINE_ACCESS in chosen.openid:
        family = refresh_tokens.Family(row["account_id"], row["scope"], row["auth_time"])
        refresh_token = await refresh_tokens.begin(
            connection, client, family, family_id=refresh_tokens.new_family_id(), now=now
        )
    return _LetIn(row["account_id"], row["auth_time"], chosen, refresh_token)


async def _not_let_in(connection: Connection, client: RegisteredClient, digest: bytes, now: datetime) -> OAuthError:
    row = await connection.fetchrow(_READ, client.tenant_id, digest, client.id)
    if row is None or row["state"] == "used":
        return InvalidGrant("The device_code is not known here, was used before, or is not of this program.")
    if row["ends_at"] <= now:
        return ExpiredToken("Nobody has let the device in in time. Ask for a new code.")
    if row["state"] == "denied":
        return DeviceDenied("Somebody has sent the device away.")
    interval, polled_at = timedelta(seconds=row["interval_seconds"]), row["polled_at"]
    too_fast = polled_at is not None and now < polled_at + interval - _TOLERANCE
    seconds = row["interval_seconds"] + (_SLOWER_BY_SECONDS if too_fast else 0)
    await connection.execute(_POLLED, client.tenant_id, digest, now, min(seconds, _SLOWEST_SECONDS))
    if too_fast:
        return SlowDown(f"Ask every {seconds} seconds, and not more often.")
    return AuthorizationPending("Nobody has let the device in yet. Ask again after the interval.")
