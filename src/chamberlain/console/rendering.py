# SPDX-License-Identifier: Apache-2.0
"""Render pages, and send them with the security headers."""

from datetime import UTC
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from chamberlain.console.assets import assets
from chamberlain.console.fields import MOST_PEOPLE
from chamberlain.console.texts import texts_in
from chamberlain.console.words import LANGUAGES, load_catalogue

# Forms lead to us only. The way to an issuer and back goes through a page that refreshes itself (leaving.html), because
# browsers apply `form-action` to redirects as well.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "publickey-credentials-get=(), camera=(), geolocation=(), microphone=()",
}
PAGES: Final = Path(str(files(__package__).joinpath("pages")))


def render(language: str, template: str, status: int = 200, /, **values: object) -> Response:
    """Render a page."""
    response = HTMLResponse(render_text(language, template, **values), status)
    response.headers.update(HEADERS)
    response.headers["Content-Language"] = language
    response.headers["Vary"] = "Cookie, Accept-Language"
    return response


def render_text(language: str, template: str, /, **values: object) -> str:
    """Render a template to text, such as a part of a page."""
    return environment(language).get_template(template).render(language=language, **values)


def redirect(address: str) -> Response:
    """Redirect with 303: the browser continues by GET."""
    response = RedirectResponse(address, 303)
    response.headers.update(HEADERS)
    return response


@cache
def environment(language: str) -> Environment:
    """Return the templates in a language."""
    found = Environment(
        loader=FileSystemLoader(PAGES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    catalogue = load_catalogue(language)
    found.install_gettext_translations(catalogue, newstyle=True)  # type: ignore[attr-defined]  # The extension adds it.
    found.globals["assets"] = {name: each.path for name, each in assets().items()}
    found.globals["languages"] = LANGUAGES
    found.globals["most_people"] = MOST_PEOPLE
    found.filters.update(texts_in(language))
    found.filters["machine_time"] = lambda moment: moment.astimezone(UTC).isoformat(timespec="seconds")
    return found
