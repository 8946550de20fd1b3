# SPDX-License-Identifier: Apache-2.0
"""All pages on one screen, and the application made of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from chamberlain.console import assets, sign_in
from chamberlain.console.pages import account, approvals, catalog, new_request, people, request, requests, review
from chamberlain.console.rendering import redirect
from chamberlain.console.visit import (
    Call,
    Console,
    Endpoint,
    OpenPage,
    Page,
    guarded_endpoint,
    open_endpoint,
    show_error,
)
from chamberlain.http.pipeline import with_whole_paths

# Pages of signed-in users.
PAGES: Final[tuple[tuple[str, str, Page], ...]] = (
    ("GET", "/console/", catalog.show_catalog),
    ("GET", "/console/approvals/", approvals.show_approvals_page),
    ("GET", "/console/approvals/{request_id}", review.show_review),
    ("POST", "/console/approvals/{request_id}/approve", review.approve),
    ("POST", "/console/approvals/{request_id}/reject", review.reject),
    ("GET", "/console/new/{area}/{template_id}", new_request.show_form),
    ("POST", "/console/new/{area}/{template_id}", new_request.send_form),
    ("GET", "/console/people", people.find_people),
    ("GET", "/console/requests/", requests.show_requests),
    ("GET", "/console/requests/{request_id}", request.show_request),
    ("GET", "/console/requests/{request_id}/events", request.watch_request),
    ("POST", "/console/requests/{request_id}/cancel", request.cancel_request),
    ("POST", "/console/requests/{request_id}/retry", request.retry_request),
    ("GET", "/console/account/", account.show_account),
    ("POST", "/console/account/preferences", account.set_preferences),
    ("POST", "/console/account/substitute", account.name_substitute),
    ("POST", "/console/account/substitute/withdraw", account.withdraw_substitute),
    ("POST", "/console/account/sessions/end", account.end_session),
    ("POST", "/console/sign-out", sign_in.sign_out),
    ("POST", "/console/sign-out/everywhere", sign_in.sign_out_everywhere),
)
# Pages of forms with input, which show a form that was sent after the end of its session. They change nothing.
RESUMED: Final[Mapping[str, Page]] = {
    "/console/approvals/{request_id}/approve": review.resume,
    "/console/approvals/{request_id}/reject": review.resume,
    "/console/new/{area}/{template_id}": new_request.resume_form,
    "/console/account/substitute": account.resume_substitute,
}
# Pages before the sign-in.
OPEN_PAGES: Final[tuple[tuple[str, str, OpenPage], ...]] = (
    ("GET", "/console/sign-in", sign_in.show_sign_in),
    ("POST", "/console/sign-in", sign_in.begin_sign_in),
    ("GET", "/console/signed-in", sign_in.finish_sign_in),
)


def create_console(console: Console) -> ASGIApp:
    """Build the application. Its paths are whole, from /console/ on."""
    console = replace(console, paths=frozenset(path for method, path, _ in PAGES if method == "GET"))
    methods: dict[str, dict[str, Endpoint]] = {assets.PATH: {"GET": assets.serve_asset}}
    for method, path, page in PAGES:
        methods.setdefault(path, {})[method] = guarded_endpoint(
            console, page, RESUMED.get(path) if method == "POST" else None
        )
    for method, path, open_page in OPEN_PAGES:
        methods.setdefault(path, {})[method] = open_endpoint(console, open_page)
    routes = [Route(path, _Methods(console, endpoints)) for path, endpoints in methods.items()]

    async def answer_rest(scope: Scope, receive: Receive, send: Send) -> None:
        response = _other_spelling(routes, scope) or show_error(Call.of(console, Request(scope, receive)), 404)
        await response(scope, receive, send)

    async def answer_bug(request: Request, _: Exception) -> Response:
        return show_error(Call.of(console, request), 500)

    router = Router(routes, redirect_slashes=False, default=answer_rest)
    return ServerErrorMiddleware(with_whole_paths(router), handler=answer_bug)


@dataclass(frozen=True, slots=True)
class _Methods:
    """The methods of a path. HEAD exists for each GET."""

    console: Console
    endpoints: Mapping[str, Endpoint]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        is_head = request.method == "HEAD"
        endpoint = self.endpoints.get("GET" if is_head else request.method)
        if endpoint is None and request.method in ("GET", "HEAD"):
            response = _page_above(scope["path"])
        elif endpoint is None:
            response = show_error(Call.of(self.console, request), 405)
            response.headers["Allow"] = ", ".join(self._allowed())
        else:
            response = await endpoint(request)
        if is_head:
            # A stream of events would not end.
            response = _head_of(response)
        await response(scope, receive, send)

    def _allowed(self) -> Iterator[str]:
        for method in self.endpoints:
            yield method
            if method == "GET":
                yield "HEAD"


def _page_above(path: str) -> Response:
    """Redirect from the address of a form that was refused.

    Users open it again from the address bar, and browsers when they restore a tab.
    """
    return redirect(f"{quote(path.rpartition('/')[0])}/")


def _head_of(response: Response) -> Response:
    head = Response(status_code=response.status_code)
    head.raw_headers = response.raw_headers
    return head


def _other_spelling(routes: Sequence[Route], scope: Scope) -> Response | None:
    """Redirect to the page with or without a slash at the end.

    The address has no host and begins with our path, so it never leads to another site.
    """
    path: str = scope["path"]
    other = path[:-1] if path.endswith("/") else f"{path}/"
    if scope["method"] not in ("GET", "HEAD") or all(
        route.matches({**scope, "path": other})[0] is Match.NONE for route in routes
    ):
        return None
    query = scope["query_string"].decode("latin-1")
    return redirect(f"{quote(other)}{f'?{query}' if query else ''}")
