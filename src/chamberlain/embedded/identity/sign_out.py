# SPDX-License-Identifier: Apache-2.0
"""Sign-out (OpenID Connect RP-Initiated Logout 1.0).

It ends the session. Clients keep their tokens.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from starlette.responses import Response

from chamberlain.embedded.identity.clients import (
    RegisteredClient,
    client_by_id,
    find_clients,
    is_registered_redirect,
)
from chamberlain.embedded.identity.errors import ClientRequestInvalid, TenantUnknown
from chamberlain.embedded.identity.rendering import redirect, render
from chamberlain.embedded.identity.request_body import read_form
from chamberlain.embedded.identity.session import Browser, Session
from chamberlain.embedded.identity.tokens import IdTokenHint, read_id_token_hint


@dataclass(frozen=True, slots=True)
class _Request:
    """Request with the registered redirect URI and state, or None."""

    hint: IdTokenHint | None
    target: str | None
    parameters: Mapping[str, str]


async def show_sign_out(browser: Browser) -> Response:
    """Sign out the user of the id_token_hint.

    Without a hint ask the user first, because any site can link here.
    """
    request, session = await _read_request(browser), browser.session
    if session is None or (request.hint is not None and request.hint.account_id == session.account.id):
        return await _sign_out(browser, request)
    return browser.render_form(
        "sign_out.html",
        _purpose(session),
        leads_to=[] if request.target is None else [request.target],
        action=f"{_path(browser)}/sign-out?{urlencode(request.parameters)}",
        account=session.account,
        organisation=await browser.organisation(session.account.tenant),
    )


async def post_sign_out(browser: Browser) -> Response:
    """Redirect a POST request to GET (RP-Initiated Logout 1.0, 2)."""
    return redirect(f"{_path(browser)}/logout?{urlencode(await read_form(browser.request))}")


async def confirm_sign_out(browser: Browser) -> Response:
    """Process the confirmation of the user. The query repeats the request."""
    form = await browser.read_own_form()
    browser.require_token(form, _purpose(browser.require_session()))
    return await _sign_out(browser, await _read_request(browser))


async def _read_request(browser: Browser) -> _Request:
    parameters = dict(browser.request.query_params)
    clients = await find_clients(browser.platform.pool, browser.tenant_id)
    if not clients:
        raise TenantUnknown
    hint = await read_id_token_hint(browser.platform, browser.tenant_id, parameters.get("id_token_hint", ""))
    client_id = parameters.get("client_id", "").lower() or (hint.client_id if hint is not None else "")
    if hint is not None and hint.client_id != client_id:
        raise ClientRequestInvalid("The id_token_hint was issued to another application than client_id.")
    return _Request(hint, _target(client_by_id(clients, client_id), parameters), parameters)


def _target(client: RegisteredClient | None, parameters: Mapping[str, str]) -> str | None:
    address, state = parameters.get("post_logout_redirect_uri"), parameters.get("state")
    if not address:
        return None
    if client is None or not is_registered_redirect(client.redirect_uris, address):
        raise ClientRequestInvalid(
            "The post_logout_redirect_uri is not registered for the application, or client_id and id_token_hint are "
            "missing. The operator of the application must correct it."
        )
    if not state:
        return address
    return f"{address}{'&' if '?' in address else '?'}{urlencode({'state': state})}"


async def _sign_out(browser: Browser, request: _Request) -> Response:
    await browser.end_session()
    if request.target is None:
        response = render(browser.platform.base_url, "signed_out.html")
    else:
        response = redirect(request.target)
    browser.delete_session_cookie(response)
    return response


def _purpose(session: Session) -> str:
    return f"sign-out:{session.digest.hex()}"


def _path(browser: Browser) -> str:
    return f"{urlsplit(browser.platform.base_url).path}/{browser.tenant_id}/oauth2/v2.0"
