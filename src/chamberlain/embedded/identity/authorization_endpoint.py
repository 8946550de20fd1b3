# SPDX-License-Identifier: Apache-2.0
"""Authorization endpoint (RFC 6749, 4.1; OpenID Connect Core, 3.1.2)."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from urllib.parse import urlencode, urlsplit

from starlette.responses import Response

from chamberlain.embedded.identity import authorization_codes
from chamberlain.embedded.identity.authorization_request import (
    AuthorizationError,
    AuthorizationRequest,
    Prompt,
    ResponseMode,
    ResponseTarget,
    read_authorization_request,
)
from chamberlain.embedded.identity.clients import Account
from chamberlain.embedded.identity.identity_platform import IdentityPlatform, issuer_of
from chamberlain.embedded.identity.rendering import redirect, render
from chamberlain.embedded.identity.request_body import read_form
from chamberlain.embedded.identity.session import Browser, Session
from chamberlain.embedded.identity.sign_in import Fault, SignInPage, sign_in


class Step(StrEnum):
    """Response to an authorization request: page, code or error."""

    SIGN_IN = "sign_in"
    # The signed-in user confirms the account.
    CONFIRM = "confirm"
    ANSWER = "answer"
    LOGIN_REQUIRED = "login_required"
    INTERACTION_REQUIRED = "interaction_required"


_DESCRIPTIONS = {
    Step.LOGIN_REQUIRED: "No suitable user is signed in. Send the request without prompt=none.",
    Step.INTERACTION_REQUIRED: "The user has to confirm a native application. Send the request without prompt=none.",
}


@dataclass(frozen=True, slots=True)
class SignedIn:
    """User who is signed in to the tenant of the request."""

    address: str
    age: timedelta


@dataclass(frozen=True, slots=True)
class Conditions:
    """Properties of a request that decide the next step.

    `is_native` means that any program on the user's machine could send the request.
    """

    prompts: AbstractSet[Prompt]
    max_age: int | None
    login_hint: str
    is_native: bool
    mode: ResponseMode


async def show_authorize(browser: Browser) -> Response:
    """Show a page, or redirect to the client without interaction."""
    request = await _read_request(browser)
    return request if isinstance(request, Response) else await _respond(browser, request)


async def post_authorize(browser: Browser) -> Response:
    """Redirect a POST request to GET (OpenID Connect Core, 3.1.2.1).

    Browsers send no cookies with a form of another site, but they send them after the redirect.
    """
    query = urlencode(await read_form(browser.request))
    return redirect(f"{_platform_path(browser)}/{browser.tenant_id}/oauth2/v2.0/authorize?{query}")


async def submit_sign_in(browser: Browser) -> Response:
    """Process the sign-in form or the confirmation.

    The query repeats the request.
    """
    form = await browser.read_own_form()
    request = await _read_request(browser)
    if isinstance(request, Response):
        return request
    if "go_on" in form:
        return await _submit_confirmation(browser, request, form)
    page = _sign_in_page(browser, request)
    browser.require_token(form, page.purpose)
    account = await sign_in(browser, browser.tenant_id, form)
    if isinstance(account, Fault):
        return await page.show(browser, account, form.get("address", ""))
    session = await browser.begin_session(account)
    response = await _code_response(browser.platform, request, session)
    browser.set_session_cookie(response, session)
    return response


def next_step(conditions: Conditions, signed_in: SignedIn | None) -> Step:
    """Choose the response.

    A native client gets a code only after an action of the user (RFC 8252, 8.6). The action is a confirmation page, or
    the submission of the form with the response.
    """
    is_enough = signed_in is not None and _is_sufficient(conditions, signed_in)
    if Prompt.NONE in conditions.prompts:
        if not is_enough:
            return Step.LOGIN_REQUIRED
        return Step.INTERACTION_REQUIRED if conditions.is_native else Step.ANSWER
    if Prompt.LOGIN in conditions.prompts or not is_enough:
        return Step.SIGN_IN
    if conditions.prompts or (conditions.is_native and conditions.mode is not ResponseMode.FORM_POST):
        return Step.CONFIRM
    return Step.ANSWER


def _is_sufficient(conditions: Conditions, signed_in: SignedIn) -> bool:
    is_recent = conditions.max_age is None or signed_in.age <= timedelta(seconds=conditions.max_age)
    return is_recent and conditions.login_hint.lower() in ("", signed_in.address.lower())


async def _read_request(browser: Browser) -> AuthorizationRequest | Response:
    """Return the request, or the response to an invalid one."""
    try:
        return await read_authorization_request(browser.platform, browser.tenant_id, browser.request.url.query)
    except AuthorizationError as error:
        return _error_response(browser.platform, error)


async def _submit_confirmation(browser: Browser, request: AuthorizationRequest, form: dict[str, str]) -> Response:
    session = browser.require_session()
    browser.require_token(form, _confirm_purpose(session))
    # The session may be too old by now.
    if _step(browser, request) not in (Step.CONFIRM, Step.ANSWER):
        return await _respond(browser, request)
    return await _code_response(browser.platform, request, session)


async def _respond(browser: Browser, request: AuthorizationRequest) -> Response:
    session = browser.session
    match _step(browser, request):
        case Step.ANSWER if session is not None:
            return await _code_response(browser.platform, request, session)
        case Step.CONFIRM if session is not None:
            return await _confirm_page(browser, request, session)
        case Step.SIGN_IN | Step.CONFIRM | Step.ANSWER:
            return await _sign_in_page(browser, request).show(browser)
        case Step.LOGIN_REQUIRED | Step.INTERACTION_REQUIRED as step:
            error = AuthorizationError(request.target, step.value, _DESCRIPTIONS[step])
            return _error_response(browser.platform, error)


def _step(browser: Browser, request: AuthorizationRequest) -> Step:
    conditions = Conditions(
        prompts=request.prompts,
        max_age=request.max_age,
        login_hint=request.login_hint,
        is_native=request.is_of_native_client,
        mode=request.target.mode,
    )
    session = browser.session
    if session is None or session.account.tenant != browser.tenant_id:
        return next_step(conditions, None)
    return next_step(conditions, SignedIn(session.account.address, browser.platform.now() - session.began_at))


def _sign_in_page(browser: Browser, request: AuthorizationRequest) -> SignInPage:
    return SignInPage(
        action=_sign_in_path(browser, request),
        tenant_id=browser.tenant_id,
        client_name=request.target.client.name,
        purpose="sign-in",
        address=request.login_hint,
        leads_to=[request.target.redirect_uri],
    )


async def _confirm_page(browser: Browser, request: AuthorizationRequest, session: Session) -> Response:
    return browser.render_form(
        "confirm.html",
        _confirm_purpose(session),
        leads_to=[request.target.redirect_uri],
        action=_sign_in_path(browser, request),
        client_name=request.target.client.name,
        organisation=await browser.organisation(browser.tenant_id),
        account=session.account,
        other=f"authorize?{request.query_with(prompt='login', login_hint='')}",
    )


async def _code_response(platform: IdentityPlatform, request: AuthorizationRequest, session: Session) -> Response:
    """Send a code to the client (RFC 6749, 4.1.2)."""
    code = await authorization_codes.issue(
        platform,
        request.target.client,
        session.account,
        redirect_uri=request.target.redirect_uri,
        scope=request.scope,
        nonce=request.nonce,
        code_challenge=request.code_challenge,
        auth_time=session.began_at,
    )
    return _send(
        platform,
        request.target,
        {"code": code},
        account=session.account,
        again=f"authorize?{request.query_with(prompt='', max_age='', login_hint='')}",
        other=f"authorize?{request.query_with(prompt='login', login_hint='')}",
    )


def _error_response(platform: IdentityPlatform, error: AuthorizationError) -> Response:
    answer = {"error": error.error, "error_description": error.description}
    return _send(platform, error.target, answer)


def _send(
    platform: IdentityPlatform,
    target: ResponseTarget,
    answer: dict[str, str],
    *,
    account: Account | None = None,
    again: str = "",
    other: str = "",
) -> Response:
    """Send the response through the browser, with state and issuer (RFC 9207)."""
    state = {} if target.state is None else {"state": target.state}
    answer = {**answer, **state, "iss": issuer_of(platform.base_url, target.client.tenant_id)}
    match target.mode:
        case ResponseMode.QUERY:
            join = "&" if "?" in target.redirect_uri else "?"
            return redirect(f"{target.redirect_uri}{join}{urlencode(answer)}")
        case ResponseMode.FORM_POST:
            # The user submits the form, because the pages contain no scripts.
            return render(
                platform.base_url,
                "return.html",
                leads_to=[target.redirect_uri],
                action=target.redirect_uri,
                answer=answer,
                client_name=target.client.name,
                account=account,
                again=again,
                other=other,
            )


def _confirm_purpose(session: Session) -> str:
    return f"go-on:{session.digest.hex()}"


def _sign_in_path(browser: Browser, request: AuthorizationRequest) -> str:
    return f"{_platform_path(browser)}/{browser.tenant_id}/oauth2/v2.0/sign-in?{request.query}"


def _platform_path(browser: Browser) -> str:
    return urlsplit(browser.platform.base_url).path
