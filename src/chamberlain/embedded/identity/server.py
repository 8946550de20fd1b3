# SPDX-License-Identifier: Apache-2.0
"""All endpoints and pages, and their error responses."""

from collections.abc import Awaitable, Callable
from math import ceil

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chamberlain.design import ICON
from chamberlain.embedded.identity import errors
from chamberlain.embedded.identity.authorization_endpoint import post_authorize, show_authorize, submit_sign_in
from chamberlain.embedded.identity.device_authorization import issue_device_code
from chamberlain.embedded.identity.device_pages import show_device, submit_device
from chamberlain.embedded.identity.discovery import show_discovery, show_keys
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.local_tokens import issue_local_token
from chamberlain.embedded.identity.rendering import STYLE, render
from chamberlain.embedded.identity.session import Browser
from chamberlain.embedded.identity.sign_out import confirm_sign_out, post_sign_out, show_sign_out
from chamberlain.embedded.identity.token_endpoint import issue_token

# RFC 6749, 5.1: responses with tokens must not be cached.
_NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}
_STATIC_HEADERS = {"Cache-Control": "public, max-age=300", "X-Content-Type-Options": "nosniff"}

Handler = Callable[[Request], Awaitable[Response]]
Endpoint = Callable[[IdentityPlatform, Request], Awaitable[Response]]
Page = Callable[[Browser], Awaitable[Response]]


def routes(platform: IdentityPlatform) -> list[Route]:
    """Return all routes, below /identity."""

    def get(path: str, endpoint: Endpoint) -> Route:
        return Route(f"/identity/{path}", _handler(platform, endpoint), methods=["GET"])

    def post(path: str, endpoint: Endpoint) -> Route:
        return Route(f"/identity/{path}", _no_store(_handler(platform, endpoint)), methods=["POST"])

    def page(method: str, path: str, show: Page) -> Route:
        return Route(f"/identity/{path}", _page_handler(platform, show), methods=[method])

    tenant = "{tenant_id:uuid}"
    oauth = f"{tenant}/oauth2/v2.0"
    return [
        get(f"{tenant}/v2.0/.well-known/openid-configuration", show_discovery),
        get(f"{tenant}/discovery/v2.0/keys", show_keys),
        post(f"{oauth}/token", issue_token),
        post(f"{oauth}/devicecode", issue_device_code),
        post("local/token", issue_local_token),
        page("GET", f"{oauth}/authorize", show_authorize),
        page("POST", f"{oauth}/authorize", post_authorize),
        # After a form, the address bar shows its target. Reloading it shows the page again.
        page("GET", f"{oauth}/sign-in", show_authorize),
        page("POST", f"{oauth}/sign-in", submit_sign_in),
        page("GET", f"{oauth}/logout", show_sign_out),
        page("POST", f"{oauth}/logout", post_sign_out),
        page("GET", f"{oauth}/sign-out", show_sign_out),
        page("POST", f"{oauth}/sign-out", confirm_sign_out),
        page("GET", "device", show_device),
        page("POST", "device", submit_device),
        Route("/identity/pages/style.css", _static(STYLE, "text/css"), methods=["GET"]),
        Route("/identity/pages/icon.svg", _static(ICON, "image/svg+xml"), methods=["GET"]),
    ]


def _handler(platform: IdentityPlatform, endpoint: Endpoint) -> Handler:
    async def handle(request: Request) -> Response:
        try:
            return await endpoint(platform, request)
        except errors.OAuthError as error:
            return _error_response(error)
        except errors.IdentityUnreachable:
            return _error_response(
                errors.TemporarilyUnavailable("The database is unreachable. Send the request again.")
            )

    return handle


def _no_store(handler: Handler) -> Handler:
    async def handle(request: Request) -> Response:
        response = await handler(request)
        response.headers.update(_NO_STORE)
        return response

    return handle


def _error_response(error: errors.OAuthError) -> Response:
    body = {"error": error.error, "error_description": error.description}
    headers: dict[str, str] = {}
    if isinstance(error, errors.InvalidClient) and error.by_header:
        headers["WWW-Authenticate"] = 'Basic realm="identity"'
    if isinstance(error, errors.TemporarilyUnavailable):
        headers["Retry-After"] = "1"
    return JSONResponse(body, status_code=error.status, headers=headers)


def _page_handler(platform: IdentityPlatform, show: Page) -> Handler:
    async def handle(request: Request) -> Response:
        try:
            return await show(await Browser.from_request(platform, request))
        except errors.PageError as error:
            return _error_page(platform, error.status, error.title, error.text, address=error.address)
        except errors.TooManyAttempts as error:
            return _throttled_page(platform, error)
        except errors.OAuthError as error:
            is_temporary = isinstance(error, errors.TemporarilyUnavailable)
            title = "Temporarily unavailable" if is_temporary else errors.PageError.title
            return _error_page(platform, error.status, title, error.description)
        except errors.IdentityUnreachable:
            text = "The database is unreachable. Reload the page in a moment."
            return _error_page(platform, 503, "Temporarily unavailable", text)

    return handle


def _throttled_page(platform: IdentityPlatform, error: errors.TooManyAttempts) -> Response:
    seconds = max(1, ceil((error.until - platform.now()).total_seconds()))
    minutes = ceil(seconds / 60)
    text = f"This attempt was not checked. Try again in {minutes} {'minute' if minutes == 1 else 'minutes'}."
    response = _error_page(platform, 429, "Too many attempts", text)
    response.headers["Retry-After"] = str(seconds)
    return response


def _error_page(platform: IdentityPlatform, status: int, title: str, text: str, *, address: str = "") -> Response:
    response = render(platform.base_url, "error.html", status=status, title=title, text=text, address=address)
    if status == 503:
        response.headers["Retry-After"] = "1"
    return response


def _static(content: bytes, media_type: str) -> Handler:
    async def handle(_: Request) -> Response:
        return Response(content, media_type=media_type, headers=_STATIC_HEADERS)

    return handle
