# SPDX-License-Identifier: Apache-2.0
"""HTML pages and the security headers of responses to browsers."""

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from chamberlain.design import STYLE as DESIGN

FOLDER = Path(__file__).parent / "pages"
STYLE = DESIGN + (FOLDER / "style.css").read_bytes()

_TEMPLATES = Environment(
    loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
# Hosts that a Content-Security-Policy can name. It has no syntax for IPv6 addresses.
_HOST = re.compile(r"[a-z0-9.-]+")

_HEADERS = {
    "Cache-Control": "no-store",
    "Pragma": "no-cache",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "publickey-credentials-get=(), camera=(), geolocation=(), microphone=()",
}


def render(
    base_url: str, template: str, *, status: int = 200, leads_to: Sequence[str] = (), **values: object
) -> Response:
    """Render a page.

    Its forms may lead to us and to `leads_to`, which must be validated addresses. Browsers apply the policy of a form
    also to the redirect in its response, so the target must be included.
    """
    text = _TEMPLATES.get_template(template).render(
        platform_path=urlsplit(base_url).path, page_name=template.removesuffix(".html"), **values
    )
    return _with_security_headers(HTMLResponse(text, status_code=status), leads_to)


def redirect(address: str) -> Response:
    """Redirect with 303.

    The browser continues by GET, so it never sends a password on.
    """
    return _with_security_headers(RedirectResponse(address, status_code=303), ())


def _with_security_headers(response: Response, leads_to: Sequence[str]) -> Response:
    targets = " ".join(["'self'", *map(_source, leads_to)])
    response.headers.update(_HEADERS)
    response.headers["Content-Security-Policy"] = (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
        f"form-action {targets}"
    )
    return response


def _source(address: str) -> str:
    parts = urlsplit(address)
    if parts.hostname is None or not _HOST.fullmatch(parts.hostname):
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{parts.hostname}" + ("" if parts.port is None else f":{parts.port}")
