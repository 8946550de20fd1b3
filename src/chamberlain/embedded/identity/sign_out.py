"""Signing out (OpenID Connect RP-Initiated Logout 1.0): the session ends; programs keep the tokens that they have."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from starlette.responses import RedirectResponse, Response

from chamberlain.embedded.identity import session as identity_session
from chamberlain.embedded.identity.clients import RegisteredClient, find_clients, is_registered_redirect
from chamberlain.embedded.identity.errors import FormNotOurs, NothingThere, RequestNotOurs
from chamberlain.embedded.identity.rendering import add_security_headers, render
from chamberlain.embedded.identity.request_body import read_form
from chamberlain.embedded.identity.session import Browser, Session, delete_session_cookie
from chamberlain.embedded.identity.tokens import Hint, read_hint


@dataclass(frozen=True, slots=True)
class _Asked:
    """`goes_to` is where the browser goes in the end, a registered address, or None."""

    hint: Hint | None
    goes_to: str | None
    parameters: Mapping[str, str]


async def show_sign_out(visit: Browser, tenant_id: UUID) -> Response:
    """Sign out whom the program's token names; without such a token the person is asked: any site can lead here."""
    asked = await _read(visit, tenant_id, dict(visit.request.query_params))
    session = visit.session
    if session is None:
        return await _sign_out(visit, asked)
    if asked.hint is not None and asked.hint.account_id == session.account.id:
        return await _sign_out(visit, asked)
    return _question(visit, tenant_id, asked, session)


async def take_sign_out(visit: Browser, tenant_id: UUID) -> Response:
    """A program may post its request (RP-Initiated Logout 1.0, 2). It goes on as one in the address."""
    response = RedirectResponse(f"{_path(visit, tenant_id)}/logout?{urlencode(await read_form(visit.request))}", 303)
    add_security_headers(response)
    return response


async def take_sign_out_answer(visit: Browser, tenant_id: UUID) -> Response:
    """The person says yes; the request stands in the address again."""
    form = await visit.read_own_form()
    if visit.session is None:
        raise FormNotOurs
    visit.require_token(form, _purpose(visit.session))
    return await _sign_out(visit, await _read(visit, tenant_id, dict(visit.request.query_params)))


async def _read(visit: Browser, tenant_id: UUID, parameters: Mapping[str, str]) -> _Asked:
    clients = await find_clients(visit.platform.pool, tenant_id)
    if not clients:
        raise NothingThere
    hint = await read_hint(visit.platform, tenant_id, parameters.get("id_token_hint", ""))
    named = parameters.get("client_id", "").lower() or (hint.client_id if hint is not None else "")
    if hint is not None and hint.client_id != named:
        raise RequestNotOurs("The program (client_id) is not the one that id_token_hint was made for.")
    client = next((each for each in clients if str(each.id) == named), None)
    return _Asked(hint, _goes_to(client, parameters), parameters)


def _goes_to(client: RegisteredClient | None, parameters: Mapping[str, str]) -> str | None:
    address, state = parameters.get("post_logout_redirect_uri"), parameters.get("state")
    if not address:
        return None
    if client is None or not is_registered_redirect(client.redirect_uris, address):
        raise RequestNotOurs(
            "The address to go to afterwards (post_logout_redirect_uri) is not registered with the program, or the "
            "program is not named (client_id or id_token_hint). Nobody is sent there."
        )
    if not state:
        return address
    return f"{address}{'&' if '?' in address else '?'}{urlencode({'state': state})}"


async def _sign_out(visit: Browser, asked: _Asked) -> Response:
    await identity_session.end_session(visit.platform, visit.session_secret)
    if asked.goes_to is None:
        response = render(visit.platform.base_url, "signed_out.html")
    else:
        response = RedirectResponse(asked.goes_to, 303)
        add_security_headers(response)
    delete_session_cookie(response, visit.platform.base_url)
    return response


def _question(visit: Browser, tenant_id: UUID, asked: _Asked, session: Session) -> Response:
    response = render(
        visit.platform.base_url,
        "sign_out.html",
        leads_to=[] if asked.goes_to is None else [asked.goes_to],
        action=f"{_path(visit, tenant_id)}/sign-out?{urlencode(asked.parameters)}",
        account=session.account,
        form_token=visit.token(_purpose(session)),
    )
    visit.keep_form_key(response)
    return response


def _purpose(session: Session) -> str:
    return f"sign-out:{session.digest.hex()}"


def _path(visit: Browser, tenant_id: UUID) -> str:
    return f"{urlsplit(visit.platform.base_url).path}/{tenant_id}/oauth2/v2.0"
