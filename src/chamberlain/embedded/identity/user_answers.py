"""What a program gets for a person who signed in (RFC 6749, 5.1; OpenID Connect Core, 3.1.3.3)."""

import json
from base64 import urlsafe_b64encode

from chamberlain.embedded.identity.clients import RegisteredClient
from chamberlain.embedded.identity.estate import Account
from chamberlain.embedded.identity.id_tokens import SignIn, issue_id_token
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.scopes import OPENID, Chosen, ChosenForUser
from chamberlain.embedded.identity.tokens import issue_for_user


async def answer_for_user(
    platform: IdentityPlatform,
    client: RegisteredClient,
    sign_in: SignIn,
    *,
    chosen: ChosenForUser,
    refresh_token: str | None,
) -> dict[str, object]:
    """The body of the answer: tokens, and what they are good for."""
    permissions = chosen.permissions or _of_the_platform(platform, client, chosen)
    token = await issue_for_user(platform, sign_in.account, client, permissions)
    answer: dict[str, object] = {
        "token_type": "Bearer",
        "scope": " ".join(chosen.full_names),
        "expires_in": token.expires_in,
        "access_token": token.text,
        "client_info": _client_info(sign_in.account),
    }
    if OPENID in chosen.openid:
        answer["id_token"] = await issue_id_token(platform, client, sign_in)
    if refresh_token is not None:
        answer["refresh_token"] = refresh_token
    return answer


def _of_the_platform(platform: IdentityPlatform, client: RegisteredClient, chosen: ChosenForUser) -> Chosen:
    """Who asks for no permission gets an access token all the same, as libraries insist; no resource takes it."""
    return Chosen(f"{platform.base_url}/{client.tenant_id}", chosen.full_names)


def _client_info(account: Account) -> str:
    """By which MSAL keeps apart whose tokens it holds; without it nobody is found again in its cache."""
    text = json.dumps({"uid": str(account.id), "utid": str(account.tenant)})
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")
