# SPDX-License-Identifier: Apache-2.0
"""All pages on one screen, and the application made of them."""

from dataclasses import replace
from typing import Final, NamedTuple

from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from chamberlain.console import assets, sign_in
from chamberlain.console.pages import account, home
from chamberlain.console.visit import Call, Console, OpenPage, Page, guarded_endpoint, open_endpoint, show_error

# Pages of signed-in users.
PAGES: Final[tuple[tuple[str, str, Page], ...]] = (
    ("GET", "/console/", home.show_home),
    ("GET", "/console/account/", account.show_account),
    ("POST", "/console/account/preferences", account.set_preferences),
    ("POST", "/console/account/sessions/end", account.end_session),
    ("POST", "/console/sign-out", sign_in.sign_out),
    ("POST", "/console/sign-out/everywhere", sign_in.sign_out_everywhere),
)
# Pages before the sign-in.
OPEN_PAGES: Final[tuple[tuple[str, str, OpenPage], ...]] = (
    ("GET", "/console/sign-in", sign_in.show_sign_in),
    ("POST", "/console/sign-in", sign_in.begin_sign_in),
    ("GET", "/console/signed-in", sign_in.finish_sign_in),
)


class Measured(NamedTuple):
    """A route below the mount, for metrics and traces."""

    path_format: str


def create_console(console: Console) -> ASGIApp:
    """Build the application. Its paths are whole, from /console/ on."""
    console = replace(console, paths=frozenset(path for method, path, _ in PAGES if method == "GET"))
    routes: list[BaseRoute] = [
        *(Route(path, guarded_endpoint(console, page), methods=[method]) for method, path, page in PAGES),
        *(Route(path, open_endpoint(console, page), methods=[method]) for method, path, page in OPEN_PAGES),
        Route(assets.PATH, assets.serve_asset, methods=["GET"]),
    ]

    async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
        response = show_error(Call.of(console, Request(scope, receive)), 404)
        await response(scope, receive, send)

    async def answer_bug(request: Request, _: Exception) -> Response:
        return show_error(Call.of(console, request), 500)

    router = Router(routes, redirect_slashes=True, default=not_found)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        inner: Scope = {**scope, "root_path": ""}
        try:
            await router(inner, receive, send)
        finally:
            if (route := inner.get("route")) is not None:
                scope["route"] = Measured(route.path_format.removeprefix("/console"))

    return ServerErrorMiddleware(application, handler=answer_bug)
