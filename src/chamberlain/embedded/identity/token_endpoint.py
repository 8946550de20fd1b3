"""Where programs get their tokens: one way of asking, one function."""

from collections.abc import Awaitable, Callable, Mapping
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from chamberlain.embedded.identity.authorization_codes import grant_for_code
from chamberlain.embedded.identity.client_authentication import authenticate
from chamberlain.embedded.identity.device_authorization import grant_for_device_code
from chamberlain.embedded.identity.errors import AccessDenied, InvalidRequest, InvalidScope, UnsupportedGrantType
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.refresh_tokens import grant_for_refresh_token
from chamberlain.embedded.identity.request_body import read_form
from chamberlain.embedded.identity.scopes import choose_application
from chamberlain.embedded.identity.tokens import issue_for_application

Form = Mapping[str, str]
Give = Callable[[IdentityPlatform, UUID, Request, Form], Awaitable[dict[str, object]]]

CLIENT_CREDENTIALS = "client_credentials"
_FOR_USERS: Mapping[str, Give] = {
    "authorization_code": grant_for_code,
    "refresh_token": grant_for_refresh_token,
    "urn:ietf:params:oauth:grant-type:device_code": grant_for_device_code,
}
GRANT_TYPES = (CLIENT_CREDENTIALS, *_FOR_USERS)


async def give_token(platform: IdentityPlatform, tenant_id: UUID, request: Request) -> Response:
    """Tokens for a program that proves to be itself, or for a person who has signed in."""
    form = await read_form(request)
    if "grant_type" not in form:
        raise InvalidRequest(f"Send grant_type, one of {', '.join(GRANT_TYPES)}.")
    return JSONResponse(await _way(platform, form["grant_type"])(platform, tenant_id, request, form))


def _way(platform: IdentityPlatform, grant_type: str) -> Give:
    if grant_type == CLIENT_CREDENTIALS:
        return _give_for_credentials
    if grant_type not in _FOR_USERS:
        raise UnsupportedGrantType(f"Ask with one of these as grant_type: {', '.join(GRANT_TYPES)}.")
    if not platform.serves_people:
        raise AccessDenied("Other machines can reach this service, so the example users cannot sign in here.")
    return _FOR_USERS[grant_type]


async def _give_for_credentials(
    platform: IdentityPlatform, tenant_id: UUID, request: Request, form: Form
) -> dict[str, object]:
    """An access token for the program itself (RFC 6749, 4.4)."""
    client = await authenticate(platform, tenant_id, request, form)
    if "scope" not in form:
        raise InvalidScope("Send scope, the address of a resource with /.default behind it.")
    token = await issue_for_application(platform, client, choose_application(client, form["scope"]))
    return {"token_type": "Bearer", "expires_in": token.expires_in, "access_token": token.text}
