"""Where somebody types the code that a program shows on another screen, and lets it in or sends it away.

Whoever tricks somebody into typing a foreign code gets in with it. So no address brings the code along, and the page
names the program, the code and the person before anything is allowed (RFC 8628, 3.3 and 5.4).
"""

from urllib.parse import urlsplit

from starlette.responses import Response

from chamberlain.embedded.identity import device_authorization, throttling
from chamberlain.embedded.identity.device_authorization import PendingDevice, format_user_code
from chamberlain.embedded.identity.errors import FormNotOurs, NobodySignsIn
from chamberlain.embedded.identity.rendering import render
from chamberlain.embedded.identity.session import Browser, Session, replace_session, set_session_cookie
from chamberlain.embedded.identity.sign_in import Fault, SignInPage, sign_in

_CODE_PURPOSE = "device-code"
_SIGN_IN_PURPOSE = "device-sign-in"
_SIGNING_IN = "signing_in"


async def show_device(visit: Browser) -> Response:
    """The page that asks for the code."""
    if not visit.platform.serves_people:
        raise NobodySignsIn
    return _code_page(visit)


async def take_device(visit: Browser) -> Response:
    """The code that was typed, or what was decided about it."""
    form = await visit.read_own_form()
    if "decision" in form:
        return await _take_decision(visit, form)
    # An empty password counts as not sent, so it cannot tell which form this is.
    is_signing_in = _SIGNING_IN in form
    visit.require_token(form, _SIGN_IN_PURPOSE if is_signing_in else _CODE_PURPOSE)
    if not visit.platform.serves_people:
        raise NobodySignsIn
    device = await _find(visit, form.get("user_code", ""))
    if device is None:
        return _code_page(visit, form.get("user_code", ""), is_wrong=True)
    if is_signing_in:
        return await _take_sign_in(visit, device, form)
    if visit.session is None or visit.session.account.tenant != device.tenant_id or "other" in form:
        return _sign_in_page(visit, device).show(visit)
    return _decision_page(visit, device, visit.session)


async def _find(visit: Browser, typed: str) -> PendingDevice | None:
    """The program that shows this code; wrong ones are counted. Raises TooManyAttempts."""
    counted = throttling.code_subjects(visit.network)
    await throttling.begin_attempt(visit.platform, counted)
    device = await device_authorization.find_pending(visit.platform, typed)
    if device is not None:
        await throttling.record_success(visit.platform, counted)
    return device


async def _take_sign_in(visit: Browser, device: PendingDevice, form: dict[str, str]) -> Response:
    account = await sign_in(visit, device.tenant_id, form)
    if isinstance(account, Fault):
        return _sign_in_page(visit, device).show(visit, account, form.get("address", ""))
    secret, session = await replace_session(visit, account)
    response = _decision_page(visit, device, session)
    set_session_cookie(response, visit.platform.base_url, secret)
    return response


async def _take_decision(visit: Browser, form: dict[str, str]) -> Response:
    session, code = visit.session, form.get("user_code", "")
    if session is None:
        raise FormNotOurs
    # The token names session and code, so nobody is made to allow another one than the page showed.
    visit.require_token(form, _decision_purpose(session, code))
    is_allowed = form["decision"] == "allow"
    # Who is signed in can work out the token for any code, so this would be a way to guess without being counted.
    is_done = await _find(visit, code) is not None and await _decide(visit, session, code, is_allowed=is_allowed)
    return render(
        visit.platform.base_url,
        "device_done.html",
        status=200 if is_done else 410,
        is_done=is_done,
        is_allowed=is_allowed,
        account=session.account,
    )


async def _decide(visit: Browser, session: Session, code: str, *, is_allowed: bool) -> bool:
    if is_allowed:
        return await device_authorization.allow_device(visit.platform, code, session.account, session.began_at)
    return await device_authorization.deny_device(visit.platform, code, session.account)


def _code_page(visit: Browser, typed: str = "", *, is_wrong: bool = False) -> Response:
    response = render(
        visit.platform.base_url,
        "device_code.html",
        status=400 if is_wrong else 200,
        action=_path(visit),
        user_code=typed,
        is_wrong=is_wrong,
        form_token=visit.token(_CODE_PURPOSE),
    )
    visit.keep_form_key(response)
    return response


def _sign_in_page(visit: Browser, device: PendingDevice) -> SignInPage:
    return SignInPage(
        action=_path(visit),
        program=device.client_name,
        purpose=_SIGN_IN_PURPOSE,
        kept={"user_code": device.user_code, _SIGNING_IN: "1"},
    )


def _decision_page(visit: Browser, device: PendingDevice, session: Session) -> Response:
    response = render(
        visit.platform.base_url,
        "device_decision.html",
        action=_path(visit),
        device=device,
        code=format_user_code(device.user_code),
        account=session.account,
        form_token=visit.token(_decision_purpose(session, device.user_code)),
        code_token=visit.token(_CODE_PURPOSE),
    )
    visit.keep_form_key(response)
    return response


def _decision_purpose(session: Session, user_code: str) -> str:
    return f"device-decision:{session.digest.hex()}:{user_code}"


def _path(visit: Browser) -> str:
    return f"{urlsplit(visit.platform.base_url).path}/device"
