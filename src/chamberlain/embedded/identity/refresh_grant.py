"""New tokens without the person (RFC 6749, 6): for anything that the program may ask for, not only for what it asked
for at the sign-in."""

from collections.abc import Mapping
from uuid import UUID

from starlette.requests import Request

from chamberlain.embedded.identity.client_authentication import identify
from chamberlain.embedded.identity.clients import find_account_by_id
from chamberlain.embedded.identity.database import transaction
from chamberlain.embedded.identity.errors import InvalidGrant, InvalidRequest
from chamberlain.embedded.identity.id_tokens import SignIn
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.refresh_tokens import rotate
from chamberlain.embedded.identity.scopes import choose_for_user
from chamberlain.embedded.identity.user_answers import answer_for_user

_SIGN_IN_AGAIN = "The refresh token has ended, was used before, or is not of this program. Sign in again."


async def give_for_refresh_token(
    platform: IdentityPlatform, tenant_id: UUID, request: Request, form: Mapping[str, str]
) -> dict[str, object]:
    """Tokens for the person that the refresh token is of, and the next refresh token."""
    client = await identify(platform, tenant_id, request, form)
    if "refresh_token" not in form:
        raise InvalidRequest("Send refresh_token, the one of the last answer.")
    async with transaction(platform.pool, tenant_id) as connection:
        rotated = await rotate(connection, client, form["refresh_token"], platform.now())
        # A scope that is refused leaves the token unused.
        chosen = None if rotated is None else choose_for_user(client, form.get("scope", rotated[0].scope))
    if rotated is None or chosen is None:
        raise InvalidGrant(_SIGN_IN_AGAIN)
    family, following = rotated
    account = await find_account_by_id(platform.pool, tenant_id, family.account_id)
    if account is None:
        raise InvalidGrant(_SIGN_IN_AGAIN)
    sign_in = SignIn(account, family.auth_time)
    return await answer_for_user(platform, client, sign_in, chosen=chosen, refresh_token=following)
