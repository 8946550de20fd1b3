# SPDX-License-Identifier: Apache-2.0
"""The account page: language, theme, and the sessions of the user."""

from starlette.responses import Response

from chamberlain.console.cookies import A_YEAR, LANGUAGE, THEME
from chamberlain.console.rendering import redirect
from chamberlain.console.visit import THEMES, Visit
from chamberlain.console.words import LANGUAGES

PATH = "/console/account/"


async def show_account(visit: Visit) -> Response:
    """Show preferences and sessions."""
    entries = await visit.console.sessions.list(visit.session)
    return visit.render("account.html", sessions=entries, current=visit.session.digest, themes=THEMES)


async def set_preferences(visit: Visit) -> Response:
    """Store language or theme in the browser."""
    response = redirect(PATH)
    for cookie, name, known in ((LANGUAGE, "language", LANGUAGES), (THEME, "theme", THEMES)):
        if visit.value(name) in known:
            visit.call.cookies.set(response, cookie, visit.value(name), A_YEAR)
    return response


async def end_session(visit: Visit) -> Response:
    """End another session of the user."""
    try:
        digest = bytes.fromhex(visit.value("session"))
    except ValueError:
        digest = b""
    await visit.console.sessions.end(visit.session, digest)
    return redirect(PATH)
