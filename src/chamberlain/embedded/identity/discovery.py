# SPDX-License-Identifier: Apache-2.0
"""Discovery document and public keys (OpenID Connect Discovery 1.0).

It names existing endpoints only. Libraries require an authorization endpoint.
"""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from chamberlain.embedded.identity.authorization_request import Prompt
from chamberlain.embedded.identity.clients import find_clients
from chamberlain.embedded.identity.identity_platform import IdentityPlatform, issuer_of
from chamberlain.embedded.identity.scopes import OPENID_SCOPES
from chamberlain.embedded.identity.token_endpoint import GRANT_TYPES
from chamberlain.embedded.identity.tokens import CLAIMS

# Much shorter than the day between publication and first use of a key.
_CACHED = {"Cache-Control": "public, max-age=300"}


async def show_discovery(platform: IdentityPlatform, request: Request) -> Response:
    """Return the discovery document of a tenant."""
    tenant_id = request.path_params["tenant_id"]
    if not await find_clients(platform.pool, tenant_id):
        return _unknown_tenant()
    tenant_url = f"{platform.base_url}/{tenant_id}"
    return JSONResponse(
        {
            "issuer": issuer_of(platform.base_url, tenant_id),
            "authorization_endpoint": f"{tenant_url}/oauth2/v2.0/authorize",
            "token_endpoint": f"{tenant_url}/oauth2/v2.0/token",
            "device_authorization_endpoint": f"{tenant_url}/oauth2/v2.0/devicecode",
            "end_session_endpoint": f"{tenant_url}/oauth2/v2.0/logout",
            "jwks_uri": f"{tenant_url}/discovery/v2.0/keys",
            "scopes_supported": list(OPENID_SCOPES),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query", "form_post"],
            "grant_types_supported": list(GRANT_TYPES),
            "code_challenge_methods_supported": ["S256"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic", "none"],
            "claims_supported": list(CLAIMS),
            "prompt_values_supported": [prompt.value for prompt in Prompt],
            "authorization_response_iss_parameter_supported": True,
            # The default is true.
            "request_uri_parameter_supported": False,
        },
        headers=_CACHED,
    )


async def show_keys(platform: IdentityPlatform, request: Request) -> Response:
    """Return the published signing keys (RFC 7517, 5)."""
    if not await find_clients(platform.pool, request.path_params["tenant_id"]):
        return _unknown_tenant()
    return JSONResponse({"keys": await platform.keys.published()}, headers=_CACHED)


def _unknown_tenant() -> Response:
    description = "The tenant is unknown. Check the id in the address."
    return JSONResponse({"error": "invalid_tenant", "error_description": description}, status_code=404)
