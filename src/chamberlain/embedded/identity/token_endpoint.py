"""Tokens for programs by themselves (RFC 6749, 4.4)."""

from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from chamberlain.embedded.identity.bodies import read_form
from chamberlain.embedded.identity.client_authentication import authenticate
from chamberlain.embedded.identity.errors import InvalidRequest, InvalidScope, UnsupportedGrantType
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.scopes import choose_application
from chamberlain.embedded.identity.tokens import issue_for_application

_GRANT = "client_credentials"


async def give_token(platform: IdentityPlatform, tenant_id: UUID, request: Request) -> Response:
    """An access token for a program that proves to be itself."""
    form = await read_form(request)
    if "grant_type" not in form:
        raise InvalidRequest(f"Send grant_type; the only one that there is here is {_GRANT}.")
    if form["grant_type"] != _GRANT:
        raise UnsupportedGrantType(f"The only grant_type that there is here is {_GRANT}.")
    client = await authenticate(platform, tenant_id, request, form)
    if "scope" not in form:
        raise InvalidScope("Send scope, the address of a resource with /.default behind it.")
    token = await issue_for_application(platform, client, choose_application(client, form["scope"]))
    return JSONResponse({"token_type": "Bearer", "expires_in": token.expires_in, "access_token": token.text})
