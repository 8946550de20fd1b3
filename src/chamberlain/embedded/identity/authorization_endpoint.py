"""The page that programs send people to, and the forms on it (RFC 6749, 4.1; OpenID Connect Core, 3.1.2)."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from starlette.responses import RedirectResponse, Response

from chamberlain.embedded.identity import authorization_codes
from chamberlain.embedded.identity.authorization_request import (
    AuthorizationRequest,
    Prompt,
    RequestFaulty,
    ResponseMode,
    WayBack,
    read_authorization_request,
)
from chamberlain.embedded.identity.clients import Account
from chamberlain.embedded.identity.errors import FormNotOurs
from chamberlain.embedded.identity.identity_platform import IdentityPlatform, issuer_of
from chamberlain.embedded.identity.rendering import add_security_headers, render
from chamberlain.embedded.identity.request_body import read_form
from chamberlain.embedded.identity.session import Browser, Session, replace_session, set_session_cookie
from chamberlain.embedded.identity.sign_in import Fault, SignInPage, sign_in


async def answer_with_code(
    platform: IdentityPlatform, request: AuthorizationRequest, account: Account, auth_time: datetime
) -> Response:
    """A code for tokens that speak for this person, who signed in at that time."""
    code = await authorization_codes.issue(
        platform,
        request.back.client,
        account,
        redirect_uri=request.back.redirect_uri,
        scope=request.scope,
        nonce=request.nonce,
        code_challenge=request.code_challenge,
        auth_time=auth_time,
    )
    again = request.query_with(prompt="", max_age="", login_hint="")
    other = request.query_with(prompt="login", login_hint="")
    return _sent_back(
        platform, request.back, {"code": code}, account=account, again=f"authorize?{again}", other=f"authorize?{other}"
    )


def answer_with_error(platform: IdentityPlatform, fault: RequestFaulty) -> Response:
    """What is wrong with a request, for the program that sent it."""
    told = {"error": fault.error, "error_description": fault.description}
    return _sent_back(platform, fault.back, told, account=None, again="", other="")


def _sent_back(
    platform: IdentityPlatform, back: WayBack, told: dict[str, str], *, account: Account | None, again: str, other: str
) -> Response:
    state = {} if back.state is None else {"state": back.state}
    answer = {**told, **state, "iss": issuer_of(platform.base_url, back.client.tenant_id)}
    match back.mode:
        case ResponseMode.QUERY:
            join = "&" if "?" in back.redirect_uri else "?"
            # 303: whatever led here, the browser goes on by GET, and never sends a password on.
            response: Response = RedirectResponse(f"{back.redirect_uri}{join}{urlencode(answer)}", status_code=303)
            add_security_headers(response)
            return response
        case ResponseMode.FORM_POST:
            # Nothing but a script could send the form by itself, and there is none on these pages.
            return render(
                platform.base_url,
                "way_back.html",
                leads_to=[back.redirect_uri],
                action=back.redirect_uri,
                answer=answer,
                program=back.client.name,
                account=account,
                again=again,
                other=other,
            )


class Step(StrEnum):
    """What comes next."""

    SIGN_IN = "sign_in"
    # Somebody is signed in, and says whether it is the right one.
    CONFIRM = "confirm"
    ANSWER = "answer"
    LOGIN_REQUIRED = "login_required"
    INTERACTION_REQUIRED = "interaction_required"


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who is signed in, in the organisation that the program asks, and since when."""

    address: str
    age: timedelta


@dataclass(frozen=True, slots=True)
class Asked:
    """What of a request decides. `is_native`: any program on the person's machine could have sent it."""

    prompts: AbstractSet[Prompt]
    max_age: int | None
    login_hint: str
    is_native: bool
    mode: ResponseMode


def next_step(asked: Asked, signed_in: SignedIn | None) -> Step:
    """A program that may be any other gets its answer only when the person does something (RFC 8252, 8.6): on a page
    that asks, or, where the answer is a form, by sending that."""
    is_enough = signed_in is not None and _will_do(asked, signed_in)
    if Prompt.NONE in asked.prompts:
        if not is_enough:
            return Step.LOGIN_REQUIRED
        return Step.INTERACTION_REQUIRED if asked.is_native else Step.ANSWER
    if Prompt.LOGIN in asked.prompts or not is_enough:
        return Step.SIGN_IN
    if asked.prompts or (asked.is_native and asked.mode is not ResponseMode.FORM_POST):
        return Step.CONFIRM
    return Step.ANSWER


def _will_do(asked: Asked, signed_in: SignedIn) -> bool:
    is_recent = asked.max_age is None or signed_in.age <= timedelta(seconds=asked.max_age)
    return is_recent and asked.login_hint.lower() in ("", signed_in.address.lower())


# Told to the program, never seen by a person.
_WHY_NOT = {
    Step.LOGIN_REQUIRED: "Nobody is signed in who would do. Ask without prompt=none.",
    Step.INTERACTION_REQUIRED: "The person has to say yes to a program on a machine. Ask without prompt=none.",
}


async def show_authorize(visit: Browser, tenant_id: UUID) -> Response:
    """A page, or the answer when the person has nothing to do."""
    try:
        request = await read_authorization_request(visit.platform, tenant_id, visit.request.url.query)
    except RequestFaulty as fault:
        return answer_with_error(visit.platform, fault)
    return await _go_on(visit, request)


async def take_authorize(visit: Browser, tenant_id: UUID) -> Response:
    """A program may post its request (OpenID Connect Core, 3.1.2.1). It goes on as one in the address, with the cookies
    that a form of another site does not bring along."""
    response = RedirectResponse(
        f"{_platform_path(visit)}/{tenant_id}/oauth2/v2.0/authorize?{urlencode(await read_form(visit.request))}",
        status_code=303,
    )
    add_security_headers(response)
    return response


async def take_sign_in(visit: Browser, tenant_id: UUID) -> Response:
    """The form with address and password, or the one that says "it is me"; the request stands in the address again."""
    form = await visit.read_own_form()
    try:
        request = await read_authorization_request(visit.platform, tenant_id, visit.request.url.query)
    except RequestFaulty as fault:
        return answer_with_error(visit.platform, fault)
    if "go_on" in form:
        return await _take_go_on(visit, request, form)
    page = _sign_in_page(visit, request)
    visit.require_token(form, page.purpose)
    account = await sign_in(visit, tenant_id, form)
    if isinstance(account, Fault):
        return page.show(visit, account, form.get("address", ""))
    secret, session = await replace_session(visit, account)
    response = await answer_with_code(visit.platform, request, account, session.began_at)
    set_session_cookie(response, visit.platform.base_url, secret)
    return response


async def _take_go_on(visit: Browser, request: AuthorizationRequest, form: dict[str, str]) -> Response:
    if visit.session is None:
        raise FormNotOurs
    visit.require_token(form, _confirm_purpose(visit.session))
    # The session may have grown too old meanwhile.
    if _step(visit, request) not in (Step.CONFIRM, Step.ANSWER):
        return await _go_on(visit, request)
    return await answer_with_code(visit.platform, request, visit.session.account, visit.session.began_at)


async def _go_on(visit: Browser, request: AuthorizationRequest) -> Response:
    session = visit.session
    match _step(visit, request):
        case Step.ANSWER if session is not None:
            return await answer_with_code(visit.platform, request, session.account, session.began_at)
        case Step.CONFIRM if session is not None:
            return _confirm_page(visit, request, session)
        case Step.SIGN_IN | Step.CONFIRM | Step.ANSWER:
            return _sign_in_page(visit, request).show(visit)
        case Step.LOGIN_REQUIRED | Step.INTERACTION_REQUIRED as step:
            return answer_with_error(visit.platform, RequestFaulty(request.back, step.value, _WHY_NOT[step]))


def _step(visit: Browser, request: AuthorizationRequest) -> Step:
    asked = Asked(
        prompts=request.prompts,
        max_age=request.max_age,
        login_hint=request.login_hint,
        is_native=request.is_of_native_program,
        mode=request.back.mode,
    )
    session = visit.session
    if session is None or session.account.tenant != request.back.client.tenant_id:
        return next_step(asked, None)
    return next_step(asked, SignedIn(session.account.address, visit.platform.now() - session.began_at))


def _sign_in_page(visit: Browser, request: AuthorizationRequest) -> SignInPage:
    return SignInPage(
        action=_sign_in_path(visit, request),
        program=request.back.client.name,
        purpose="sign-in",
        address=request.login_hint,
        leads_to=[request.back.redirect_uri],
    )


def _confirm_page(visit: Browser, request: AuthorizationRequest, session: Session) -> Response:
    response = render(
        visit.platform.base_url,
        "confirm.html",
        leads_to=[request.back.redirect_uri],
        action=_sign_in_path(visit, request),
        program=request.back.client.name,
        account=session.account,
        other=f"authorize?{request.query_with(prompt='login', login_hint='')}",
        form_token=visit.token(_confirm_purpose(session)),
    )
    visit.keep_form_key(response)
    return response


def _confirm_purpose(session: Session) -> str:
    return f"go-on:{session.digest.hex()}"


def _sign_in_path(visit: Browser, request: AuthorizationRequest) -> str:
    return f"{_platform_path(visit)}/{request.back.client.tenant_id}/oauth2/v2.0/sign-in?{request.query}"


def _platform_path(visit: Browser) -> str:
    return urlsplit(visit.platform.base_url).path
