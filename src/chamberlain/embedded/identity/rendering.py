"""A page: made from its template, with the headers that every page has."""

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

FOLDER = Path(__file__).parent / "pages"

_TEMPLATES = Environment(
    loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
# A host that a policy can name; it has no way of writing an IPv6 address.
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
    """A page with these values in it. Its forms lead to us, and to `leads_to`: addresses that were checked.

    Browsers hold the redirect that answers a form to the same policy, so where that leads is named as well.
    """
    path = urlsplit(base_url).path
    text = _TEMPLATES.get_template(template).render(platform_path=path, **values)
    response = HTMLResponse(text, status_code=status)
    add_security_headers(response, leads_to)
    return response


def add_security_headers(response: Response, leads_to: Sequence[str] = ()) -> None:
    """Give an answer to a browser the headers of every page."""
    response.headers.update(_HEADERS)
    targets = " ".join(["'self'", *map(_source, leads_to)])
    response.headers["Content-Security-Policy"] = (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
        f"form-action {targets}"
    )


def _source(address: str) -> str:
    parts = urlsplit(address)
    if parts.hostname is None or not _HOST.fullmatch(parts.hostname):
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{parts.hostname}" + ("" if parts.port is None else f":{parts.port}")
