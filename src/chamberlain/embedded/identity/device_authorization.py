"""A program without a browser of its own asks for its two codes (RFC 8628, 3.1 and 3.2): one that it keeps to itself
and asks with again and again, and one that a person types in elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from secrets import choice
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from chamberlain.embedded.identity import refresh_tokens
from chamberlain.embedded.identity.client_authentication import identify
from chamberlain.embedded.identity.clients import Account, RegisteredClient, find_account_by_id
from chamberlain.embedded.identity.database import Connection, transaction
from chamberlain.embedded.identity.errors import (
    AccessDenied,
    AuthorizationPending,
    DeviceDenied,
    ExpiredToken,
    InvalidGrant,
    InvalidRequest,
    OAuthError,
    SlowDown,
    TemporarilyUnavailable,
)
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.random_secrets import digest_of, new_secret
from chamberlain.embedded.identity.request_body import read_form
from chamberlain.embedded.identity.scopes import OFFLINE_ACCESS, ChosenForUser, choose_for_user
from chamberlain.embedded.identity.tokens import SignIn, token_response

# Without vowels, so that no words come about, and without what looks or sounds like another letter: 20 to the 8th are
# 34 bits, enough for something that lives some minutes and is guessed under a limit.
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_LENGTH = 8


def new_user_code() -> str:
    """A code as it is kept: eight capital letters."""
    return "".join(choice(LETTERS) for _ in range(_LENGTH))


def format_user_code(user_code: str) -> str:
    """The code as it is shown: XXXX-XXXX."""
    return f"{user_code[:4]}-{user_code[4:]}"


def parse_user_code(typed: str) -> str | None:
    """The code that somebody typed, in either letter case, with or without dash and spaces; None when it is none."""
    # One letter of another alphabet may be two capital ones of ours.
    letters = "".join(letter for letter in typed.upper() if letter not in "- ") if typed.isascii() else ""
    return letters if len(letters) == _LENGTH and set(letters) <= set(LETTERS) else None


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
            "user_code": format_user_code(user_code),
            "verification_uri": address,
            "expires_in": int(LIFE.total_seconds()),
            "interval": int(INTERVAL.total_seconds()),
            # Not in the RFC: what MSAL and azure-identity show people.
            "message": f"To sign in, open {address} in a browser and type in the code {format_user_code(user_code)}.",
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
    code = parse_user_code(user_code)
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


async def allow_device(platform: IdentityPlatform, user_code: str, account: Account, auth_time: datetime) -> bool:
    """Let the program act for the person, who signed in at `auth_time`.

    False when it does not wait any more, or waits in another tenant than the person's.
    """
    code = parse_user_code(user_code)
    if code is None:
        return False
    async with transaction(platform.pool, account.tenant) as connection:
        status = await connection.execute(
            _ALLOW, account.tenant, digest_of(code), platform.now(), account.id, auth_time
        )
    return status == _ONE_ROW


async def deny_device(platform: IdentityPlatform, user_code: str, account: Account) -> bool:
    """Send the program away, as this person asks; False when it does not wait any more, or waits in another tenant."""
    code = parse_user_code(user_code)
    if code is None:
        return False
    async with transaction(platform.pool, account.tenant) as connection:
        status = await connection.execute(_DENY, account.tenant, digest_of(code), platform.now())
    return status == _ONE_ROW


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


async def grant_for_device_code(
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
    return await token_response(platform, client, sign_in, chosen=outcome.chosen, refresh_token=outcome.refresh_token)


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
        refresh_token = await refresh_tokens.begin_family(
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
