# SPDX-License-Identifier: Apache-2.0
"""Device authorization grant (RFC 8628), for a client without a browser.

The client polls with its device code. The user enters the short user code on another screen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from secrets import choice
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from chamberlain.embedded.identity import errors, refresh_tokens
from chamberlain.embedded.identity.client_authentication import identify
from chamberlain.embedded.identity.clients import Account, RegisteredClient
from chamberlain.embedded.identity.database import Connection, transaction
from chamberlain.embedded.identity.hashing import digest_of, new_secret
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.request_body import read_form
from chamberlain.embedded.identity.scopes import user_scopes
from chamberlain.embedded.identity.tokens import UserGrant, user_token_response
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

LIFE = timedelta(minutes=15)
INTERVAL = timedelta(seconds=5)
# Expired codes are kept, so that the client gets expired_token.
_KEPT_FOR = timedelta(hours=1)
# Public clients get codes without authentication. This limits the stored rows and the chance of a guess.
MOST_WAITING = 1000

# No vowels, so that no words occur, and no letters that look or sound alike (RFC 8628, 6.1). 20 to the 8th codes are
# 34 bits, enough for minutes with a limit on guesses.
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_USER_CODE_LENGTH = 8

# Network delay that a device with the right interval may have.
_TOLERANCE = timedelta(seconds=1)
# RFC 8628, 3.5: the increase of the interval after slow_down.
_SLOWER_BY_SECONDS = 5
_SLOWEST_SECONDS = 60


REMOVE_ENDED = SQL["remove_ended_device_codes"]


@dataclass(frozen=True, slots=True)
class PendingDevice:
    """Client that waits for the user's decision.

    `user_code` has the stored form, without dash.
    """

    tenant_id: UUID
    client_id: UUID
    client_name: str
    scopes: tuple[str, ...]
    user_code: str = field(repr=False)


async def issue_device_code(platform: IdentityPlatform, request: Request) -> Response:
    """Issue a device code and a user code (RFC 8628, 3.1)."""
    platform.require_users()
    tenant_id: UUID = request.path_params["tenant_id"]
    form = await read_form(request)
    client = await identify(platform, tenant_id, request, form)
    scope = form.get("scope", "")
    user_scopes(client, scope)
    async with transaction(platform.pool, tenant_id) as connection:
        now = platform.now()
        await connection.execute(REMOVE_ENDED, tenant_id, now - _KEPT_FOR)
        if await connection.fetchval(SQL["waiting"], tenant_id, now, MOST_WAITING) >= MOST_WAITING:
            raise errors.TemporarilyUnavailable("Too many devices wait for a sign-in. Try again in a few minutes.")
        device_code, user_code = await _issue(connection, client, scope, now)
    address, shown = f"{platform.base_url}/device", format_user_code(user_code)
    return JSONResponse(
        {
            "device_code": device_code,
            "user_code": shown,
            "verification_uri": address,
            "verification_uri_complete": f"{address}?user_code={shown}",
            "expires_in": int(LIFE.total_seconds()),
            "interval": int(INTERVAL.total_seconds()),
            # Not in the RFC: MSAL and azure-identity display it.
            "message": f"To sign in, open {address} in a browser and enter the code {shown}.",
        }
    )


async def grant_for_device_code(
    platform: IdentityPlatform, tenant_id: UUID, request: Request, form: Mapping[str, str]
) -> dict[str, object]:
    """Redeem an allowed device code once (RFC 8628, 3.4 and 3.5)."""
    client = await identify(platform, tenant_id, request, form)
    if "device_code" not in form:
        raise errors.InvalidRequest("Send device_code of the response of the devicecode endpoint.")
    async with transaction(platform.pool, tenant_id) as connection:
        # An error is returned, because raising it here would roll back the time of the poll.
        outcome = await _poll(connection, client, digest_of(form["device_code"]), platform.now())
    if isinstance(outcome, errors.OAuthError):
        raise outcome
    return await user_token_response(platform, client, outcome)


async def find_pending(platform: IdentityPlatform, user_code: str) -> PendingDevice | None:
    """Find the waiting device by an entered user code.

    None if it is unknown, expired or decided. User codes are short, so the caller must throttle.
    """
    code = parse_user_code(user_code)
    if code is None:
        return None
    digest = digest_of(code)
    async with transaction(platform.pool) as connection:
        tenant_id: UUID | None = await connection.fetchval(SQL["tenant_of_device_code"], digest)
    if tenant_id is None:
        return None
    async with transaction(platform.pool, tenant_id) as connection:
        row = await connection.fetchrow(SQL["pending"], tenant_id, digest, platform.now())
    return None if row is None else PendingDevice(tenant_id, row["id"], row["name"], tuple(row["scope"].split()), code)


async def allow_device(platform: IdentityPlatform, user_code: str, account: Account, auth_time: datetime) -> bool:
    """Let the device act for the user, who signed in at `auth_time`.

    False if the device no longer waits, or waits in another tenant.
    """
    return await _decide(platform, user_code, account, SQL["allow"], account.id, auth_time)


async def deny_device(platform: IdentityPlatform, user_code: str, account: Account) -> bool:
    """Deny the device.

    False if it no longer waits, or waits in another tenant.
    """
    return await _decide(platform, user_code, account, SQL["deny"])


def new_user_code() -> str:
    """Generate a user code in the stored form: eight capital letters."""
    return "".join(choice(LETTERS) for _ in range(_USER_CODE_LENGTH))


def format_user_code(user_code: str) -> str:
    """Format a user code for display: XXXX-XXXX."""
    return f"{user_code[:4]}-{user_code[4:]}"


def parse_user_code(entered: str) -> str | None:
    """Parse an entered user code; None if it is invalid.

    Letter case, dashes and spaces are ignored.
    """
    # A single non-ASCII letter can become two ASCII letters in upper case.
    letters = "".join(letter for letter in entered.upper() if letter not in "- ") if entered.isascii() else ""
    return letters if len(letters) == _USER_CODE_LENGTH and set(letters) <= set(LETTERS) else None


async def _issue(connection: Connection, client: RegisteredClient, scope: str, now: datetime) -> tuple[str, str]:
    device_code = new_secret()
    while True:
        user_code = new_user_code()
        status = await connection.execute(
            SQL["issue_device_code"],
            client.tenant_id,
            digest_of(device_code),
            digest_of(user_code),
            client.id,
            scope,
            int(INTERVAL.total_seconds()),
            now + LIFE,
        )
        # Otherwise another device has this user code.
        if status == "INSERT 0 1":
            return device_code, user_code


async def _poll(
    connection: Connection, client: RegisteredClient, digest: bytes, now: datetime
) -> UserGrant | errors.OAuthError:
    row = await connection.fetchrow(SQL["use_device_code"], client.tenant_id, digest, client.id, now)
    if row is not None:
        family_id = refresh_tokens.new_family_id()
        return await refresh_tokens.redeem(connection, client, row, family_id=family_id, now=now)
    row = await connection.fetchrow(SQL["read_device_code"], client.tenant_id, digest, client.id)
    if row is None or row["state"] == "used":
        return errors.InvalidGrant("The device_code is unknown, was used before, or is of another application.")
    if row["ends_at"] <= now:
        return errors.ExpiredToken("The code expired before the sign-in. Request a new code.")
    if row["state"] == "denied":
        return errors.DeviceDenied("The user denied the sign-in.")
    interval, polled_at = timedelta(seconds=row["interval_seconds"]), row["polled_at"]
    too_fast = polled_at is not None and now < polled_at + interval - _TOLERANCE
    seconds = row["interval_seconds"] + (_SLOWER_BY_SECONDS if too_fast else 0)
    await connection.execute(SQL["polled"], client.tenant_id, digest, now, min(seconds, _SLOWEST_SECONDS))
    if too_fast:
        return errors.SlowDown(f"Poll every {seconds} seconds, not more often.")
    return errors.AuthorizationPending("The user has not signed in yet. Try again after the interval.")


async def _decide(
    platform: IdentityPlatform, user_code: str, account: Account, statement: str, *values: object
) -> bool:
    code = parse_user_code(user_code)
    if code is None:
        return False
    async with transaction(platform.pool, account.tenant) as connection:
        status = await connection.execute(statement, account.tenant, digest_of(code), platform.now(), *values)
    return status == "UPDATE 1"
