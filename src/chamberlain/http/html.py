# SPDX-License-Identifier: Apache-2.0
"""HTML of the pages that the service publishes: frame, tables, prose."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Final

from chamberlain.design import STYLE as DESIGN
from chamberlain.http.responses import Headers

STYLE: Final = DESIGN + files("chamberlain.http").joinpath("pages.css").read_bytes()
SCRIPT: Final = files("chamberlain.http").joinpath("documentation.js").read_bytes()
HTML: Final = b"text/html; charset=utf-8"

_POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
_FRAMING = "frame-ancestors 'none'"
SAFE_HEADERS: Headers = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))
# The try-it panel needs one script, and calls this service only.
_SCRIPTS = "script-src 'self'; connect-src 'self'; "
HEADERS: Headers = ((b"content-security-policy", f"{_POLICY}{_FRAMING}".encode("ascii")), *SAFE_HEADERS)
SCRIPTED_HEADERS: Headers = (
    (b"content-security-policy", f"{_POLICY}{_SCRIPTS}{_FRAMING}".encode("ascii")),
    *SAFE_HEADERS,
)


def page(title: str, body: str, *, head: str = "") -> bytes:
    """Return a whole page."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="/favicon.ico" sizes="48x48">
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/pages.css">
{head}</head>
{body}
</html>
""".encode()


BRAND: Final = '<a class="brand" href="/"><img src="/assets/icon.svg" alt="" width="28" height="28">Chamberlain</a>'


def code(text: str) -> str:
    """Return a code span.

    Long addresses break after slashes.
    """
    return f"<code>{_breakable(escape(text, quote=False))}</code>"


def block(text: str, label: str) -> str:
    """Return a block of code.

    It can scroll, so keyboards must reach it.
    """
    return (
        f'<pre tabindex="0" role="region" aria-label="{escape(label)}"><code>{escape(text, quote=False)}</code></pre>'
    )


def prose(text: str) -> str:
    """Render the small markup of the OpenAPI document: paragraphs, lists and code."""
    return "".join(map(_paragraph, filter(None, text.split("\n\n"))))


def prose_inline(text: str) -> str:
    """Render one line of that markup."""
    return re.sub(r"`([^`]*)`", lambda span: f"<code>{_breakable(span[1])}</code>", escape(text, quote=False))


def items(entries: Iterable[str]) -> str:
    """Return a list of HTML items, or nothing for none."""
    lines = "".join(f"<li>{entry}</li>" for entry in entries)
    return f"<ul>{lines}</ul>" if lines else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of HTML cells, or nothing without rows."""
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    titles = "".join(f'<th scope="col">{title}</th>' for title in head)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>" if lines else ""


def _breakable(text: str) -> str:
    return re.sub(r"/(?=\w)", "/<wbr>", text)


def _paragraph(text: str) -> str:
    if text.startswith("- "):
        return items(map(prose_inline, text.removeprefix("- ").split("\n- ")))
    return f"<p>{prose_inline(text)}</p>"
