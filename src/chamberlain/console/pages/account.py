# SPDX-License-Identifier: Apache-2.0
"""The account page: language, theme, substitute, and the sessions of the user."""

from typing import Final

from starlette.responses import Response

from chamberlain.console.cookies import A_YEAR, LANGUAGE, THEME
from chamberlain.console.rendering import redirect
from chamberlain.console.substitute_form import SubstituteForm, empty_form, fill, send
from chamberlain.console.visit import THEMES, Visit
from chamberlain.console.words import LANGUAGES
from chamberlain.core.errors import Forbidden
from chamberlain.substitutes.models import OwnSubstitutions
from chamberlain.substitutes.service import SubstituteService

PATH: Final = "/console/account/"


async def show_account(visit: Visit) -> Response:
    """Show preferences, substitute and sessions."""
    return await _page(visit, 200, empty_form(visit))


async def set_preferences(visit: Visit) -> Response:
    """Store language or theme in the browser."""
    response = redirect(PATH)
    for cookie, name, known in ((LANGUAGE, "language", LANGUAGES), (THEME, "theme", THEMES)):
        if visit.value(name) in known:
            visit.call.cookies.set(response, cookie, visit.value(name), A_YEAR)
    return response


async def name_substitute(visit: Visit) -> Response:
    """Name the substitute of the user."""
    sent = await send(visit)
    if isinstance(sent, SubstituteForm):
        return await _page(visit, 422 if sent.errors else 200, sent)
    return redirect(f"{PATH}#substitute")


async def resume_substitute(visit: Visit) -> Response:
    """Show the substitute of an earlier session, and name none."""
    form, _ = await fill(visit)
    return await _page(visit, 403, form)


async def withdraw_substitute(visit: Visit) -> Response:
    """Withdraw the substitute of the user."""
    await visit.service(SubstituteService).withdraw(visit.caller, visit.edit())
    return redirect(f"{PATH}#substitute")


async def end_session(visit: Visit) -> Response:
    """End another session of the user."""
    try:
        digest = bytes.fromhex(visit.value("session"))
    except ValueError:
        digest = b""
    await visit.console.sessions.end(visit.session, digest)
    return redirect(PATH)


async def _page(visit: Visit, status: int, form: SubstituteForm) -> Response:
    return visit.render(
        "account.html",
        status,
        sessions=await visit.console.sessions.list(visit.session),
        current=visit.session.digest,
        themes=THEMES,
        own=await _substitutions(visit),
        form=form,
    )


async def _substitutions(visit: Visit) -> OwnSubstitutions | None:
    """Return the substitutions, None if the user may never decide."""
    try:
        return await visit.service(SubstituteService).read(visit.caller)
    except Forbidden:
        return None
