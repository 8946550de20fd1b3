"""What a program gets for its request, by way of the browser (RFC 6749, 4.1.2; RFC 9207): a code, or an error."""

from datetime import datetime
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from chamberlain.embedded.identity import authorization_codes
from chamberlain.embedded.identity.authorization_request import (
    AuthorizationRequest,
    RequestFaulty,
    ResponseMode,
    WayBack,
)
from chamberlain.embedded.identity.estate import Account
from chamberlain.embedded.identity.identity_platform import IdentityPlatform, issuer_of
from chamberlain.embedded.identity.page import protect, render


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
            protect(response)
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
