"""The endpoints on one screen, and how a refusal is told."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chamberlain.embedded.identity.device_authorization import give_device_code
from chamberlain.embedded.identity.discovery import show_discovery, show_keys
from chamberlain.embedded.identity.errors import (
    IdentityUnreachable,
    InvalidClient,
    OAuthError,
    TemporarilyUnavailable,
)
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.local_token import give_local_token
from chamberlain.embedded.identity.page_routes import page_routes
from chamberlain.embedded.identity.token_endpoint import give_token

# RFC 6749, 5.1: what holds a token, or tells why there is none, is kept nowhere.
_NOT_KEPT = {"Cache-Control": "no-store", "Pragma": "no-cache"}

Answer = Callable[[Request], Awaitable[Response]]
AnswerOfTenant = Callable[[IdentityPlatform, UUID, Request], Awaitable[Response]]


def routes(platform: IdentityPlatform) -> list[Route]:
    """All endpoints and pages, below /identity."""
    discovery = _of_tenant(platform, show_discovery)
    keys = _of_tenant(platform, show_keys)
    token = _not_kept(_of_tenant(platform, give_token))
    device_code = _not_kept(_of_tenant(platform, give_device_code))
    local_token = _not_kept(_local(platform))
    return [
        Route("/identity/{tenant_id:uuid}/v2.0/.well-known/openid-configuration", discovery, methods=["GET"]),
        Route("/identity/{tenant_id:uuid}/discovery/v2.0/keys", keys, methods=["GET"]),
        Route("/identity/{tenant_id:uuid}/oauth2/v2.0/token", token, methods=["POST"]),
        Route("/identity/{tenant_id:uuid}/oauth2/v2.0/devicecode", device_code, methods=["POST"]),
        Route("/identity/local/token", local_token, methods=["POST"]),
        *page_routes(platform),
    ]


def _of_tenant(platform: IdentityPlatform, answer: AnswerOfTenant) -> Answer:
    async def answering(request: Request) -> Response:
        return await answer(platform, request.path_params["tenant_id"], request)

    return _telling_refusals(answering)


def _local(platform: IdentityPlatform) -> Answer:
    async def answering(request: Request) -> Response:
        return await give_local_token(platform, request)

    return _telling_refusals(answering)


def _telling_refusals(answer: Answer) -> Answer:
    async def telling(request: Request) -> Response:
        try:
            return await answer(request)
        except OAuthError as refusal:
            return _refusal(refusal)
        except IdentityUnreachable:
            return _refusal(TemporarilyUnavailable("The database cannot be reached. Send the request again."))

    return telling


def _refusal(refusal: OAuthError) -> Response:
    body = {"error": refusal.error, "error_description": refusal.description}
    headers: dict[str, str] = {}
    if isinstance(refusal, InvalidClient) and refusal.by_header:
        headers["WWW-Authenticate"] = 'Basic realm="identity"'
    if isinstance(refusal, TemporarilyUnavailable):
        headers["Retry-After"] = "1"
    return JSONResponse(body, status_code=refusal.status, headers=headers)


def _not_kept(answer: Answer) -> Answer:
    async def answering(request: Request) -> Response:
        response = await answer(request)
        response.headers.update(_NOT_KEPT)
        return response

    return answering
