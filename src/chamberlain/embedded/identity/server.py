"""The endpoints on one screen, and how a refusal is told."""

from collections.abc import Awaitable, Callable
from math import ceil
from uuid import UUID

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from chamberlain.embedded.identity.authorization_endpoint import show_authorize, take_authorize, take_sign_in
from chamberlain.embedded.identity.device_authorization import give_device_code
from chamberlain.embedded.identity.device_pages import show_device, take_device
from chamberlain.embedded.identity.discovery import show_discovery, show_keys
from chamberlain.embedded.identity.errors import (
    IdentityUnreachable,
    InvalidClient,
    OAuthError,
    PageRefused,
    TemporarilyUnavailable,
    WrongAddress,
)
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.local_tokens import give_local_token
from chamberlain.embedded.identity.rendering import FOLDER, render
from chamberlain.embedded.identity.session import Browser, identify_browser
from chamberlain.embedded.identity.sign_out import show_sign_out, take_sign_out, take_sign_out_answer
from chamberlain.embedded.identity.throttling import TooManyAttempts
from chamberlain.embedded.identity.token_endpoint import give_token

_STATIC_HEADERS = {"Cache-Control": "public, max-age=300", "X-Content-Type-Options": "nosniff"}

Endpoint = Callable[[Request], Awaitable[Response]]
Page = Callable[[Browser], Awaitable[Response]]
TenantPage = Callable[[Browser, UUID], Awaitable[Response]]


def page_routes(platform: IdentityPlatform) -> list[Route]:
    """All pages, below /identity, with what they are dressed in."""
    tenant = "/identity/{tenant_id:uuid}/oauth2/v2.0"
    return [
        Route(f"{tenant}/authorize", _tenant_page(platform, show_authorize), methods=["GET"]),
        Route(f"{tenant}/authorize", _tenant_page(platform, take_authorize), methods=["POST"]),
        # Where a form went stands in the browser's line of addresses: whoever loads that gets the page again.
        Route(f"{tenant}/sign-in", _tenant_page(platform, show_authorize), methods=["GET"]),
        Route(f"{tenant}/sign-in", _tenant_page(platform, take_sign_in), methods=["POST"]),
        Route(f"{tenant}/logout", _tenant_page(platform, show_sign_out), methods=["GET"]),
        Route(f"{tenant}/logout", _tenant_page(platform, take_sign_out), methods=["POST"]),
        Route(f"{tenant}/sign-out", _tenant_page(platform, show_sign_out), methods=["GET"]),
        Route(f"{tenant}/sign-out", _tenant_page(platform, take_sign_out_answer), methods=["POST"]),
        Route("/identity/device", _page(platform, show_device), methods=["GET"]),
        Route("/identity/device", _page(platform, take_device), methods=["POST"]),
        Route("/identity/pages/style.css", _file("style.css", "text/css"), methods=["GET"]),
        Route("/identity/pages/icon.svg", _file("icon.svg", "image/svg+xml"), methods=["GET"]),
    ]


def _tenant_page(platform: IdentityPlatform, page: TenantPage) -> Endpoint:
    async def showing(visit: Browser) -> Response:
        tenant_id: UUID = visit.request.path_params["tenant_id"]
        return await page(visit, tenant_id)

    return _page(platform, showing)


def _page(platform: IdentityPlatform, page: Page) -> Endpoint:
    async def answering(request: Request) -> Response:
        try:
            return await page(await identify_browser(platform, request))
        except WrongAddress as refusal:
            return _refusal_page(platform, refusal.status, refusal.title, refusal.text, address=refusal.address)
        except PageRefused as refusal:
            return _refusal_page(platform, refusal.status, refusal.title, refusal.text)
        except TooManyAttempts as refusal:
            return _too_many(platform, refusal)
        except TemporarilyUnavailable as refusal:
            return _refusal_page(platform, refusal.status, "Not now", refusal.description)
        except OAuthError as refusal:
            return _refusal_page(platform, refusal.status, PageRefused.title, refusal.description)
        except IdentityUnreachable:
            return _refusal_page(
                platform, 503, "Not now", "The database cannot be reached. Load the page again after a while."
            )

    return answering


def _refusal_page(platform: IdentityPlatform, status: int, title: str, text: str, *, address: str = "") -> Response:
    response = render(platform.base_url, "refused.html", status=status, title=title, text=text, address=address)
    if status == 503:
        response.headers["Retry-After"] = "1"
    return response


def _too_many(platform: IdentityPlatform, refusal: TooManyAttempts) -> Response:
    seconds = max(1, ceil((refusal.until - platform.now()).total_seconds()))
    minutes = ceil(seconds / 60)
    text = f"This one was not looked at. Try again in {minutes} {'minute' if minutes == 1 else 'minutes'}."
    response = _refusal_page(platform, 429, "There were too many attempts", text)
    response.headers["Retry-After"] = str(seconds)
    return response


def _file(name: str, media_type: str) -> Endpoint:
    async def answering(_: Request) -> Response:
        return FileResponse(FOLDER / name, media_type=media_type, headers=_STATIC_HEADERS)

    return answering


# RFC 6749, 5.1: what holds a token, or tells why there is none, is kept nowhere.
_NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}

TenantEndpoint = Callable[[IdentityPlatform, UUID, Request], Awaitable[Response]]


def routes(platform: IdentityPlatform) -> list[Route]:
    """All endpoints and pages, below /identity."""
    discovery = _tenant_endpoint(platform, show_discovery)
    keys = _tenant_endpoint(platform, show_keys)
    token = _not_kept(_tenant_endpoint(platform, give_token))
    device_code = _not_kept(_tenant_endpoint(platform, give_device_code))
    local_token = _not_kept(_local(platform))
    return [
        Route("/identity/{tenant_id:uuid}/v2.0/.well-known/openid-configuration", discovery, methods=["GET"]),
        Route("/identity/{tenant_id:uuid}/discovery/v2.0/keys", keys, methods=["GET"]),
        Route("/identity/{tenant_id:uuid}/oauth2/v2.0/token", token, methods=["POST"]),
        Route("/identity/{tenant_id:uuid}/oauth2/v2.0/devicecode", device_code, methods=["POST"]),
        Route("/identity/local/token", local_token, methods=["POST"]),
        *page_routes(platform),
    ]


def _tenant_endpoint(platform: IdentityPlatform, answer: TenantEndpoint) -> Endpoint:
    async def answering(request: Request) -> Response:
        return await answer(platform, request.path_params["tenant_id"], request)

    return _telling_refusals(answering)


def _local(platform: IdentityPlatform) -> Endpoint:
    async def answering(request: Request) -> Response:
        return await give_local_token(platform, request)

    return _telling_refusals(answering)


def _telling_refusals(answer: Endpoint) -> Endpoint:
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


def _not_kept(answer: Endpoint) -> Endpoint:
    async def answering(request: Request) -> Response:
        response = await answer(request)
        response.headers.update(_NO_STORE)
        return response

    return answering
