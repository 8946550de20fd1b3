# SPDX-License-Identifier: Apache-2.0
"""Token endpoint: one function for each grant type."""

from collections.abc import Awaitable, Callable, Mapping
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from chamberlain.embedded.identity.authorization_codes import grant_for_code
from chamberlain.embedded.identity.client_authentication import authenticate
from chamberlain.embedded.identity.device_authorization import grant_for_device_code
from chamberlain.embedded.identity.errors import InvalidRequest, InvalidScope, UnsupportedGrantType
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.refresh_tokens import grant_for_refresh_token
from chamberlain.embedded.identity.request_body import read_form
from chamberlain.embedded.identity.scopes import application_scopes
from chamberlain.embedded.identity.tokens import issue_for_application

Form = Mapping[str, str]
Grant = Callable[[IdentityPlatform, UUID, Request, Form], Awaitable[dict[str, object]]]

CLIENT_CREDENTIALS = "client_credentials"
_USER_GRANTS: Mapping[str, Grant] = {
    "authorization_code": grant_for_code,
    "refresh_token": grant_for_refresh_token,
    "urn:ietf:params:oauth:grant-type:device_code": grant_for_device_code,
}
GRANT_TYPES = (CLIENT_CREDENTIALS, *_USER_GRANTS)


async def issue_token(platform: IdentityPlatform, request: Request) -> Response:
    """Issue tokens for a client or for a user."""
    form = await read_form(request)
    if "grant_type" not in form:
        raise InvalidRequest(f"Send grant_type: {', '.join(GRANT_TYPES)}.")
    grant = _grant(platform, form["grant_type"])
    return JSONResponse(await grant(platform, request.path_params["tenant_id"], request, form))


def _grant(platform: IdentityPlatform, grant_type: str) -> Grant:
    if grant_type == CLIENT_CREDENTIALS:
        return _grant_for_credentials
    if grant_type not in _USER_GRANTS:
        raise UnsupportedGrantType(f"Use one of these as grant_type: {', '.join(GRANT_TYPES)}.")
    platform.require_users()
    return _USER_GRANTS[grant_type]


async def _grant_for_credentials(
    platform: IdentityPlatform, tenant_id: UUID, request: Request, form: Form
) -> dict[str, object]:
    """Issue an access token for the client itself (RFC 6749, 4.4)."""
    client = await authenticate(platform, tenant_id, request, form)
    if "scope" not in form:
        raise InvalidScope("Send scope: a resource followed by /.default.")
    token = await issue_for_application(platform, client, application_scopes(client, form["scope"]))
    return {"token_type": "Bearer", "expires_in": token.expires_in, "access_token": token.text}
