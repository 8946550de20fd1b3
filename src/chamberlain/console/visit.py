# SPDX-License-Identifier: Apache-2.0
"""The guard of all pages: session, caller, language, form, CSRF token.

A handler gets a Visit, so it runs for signed-in users only. Its forms come from our own pages. The few pages before the
sign-in get a Call. A form with input that is sent after the end of its session keeps the input: the user signs in, and
sends it again. A handler of its own shows such a form, so nothing happens without a valid token.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit
from uuid import UUID

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import Caller, Edit
from chamberlain.console import navigation
from chamberlain.console.cookies import BROWSER, LANGUAGE, SESSION, THEME, Cookies
from chamberlain.console.formats import phrase
from chamberlain.console.forms import Pairs
from chamberlain.console.issuer import Issuers, Provider
from chamberlain.console.models import Session
from chamberlain.console.refusals import REFUSALS, refusal_heading, refusal_text
from chamberlain.console.rendering import redirect, render
from chamberlain.console.sessions import Sessions, form_token, is_form_token, is_secret, new_secret
from chamberlain.console.words import N_, choose_language, load_catalogue
from chamberlain.core.errors import NotFound, Refusal, Unauthenticated
from chamberlain.core.idempotency import Act
from chamberlain.core.ids import WRITTEN_ID, RequestId, TenantId, TraceId
from chamberlain.http.pipeline import TRACE_ID
from chamberlain.http.problems import BUG, kind_of, retry_after
from chamberlain.http.responses import Streams
from chamberlain.me.models import MOST_TO_DECIDE
from chamberlain.requests.service import RequestService

START: Final = "/console/"
SIGN_IN: Final = "/console/sign-in"
THEMES: Final = ("device", "light", "dark")
TOKEN_FIELD: Final = "form_token"  # noqa: S105 - the name of a field.
FORM: Final = "application/x-www-form-urlencoded"

NOT_FOUND: Final = 404
# A group of 5,000 owners and members has 400 KiB.
_LARGEST_FORM = 1024 * 1024
_MOST_FIELDS = 12_000
# The server has no timeout of its own for a body.
_FORM_WITHIN_SECONDS = 30
_LONGEST_RETURN = 2000
# No empty segment, no dots at the start of one, and no escapes: a path means the same to every browser and proxy.
_SEGMENT = "[A-Za-z0-9_~-][A-Za-z0-9._~-]*"
_OWN_PATH = re.compile(rf"/console/(?:{_SEGMENT}(?:/{_SEGMENT})*/?)?(?:\?[A-Za-z0-9._~%&=+,:@/-]*)?")

Service = TypeVar("Service")


@dataclass(frozen=True, slots=True)
class Console:
    """All that the pages need.

    `services` and `streams` are those of the API. `url` is the origin of the console. `paths` are those of its pages.
    `find_provider` finds the issuer of a tenant, None for a tenant without one.
    """

    url: str
    services: Sequence[object]
    sessions: Sessions
    issuers: Issuers
    find_provider: Callable[[TenantId], Awaitable[Provider | None]]
    verify: Callable[[str | None], Awaitable[Caller]]
    authorization: Authorization
    streams: Streams
    paths: Collection[str]

    def service(self, kind: type[Service]) -> Service:
        """Return the service of a noun."""
        return next(each for each in self.services if isinstance(each, kind))


@dataclass(frozen=True, slots=True)
class Call:
    """A call for a page, before anything is known of a user."""

    console: Console
    request: Request
    cookies: Cookies
    language: str
    theme: str

    @classmethod
    def of(cls, console: Console, request: Request) -> "Call":
        """Read cookies and languages of a request."""
        cookies = Cookies.read(console.url, request.headers.getlist("cookie"))
        theme = cookies.get(THEME)
        language = choose_language(cookies.get(LANGUAGE), request.headers.get("accept-language", ""))
        return cls(console, request, cookies, language, theme if theme in THEMES else THEMES[0])

    def render(self, template: str, status: int = 200, /, **values: object) -> Response:
        """Render a page without navigation."""
        return render(self.language, template, status, theme=self.theme, **values)

    def is_same_origin(self) -> bool:
        """Return whether a form comes from our own pages.

        Browsers that send no referrer send the origin `null`. Sec-Fetch-Site decides then; older browsers omit it.
        """
        site, origin = self.request.headers.get("sec-fetch-site"), self.request.headers.get("origin")
        if site is not None:
            return site == "same-origin"
        return origin in (None, "null", self.console.url)

    @property
    def names_own_origin(self) -> bool:
        """Return whether the browser itself names our own origin."""
        return self.request.headers.get("sec-fetch-site") == "same-origin"

    @property
    def wants_part(self) -> bool:
        """Return whether the module asks for a part of a page."""
        return self.request.headers.get("x-part") is not None


@dataclass(frozen=True, slots=True)
class Visit:
    """A call of a signed-in user.

    `form` has the fields of a form in their order. `is_resumed` means that the form has no valid token. `to_decide` is
    the number of requests that wait for the user's decision, at most MOST_TO_DECIDE.
    """

    call: Call
    session: Session
    caller: Caller
    name: str
    is_administrator: bool
    form: Pairs = field(default=())
    is_resumed: bool = False
    to_decide: int = 0

    @property
    def console(self) -> Console:
        """Return the console of the page."""
        return self.call.console

    @property
    def request(self) -> Request:
        """Return the request of the browser."""
        return self.call.request

    @property
    def language(self) -> str:
        """Return the language of the page."""
        return self.call.language

    @property
    def trace_id(self) -> TraceId:
        """Return the trace id of the call."""
        return TraceId(self.request.scope[TRACE_ID])

    @property
    def client_address(self) -> str | None:
        """Return the address of the browser, for the audit trail."""
        client = self.request.client
        return None if client is None else client.host

    @property
    def request_id(self) -> RequestId:
        """Return the id of the request in the address."""
        written = str(self.request.path_params["request_id"])
        if not WRITTEN_ID.fullmatch(written):
            raise NotFound("There is no such request, or it is not yours to read.")
        return RequestId(UUID(written))

    def act(self, comment: str | None = None) -> Act:
        """Return the act of a form, with a comment."""
        return Act(comment, None, self.trace_id, self.client_address)

    def edit(self) -> Edit:
        """Return the edit of a form, of any version."""
        return Edit(None, self.trace_id, self.client_address)

    def service(self, kind: type[Service]) -> Service:
        """Return the service of a noun. Pages call services only."""
        return self.console.service(kind)

    def value(self, name: str) -> str:
        """Return a field of the form; empty if it was not sent."""
        return next((value for key, value in self.form if key == name), "")

    def translate(self, message: str) -> str:
        """Translate a message that N_ has marked."""
        return load_catalogue(self.language).gettext(message)

    def render(self, template: str, status: int = 200, /, **values: object) -> Response:
        """Render a page with navigation."""
        path = self.request.scope["path"]
        return self.call.render(
            template,
            status,
            name=self.name,
            path=path,
            form_token=form_token(self.session.secret),
            entries=navigation.entries(self.console.paths),
            administration=navigation.administration(self.console.paths) if self.is_administrator else (),
            badges={navigation.APPROVALS.path: self.to_decide},
            to_decide=self.to_decide,
            is_resumed=self.is_resumed,
            **values,
        )


Page = Callable[[Visit], Awaitable[Response]]
OpenPage = Callable[[Call], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


def open_endpoint(console: Console, page: OpenPage) -> Endpoint:
    """Serve a page to everybody."""

    async def answer(request: Request) -> Response:
        call = Call.of(console, request)
        if (elsewhere := _canonical(call)) is not None:
            return elsewhere
        try:
            return await page(call)
        except Refusal as refusal:
            return show_refusal(call, refusal)

    return answer


def guarded_endpoint(console: Console, page: Page, resume: Page | None = None) -> Endpoint:
    """Serve a page to signed-in users.

    `resume` shows a form with input whose token belongs to an earlier session. It must change nothing.
    """

    async def answer(request: Request) -> Response:
        call = Call.of(console, request)
        if (elsewhere := _canonical(call)) is not None:
            return elsewhere
        try:
            visit = await _admit(call, has_input=resume is not None)
        except Refusal as refusal:
            return show_refusal(call, refusal)
        if isinstance(visit, Response):
            return visit
        try:
            response = await (resume if resume is not None and visit.is_resumed else page)(visit)
        except Refusal as refusal:
            response = show_refusal(visit, refusal)
        if call.cookies.is_plain:
            # A browser that accepts it never shows a planted session again.
            _probe(call, response)
        return response

    return answer


async def _admit(call: Call, *, has_input: bool) -> Visit | Response:
    """Return the visit, or the answer to a refused call.

    `has_input` means that users type values into the form of the page.
    """
    sessions = call.console.sessions
    session = await sessions.find(call.cookies.get(SESSION))
    if session is None:
        return await _signed_out(call, has_input=has_input)
    if sessions.is_due(session):
        renewed = await _refresh(call.console, session)
        if renewed is None:
            return await _end(call, session, has_input=has_input)
        session = renewed
    try:
        caller = await call.console.verify(f"Bearer {session.tokens.access}")
    except Unauthenticated:
        return await _end(call, session, has_input=has_input)
    if (caller.tenant_id, caller.user_id) != (session.tenant_id, session.user_id):
        return await _end(call, session, has_input=has_input)
    form: Pairs = ()
    is_resumed = False
    if call.request.method not in ("GET", "HEAD"):
        form = await read_form(call.request)
        if not call.is_same_origin() or not has_form_token(session.secret, form):
            is_resumed = has_input and call.names_own_origin and bool(form)
            if not is_resumed:
                return show_stale_form(call)
    authorization = call.console.authorization
    return Visit(
        call=call,
        session=session,
        caller=caller,
        name=(await authorization.actor(caller)).display_name,
        is_administrator=await authorization.administers(caller),
        form=form,
        is_resumed=is_resumed,
        to_decide=await _count_to_decide(call, caller),
    )


async def _count_to_decide(call: Call, caller: Caller) -> int:
    """Count the requests that wait for the user's decision.

    Data for scripts has no navigation, so nothing is counted.
    """
    if call.wants_part or call.request.headers.get("sec-fetch-dest") == "empty":
        return 0
    return await call.console.service(RequestService).count_to_decide(caller, most=MOST_TO_DECIDE)


async def _refresh(console: Console, session: Session) -> Session | None:
    provider = await console.find_provider(session.tenant_id)
    if provider is None:
        return None
    return await console.sessions.refresh(session, lambda tokens: console.issuers.renew(provider, tokens))


async def read_form(request: Request) -> Pairs:
    """Read the fields of a form.

    A form that is unreadable or too large has none.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        return ()
    body = bytearray()
    try:
        async with asyncio.timeout(_FORM_WITHIN_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > _LARGEST_FORM:
                    return ()
        text = body.decode("utf-8")
        form = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except (TimeoutError, ClientDisconnect, ValueError):
        return ()
    # No keyboard types it, and PostgreSQL has no text with it.
    return () if any("\0" in value for _, value in form) else form


def has_form_token(secret: str, form: Pairs) -> bool:
    """Return whether a form has exactly one token, that of a secret."""
    tokens = [value for name, value in form if name == TOKEN_FIELD]
    return len(tokens) == 1 and is_form_token(secret, tokens[0])


def safe_return(path: str | None) -> str:
    """Return a path below /console/ to go to after the sign-in.

    Any other address becomes that of the start page. Browsers read a backslash as a slash, and drop line breaks.
    """
    if path is None or len(path) > _LONGEST_RETURN:
        return START
    return path if _OWN_PATH.fullmatch(path) else START


def show_refusal(place: Call | Visit, refusal: Refusal) -> Response:
    """Show the page of a refused call."""
    heading, text = refusal_heading(place.language, refusal), refusal_text(place.language, refusal)
    response = show_texts(place, kind_of(type(refusal)).status, heading, text)
    if (seconds := retry_after(refusal)) is not None:
        response.headers["Retry-After"] = str(seconds)
    return response


def show_error(place: Call | Visit, status: int) -> Response:
    """Show the page of an unknown address, or of a bug."""
    code = NotFound("").code if status == NOT_FOUND else BUG
    return show_texts(place, status, *(phrase(place.language, each) for each in REFUSALS[code]))


def show_texts(place: Call | Visit, status: int, heading: str, text: str) -> Response:
    """Show an error page, with navigation to signed-in users."""
    template = "error.html" if isinstance(place, Visit) else "open_error.html"
    return place.render(template, status, heading=heading, text=text)


def show_stale_form(call: Call) -> Response:
    """Show the page of a form that is foreign or too old."""
    heading, text = N_("This page has expired"), N_("Nothing was changed. Reload the page and send the form again.")
    return show_texts(call, 403, phrase(call.language, heading), phrase(call.language, text))


def _canonical(call: Call) -> Response | None:
    """Redirect to the address of the console.

    A sign-in ends there, and cookies of another host would be lost.
    """
    request, parts = call.request, urlsplit(call.console.url)
    if request.headers.get("host", "").lower() == parts.netloc.lower() or request.method not in ("GET", "HEAD"):
        return None
    query = f"?{request.url.query}" if request.url.query else ""
    return redirect(f"{call.console.url}{quote(request.scope['path'])}{query}")


async def _signed_out(call: Call, *, has_input: bool) -> Response:
    """Lead to the sign-in, and keep the input of own forms.

    The page has the fields without their token. The user signs in in another tab, and sends them again from here.
    """
    form = await read_form(call.request) if has_input and call.names_own_origin else ()
    fields = [(name, value) for name, value in form if name != TOKEN_FIELD]
    if not fields:
        return _to_sign_in(call)
    if call.wants_part:
        return render(call.language, "preview_signed_out.html", 401, sign_in=SIGN_IN)
    return call.render("signed_out.html", 401, path=quote(call.request.scope["path"]), fields=fields, sign_in=SIGN_IN)


def _to_sign_in(call: Call) -> Response:
    request = call.request
    query = f"?{request.url.query}" if request.url.query else ""
    path = safe_return(f"{request.scope['path']}{query}") if request.method in ("GET", "HEAD") else START
    return redirect(SIGN_IN if path == START else f"{SIGN_IN}?return_to={quote(path, safe='')}")


async def _end(call: Call, session: Session, *, has_input: bool) -> Response:
    await call.console.sessions.end(session)
    response = await _signed_out(call, has_input=has_input)
    call.cookies.delete(response, SESSION)
    return response


def _probe(call: Call, response: Response) -> None:
    known = call.cookies.get(BROWSER)
    Cookies.set(_secure(call.cookies), response, BROWSER, known if known and is_secret(known) else new_secret())


def _secure(cookies: Cookies) -> Cookies:
    return Cookies(cookies.values, cookies.port, cookies.may_be_plain, is_plain=False)
