# SPDX-License-Identifier: Apache-2.0
"""Sign-in and sign-out at the issuer of the user's tenant.

The domain of the typed address decides the tenant. The state of a sign-in is in an encrypted cookie, bound to the
cookie of the browser, so that an answer of the issuer counts in the browser that began the sign-in only.
"""

import base64
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import msgspec
from starlette.responses import Response

from chamberlain.console.cookies import A_YEAR, ADDRESS, BROWSER, PENDING, SESSION
from chamberlain.console.formats import phrase
from chamberlain.console.issuer import Attempt, SignInFailed
from chamberlain.console.rendering import redirect
from chamberlain.console.sessions import form_token, is_secret, new_secret
from chamberlain.console.visit import (
    SIGN_IN,
    Call,
    Visit,
    has_form_token,
    read_form,
    safe_return,
    show_stale_form,
    show_texts,
)
from chamberlain.console.words import N_
from chamberlain.core.errors import Unauthenticated, Unavailable
from chamberlain.core.ids import TenantId
from chamberlain.secrets.keyring import KeysUnusable

# As long as the sign-in page of an issuer waits.
PENDING_LIFE: Final = timedelta(minutes=15)
_LONGEST_ADDRESS = 320

NO_TENANT: Final = N_("No organisation here has this address. Check the part after the @.")
NO_ISSUER: Final = N_("Sign-in is not set up for your organisation. Ask the operator of the service.")
NOT_DONE: Final = N_("The sign-in was not completed. Try again.")


class Pending(msgspec.Struct, frozen=True):
    """A sign-in that the issuer has not answered yet."""

    tenant_id: TenantId
    attempt: Attempt
    return_to: str
    begun_at: datetime


async def show_sign_in(call: Call) -> Response:
    """Show the sign-in page to a browser that keeps our cookie."""
    browser = _browser(call)
    return_to = safe_return(call.request.query_params.get("return_to"))
    if browser is not None:
        return _sign_in_page(call, browser, return_to=return_to)
    browser = new_secret()
    if not call.cookies.may_be_plain or "again" in call.request.query_params:
        response = _sign_in_page(call, browser, return_to=return_to)
        # The browser has refused the secure cookie. If it keeps both after all, the secure one counts.
        call.cookies.set_plain(response, BROWSER, browser)
    else:
        response = redirect(f"{SIGN_IN}?again=1&return_to={quote(return_to, safe='')}")
    call.cookies.set(response, BROWSER, browser)
    return response


async def begin_sign_in(call: Call) -> Response:
    """Send the browser to the issuer of the address."""
    browser, pairs = _browser(call), await read_form(call.request)
    if browser is None or not call.is_same_origin() or not has_form_token(browser, pairs):
        return show_stale_form(call)
    form = dict(pairs)
    console, address = call.console, form.get("address", "").strip()[:_LONGEST_ADDRESS]
    return_to = safe_return(form.get("return_to"))
    tenant_id = await console.sessions.tenant_of(address) if "@" in address else None
    if tenant_id is None:
        return _sign_in_page(call, browser, return_to=return_to, address=address, fault=NO_TENANT)
    provider = await console.find_provider(tenant_id)
    if provider is None:
        return _sign_in_page(call, browser, return_to=return_to, address=address, fault=NO_ISSUER)
    pending = Pending(tenant_id, Attempt.new(), return_to, console.sessions.now())
    url = await console.issuers.authorization_url(provider, pending.attempt, address)
    response = call.render("leaving.html", url=url, host=urlsplit(url).netloc)
    call.cookies.set(response, PENDING, _seal(call, browser, pending))
    call.cookies.set(response, ADDRESS, quote(address), A_YEAR)
    return response


async def finish_sign_in(call: Call) -> Response:
    """Redeem the code of the issuer, and begin a session."""
    browser, query, console = _browser(call), call.request.query_params, call.console
    pending = None if browser is None else _open(call, browser)
    if pending is None or browser is None or not pending.attempt.is_state(query.get("state", "")):
        return _failed(call)
    provider = await console.find_provider(pending.tenant_id)
    if provider is None or "code" not in query:
        return _failed(call)
    try:
        tokens = await console.issuers.redeem(provider, pending.attempt, query["code"], query.get("iss"))
        caller = await console.verify(f"Bearer {tokens.access}")
    except (SignInFailed, Unauthenticated):
        return _failed(call)
    if caller.tenant_id != pending.tenant_id or caller.user_id is None:
        return _failed(call)
    before = await console.sessions.find(call.cookies.get(SESSION))
    if before is not None:
        await console.sessions.end(before)
    name = browser_name(call.request.headers.get("user-agent", ""))
    session = await console.sessions.begin(caller.tenant_id, caller.user_id, tokens, name)
    response = redirect(pending.return_to)
    call.cookies.set(response, SESSION, session.secret)
    call.cookies.delete(response, PENDING)
    return response


async def sign_out(visit: Visit) -> Response:
    """End the session here, then at the issuer."""
    await visit.console.sessions.end(visit.session)
    return await _leave(visit)


async def sign_out_everywhere(visit: Visit) -> Response:
    """End all sessions of the user, then the one at the issuer."""
    await visit.console.sessions.end_all(visit.session)
    return await _leave(visit)


async def _leave(visit: Visit) -> Response:
    console = visit.console
    provider = await console.find_provider(visit.session.tenant_id)
    url = None
    if provider is not None:
        try:
            url = await console.issuers.sign_out_url(provider, visit.session.tokens, f"{console.url}{SIGN_IN}")
        except Unavailable:
            # The session here has ended in any case.
            url = None
    if url is None:
        response = redirect(SIGN_IN)
    else:
        response = visit.call.render("leaving.html", url=url, host=urlsplit(url).netloc)
    visit.call.cookies.delete(response, SESSION)
    return response


# Names in the header User-Agent, the more special ones first.
_BROWSERS: Final = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def browser_name(agent: str) -> str:
    """Return the names of a browser and its system."""
    browser = next((name for mark, name in _BROWSERS if mark in agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in agent), "")
    return ", ".join(each for each in (browser, system) if each)


def _browser(call: Call) -> str | None:
    found = call.cookies.get(BROWSER)
    return found if found is not None and is_secret(found) else None


def _sign_in_page(call: Call, browser: str, *, return_to: str, address: str | None = None, fault: str = "") -> Response:
    known = call.cookies.get(ADDRESS) or ""
    return call.render(
        "sign_in.html",
        400 if fault else 200,
        address=unquote(known) if address is None else address,
        fault=fault,
        form_token=form_token(browser),
        return_to=return_to,
    )


def _failed(call: Call) -> Response:
    heading = N_("You are not signed in")
    response = show_texts(call, 400, phrase(call.language, heading), phrase(call.language, NOT_DONE))
    call.cookies.delete(response, PENDING)
    return response


def _seal(call: Call, browser: str, pending: Pending) -> str:
    sealed = call.console.sessions.keyring.seal(msgspec.json.encode(pending), _context(browser))
    return base64.urlsafe_b64encode(sealed).decode().rstrip("=")


def _open(call: Call, browser: str) -> Pending | None:
    text, sessions = call.cookies.get(PENDING) or "", call.console.sessions
    try:
        sealed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        pending = msgspec.json.decode(sessions.keyring.open(sealed, _context(browser)), type=Pending)
    except (ValueError, KeysUnusable, msgspec.MsgspecError):
        return None
    return pending if sessions.now() - pending.begun_at < PENDING_LIFE else None


def _context(browser: str) -> str:
    return f"console sign-in {sha256(browser.encode()).hexdigest()}"
