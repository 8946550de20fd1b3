# SPDX-License-Identifier: Apache-2.0
"""Pages to enter a user code and to allow a device.

An attacker may trick a user into entering the attacker's code. So a code in the address only fills in the form, and
the page shows application, code and account before the decision (RFC 8628, 3.3.1 and 5.4).
"""

from urllib.parse import urlsplit

from starlette.responses import Response

from chamberlain.embedded.identity import throttling
from chamberlain.embedded.identity.clients import client_by_id, find_clients
from chamberlain.embedded.identity.device_authorization import (
    PendingDevice,
    allow_device,
    deny_device,
    find_pending,
    format_user_code,
    parse_user_code,
)
from chamberlain.embedded.identity.rendering import render
from chamberlain.embedded.identity.scopes import (
    EMAIL,
    OFFLINE_ACCESS,
    OPENID,
    OPENID_SCOPES,
    PROFILE,
    user_scopes,
)
from chamberlain.embedded.identity.session import Browser, Session
from chamberlain.embedded.identity.sign_in import Fault, SignInPage, sign_in

_CODE_PURPOSE = "device-code"
_SIGN_IN_PURPOSE = "device-sign-in"
_SIGNING_IN = "signing_in"


async def show_device(browser: Browser) -> Response:
    """Show the page for the user code."""
    browser.require_users()
    code = parse_user_code(browser.request.query_params.get("user_code", ""))
    return _code_page(browser, format_user_code(code) if code else "")


async def submit_device(browser: Browser) -> Response:
    """Process one of the forms: user code, sign-in or decision."""
    form = await browser.read_own_form()
    if "decision" in form:
        return await _submit_decision(browser, form)
    # An empty password counts as not sent, so a field identifies the sign-in form.
    is_signing_in = _SIGNING_IN in form
    browser.require_token(form, _SIGN_IN_PURPOSE if is_signing_in else _CODE_PURPOSE)
    browser.require_users()
    device = await _find(browser, form.get("user_code", ""))
    if device is None:
        return _code_page(browser, form.get("user_code", ""), is_wrong=True)
    if is_signing_in:
        return await _submit_sign_in(browser, device, form)
    if browser.session is None or browser.session.account.tenant != device.tenant_id or "other" in form:
        return await _sign_in_page(browser, device).show(browser)
    return await _decision_page(browser, device, browser.session)


async def _find(browser: Browser, user_code: str) -> PendingDevice | None:
    """Find the waiting device and count wrong codes. Raises TooManyAttempts."""
    subjects = throttling.code_subjects(browser.network)
    await throttling.begin_attempt(browser.platform, subjects)
    device = await find_pending(browser.platform, user_code)
    if device is not None:
        await throttling.record_success(browser.platform, subjects)
    return device


async def _submit_sign_in(browser: Browser, device: PendingDevice, form: dict[str, str]) -> Response:
    account = await sign_in(browser, device.tenant_id, form)
    if isinstance(account, Fault):
        return await _sign_in_page(browser, device).show(browser, account, form.get("address", ""))
    session = await browser.begin_session(account)
    response = await _decision_page(browser, device, session)
    browser.set_session_cookie(response, session)
    return response


async def _submit_decision(browser: Browser, form: dict[str, str]) -> Response:
    session, code = browser.require_session(), form.get("user_code", "")
    # The token contains session and code, so it is valid only for the code that the page showed.
    browser.require_token(form, _decision_purpose(session, code))
    is_allowed = form["decision"] == "allow"
    # A signed-in user can compute the token for any code, so decisions are throttled like entered codes.
    is_done = await _find(browser, code) is not None and await (
        allow_device(browser.platform, code, session.account, session.began_at)
        if is_allowed
        else deny_device(browser.platform, code, session.account)
    )
    return render(
        browser.platform.base_url,
        "device_done.html",
        status=200 if is_done else 410,
        is_done=is_done,
        is_allowed=is_allowed,
        account=session.account,
    )


def _code_page(browser: Browser, user_code: str = "", *, is_wrong: bool = False) -> Response:
    return browser.render_form(
        "device_code.html",
        _CODE_PURPOSE,
        status=400 if is_wrong else 200,
        action=_path(browser),
        user_code=user_code,
        is_wrong=is_wrong,
    )


def _sign_in_page(browser: Browser, device: PendingDevice) -> SignInPage:
    return SignInPage(
        action=_path(browser),
        tenant_id=device.tenant_id,
        client_name=device.client_name,
        purpose=_SIGN_IN_PURPOSE,
        hidden_fields={"user_code": device.user_code, _SIGNING_IN: "1"},
    )


async def _decision_page(browser: Browser, device: PendingDevice, session: Session) -> Response:
    return browser.render_form(
        "device_decision.html",
        _decision_purpose(session, device.user_code),
        action=_path(browser),
        device=device,
        code=format_user_code(device.user_code),
        organisation=await browser.organisation(device.tenant_id),
        permissions=await _permissions(browser, device),
        account=session.account,
        code_token=browser.token(_CODE_PURPOSE),
    )


async def _permissions(browser: Browser, device: PendingDevice) -> list[str]:
    """Return the requested permissions in words.

    A permission without words is returned by its name.
    """
    client = client_by_id(await find_clients(browser.platform.pool, device.tenant_id), str(device.client_id))
    if client is None:
        return []
    scopes = user_scopes(client, " ".join(device.scopes))
    names = scopes.permissions.names if scopes.permissions is not None else ()
    words = {**browser.platform.permission_words, **_OPENID_WORDS}
    # Two scopes may have the same words.
    found = [words.get(name, name) for name in (*names, *(each for each in OPENID_SCOPES if each in scopes.openid))]
    return list(dict.fromkeys(found))


_OPENID_WORDS = {
    OPENID: "Know your name and your mail address",
    PROFILE: "Know your name and your mail address",
    EMAIL: "Know your name and your mail address",
    OFFLINE_ACCESS: "Keep this access without signing in again",
}


def _decision_purpose(session: Session, user_code: str) -> str:
    return f"device-decision:{session.digest.hex()}:{user_code}"


def _path(browser: Browser) -> str:
    return f"{urlsplit(browser.platform.base_url).path}/device"
