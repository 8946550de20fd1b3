"""The page that programs send people to, and the forms on it (RFC 6749, 4.1; OpenID Connect Core, 3.1.2)."""

from urllib.parse import urlencode, urlsplit
from uuid import UUID

from starlette.responses import RedirectResponse, Response

from chamberlain.embedded.identity.authorization_answer import answer_with_code, answer_with_error
from chamberlain.embedded.identity.authorization_request import (
    AuthorizationRequest,
    RequestFaulty,
    read_authorization_request,
)
from chamberlain.embedded.identity.bodies import read_form
from chamberlain.embedded.identity.page import protect, render
from chamberlain.embedded.identity.page_refusals import FormNotOurs
from chamberlain.embedded.identity.sessions import Session
from chamberlain.embedded.identity.sign_in import Fault, SignInPage, sign_in
from chamberlain.embedded.identity.sign_in_steps import Asked, SignedIn, Step, next_step
from chamberlain.embedded.identity.visits import Visit, begin_session, keep_session

# Told to the program, never seen by a person.
_WHY_NOT = {
    Step.LOGIN_REQUIRED: "Nobody is signed in who would do. Ask without prompt=none.",
    Step.INTERACTION_REQUIRED: "The person has to say yes to a program on a machine. Ask without prompt=none.",
}


async def show_authorize(visit: Visit, tenant_id: UUID) -> Response:
    """A page, or the answer when the person has nothing to do."""
    try:
        request = await read_authorization_request(visit.platform, tenant_id, visit.request.url.query)
    except RequestFaulty as fault:
        return answer_with_error(visit.platform, fault)
    return await _go_on(visit, request)


async def take_authorize(visit: Visit, tenant_id: UUID) -> Response:
    """A program may post its request (OpenID Connect Core, 3.1.2.1). It goes on as one in the address, with the cookies
    that a form of another site does not bring along."""
    response = RedirectResponse(
        f"{_platform_path(visit)}/{tenant_id}/oauth2/v2.0/authorize?{urlencode(await read_form(visit.request))}",
        status_code=303,
    )
    protect(response)
    return response


async def take_sign_in(visit: Visit, tenant_id: UUID) -> Response:
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
    secret, session = await begin_session(visit, account)
    response = await answer_with_code(visit.platform, request, account, session.began_at)
    keep_session(response, visit.platform.base_url, secret)
    return response


async def _take_go_on(visit: Visit, request: AuthorizationRequest, form: dict[str, str]) -> Response:
    if visit.session is None:
        raise FormNotOurs
    visit.require_token(form, _confirm_purpose(visit.session))
    # The session may have grown too old meanwhile.
    if _step(visit, request) not in (Step.CONFIRM, Step.ANSWER):
        return await _go_on(visit, request)
    return await answer_with_code(visit.platform, request, visit.session.account, visit.session.began_at)


async def _go_on(visit: Visit, request: AuthorizationRequest) -> Response:
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


def _step(visit: Visit, request: AuthorizationRequest) -> Step:
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


def _sign_in_page(visit: Visit, request: AuthorizationRequest) -> SignInPage:
    return SignInPage(
        action=_sign_in_path(visit, request),
        program=request.back.client.name,
        purpose="sign-in",
        address=request.login_hint,
        leads_to=[request.back.redirect_uri],
    )


def _confirm_page(visit: Visit, request: AuthorizationRequest, session: Session) -> Response:
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


def _sign_in_path(visit: Visit, request: AuthorizationRequest) -> str:
    return f"{_platform_path(visit)}/{request.back.client.tenant_id}/oauth2/v2.0/sign-in?{request.query}"


def _platform_path(visit: Visit) -> str:
    return urlsplit(visit.platform.base_url).path
