"""The pages on one screen, and how a refusal is told to a person."""

from collections.abc import Awaitable, Callable
from math import ceil
from uuid import UUID

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from chamberlain.embedded.identity.attempts import TooManyAttempts
from chamberlain.embedded.identity.authorize import show_authorize, take_authorize, take_sign_in
from chamberlain.embedded.identity.device_pages import show_device, take_device
from chamberlain.embedded.identity.errors import IdentityUnreachable, OAuthError, TemporarilyUnavailable
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.page import FOLDER, render
from chamberlain.embedded.identity.page_refusals import PageRefused, WrongAddress
from chamberlain.embedded.identity.sign_out import show_sign_out, take_sign_out, take_sign_out_answer
from chamberlain.embedded.identity.visits import Visit, open_visit

_KEPT = {"Cache-Control": "public, max-age=300", "X-Content-Type-Options": "nosniff"}

Answer = Callable[[Request], Awaitable[Response]]
Page = Callable[[Visit], Awaitable[Response]]
PageOfTenant = Callable[[Visit, UUID], Awaitable[Response]]


def page_routes(platform: IdentityPlatform) -> list[Route]:
    """All pages, below /identity, with what they are dressed in."""
    tenant = "/identity/{tenant_id:uuid}/oauth2/v2.0"
    return [
        Route(f"{tenant}/authorize", _of_tenant(platform, show_authorize), methods=["GET"]),
        Route(f"{tenant}/authorize", _of_tenant(platform, take_authorize), methods=["POST"]),
        # Where a form went stands in the browser's line of addresses: whoever loads that gets the page again.
        Route(f"{tenant}/sign-in", _of_tenant(platform, show_authorize), methods=["GET"]),
        Route(f"{tenant}/sign-in", _of_tenant(platform, take_sign_in), methods=["POST"]),
        Route(f"{tenant}/logout", _of_tenant(platform, show_sign_out), methods=["GET"]),
        Route(f"{tenant}/logout", _of_tenant(platform, take_sign_out), methods=["POST"]),
        Route(f"{tenant}/sign-out", _of_tenant(platform, show_sign_out), methods=["GET"]),
        Route(f"{tenant}/sign-out", _of_tenant(platform, take_sign_out_answer), methods=["POST"]),
        Route("/identity/device", _page(platform, show_device), methods=["GET"]),
        Route("/identity/device", _page(platform, take_device), methods=["POST"]),
        Route("/identity/pages/style.css", _file("style.css", "text/css"), methods=["GET"]),
        Route("/identity/pages/icon.svg", _file("icon.svg", "image/svg+xml"), methods=["GET"]),
    ]


def _of_tenant(platform: IdentityPlatform, page: PageOfTenant) -> Answer:
    async def showing(visit: Visit) -> Response:
        tenant_id: UUID = visit.request.path_params["tenant_id"]
        return await page(visit, tenant_id)

    return _page(platform, showing)


def _page(platform: IdentityPlatform, page: Page) -> Answer:
    async def answering(request: Request) -> Response:
        try:
            return await page(await open_visit(platform, request))
        except WrongAddress as refusal:
            return _told(platform, refusal.status, refusal.title, refusal.text, address=refusal.address)
        except PageRefused as refusal:
            return _told(platform, refusal.status, refusal.title, refusal.text)
        except TooManyAttempts as refusal:
            return _too_many(platform, refusal)
        except TemporarilyUnavailable as refusal:
            return _told(platform, refusal.status, "Not now", refusal.description)
        except OAuthError as refusal:
            return _told(platform, refusal.status, PageRefused.title, refusal.description)
        except IdentityUnreachable:
            return _told(platform, 503, "Not now", "The database cannot be reached. Load the page again after a while.")

    return answering


def _told(platform: IdentityPlatform, status: int, title: str, text: str, *, address: str = "") -> Response:
    response = render(platform.base_url, "refused.html", status=status, title=title, text=text, address=address)
    if status == 503:
        response.headers["Retry-After"] = "1"
    return response


def _too_many(platform: IdentityPlatform, refusal: TooManyAttempts) -> Response:
    seconds = max(1, ceil((refusal.until - platform.now()).total_seconds()))
    minutes = ceil(seconds / 60)
    text = f"This one was not looked at. Try again in {minutes} {'minute' if minutes == 1 else 'minutes'}."
    response = _told(platform, 429, "There were too many attempts", text)
    response.headers["Retry-After"] = str(seconds)
    return response


def _file(name: str, media_type: str) -> Answer:
    async def answering(_: Request) -> Response:
        return FileResponse(FOLDER / name, media_type=media_type, headers=_KEPT)

    return answering
