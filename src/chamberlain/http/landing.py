# SPDX-License-Identifier: Apache-2.0
"""The landing page and the short health answer."""

from collections.abc import Sequence
from html import escape
from typing import Annotated, Literal

from msgspec import Meta, Struct, json

from chamberlain import __version__
from chamberlain.http.html import BRAND, HEADERS, HTML, block, page
from chamberlain.http.request import Call, Check, HttpContext
from chamberlain.http.responses import NO_STORE, Answer

Status = Literal["ok", "degraded"]


class ServiceHealth(Struct, frozen=True):
    """The health of the service in one word."""

    status: Annotated[Status, Meta(description="`ok` if all checks pass.")]


class ServiceDescription(Struct, frozen=True, rename="camel"):
    """The version, the health and the addresses of the descriptions."""

    name: str
    version: str
    status: Annotated[Status, Meta(description="`ok` if all checks pass.")]
    documentation_url: str
    open_api_url: str
    health_url: str
    sign_in_url: Annotated[str | None, Meta(description="The page to sign in with a code, where the service has one.")]


async def health(_: HttpContext, call: Call[None]) -> Answer:
    """Report the health in one word, for monitors."""
    found = await call.http.check_readiness()
    is_ready = all(each.passed or not each.required for each in found)
    return Answer(200 if is_ready else 503, json.encode(ServiceHealth(_status(found))), (NO_STORE,))


async def welcome(_: HttpContext, call: Call[None]) -> Answer:
    """Show the landing page to browsers.

    All other clients get the same as JSON.
    """
    found = await call.http.check_readiness()
    headers = (NO_STORE, (b"vary", b"accept"))
    if b"text/html" in call.headers.get(b"accept", b""):
        return Answer(200, _render(found, call.http), (*headers, *HEADERS), HTML)
    base_url = call.http.addresses.base_url
    description = ServiceDescription(
        name="Chamberlain",
        version=__version__,
        status=_status(found),
        documentation_url=f"{base_url}/docs",
        open_api_url=f"{base_url}/openapi.json",
        health_url=f"{base_url}/health",
        sign_in_url=call.http.sign_in_url,
    )
    return Answer(200, json.encode(description), headers)


def _status(checks: Sequence[Check]) -> Status:
    return "ok" if all(each.passed for each in checks) else "degraded"


_CHECKS = {"database": "Database", "clock": "Clock", "writes": "Writes"}
# Without options, the command line calls this address.
_USUAL = "http://127.0.0.1:8365"


def _commands(base_url: str) -> str:
    at = "" if base_url == _USUAL else f" --server {base_url}"
    return f"""chamberlain login{at}
chamberlain group create --wait \\
  --template "Project group" \\
  --display-name Orchard"""


def _render(checks: Sequence[Check], http: HttpContext) -> bytes:
    state, words = {"ok": ("good", "Healthy"), "degraded": ("bad", "Degraded")}[_status(checks)]
    sign_in = (
        "" if http.sign_in_url is None else _card(http.sign_in_url, "Sign in", "Enter the code of an application.")
    )
    return page(
        "Chamberlain",
        f"""<body class="landing">
<header>{BRAND}<span class="soft">{escape(__version__)}</span></header>
<main>
<section class="hero">
<h1>Mailboxes, groups and teams on request</h1>
<p class="lead">Chamberlain creates mailboxes, groups and teams from templates, and assigns guest rules.</p>
<p class="notice"><b>The directory is a sample.</b> This version works in its own sample directory only. It is not
connected to Microsoft 365 or to another directory.</p>
</section>
<section class="cards" aria-label="Start here">
{_card("/console/", "Console", "Request rooms, mailboxes, groups and teams. Approve requests.")}
{_card("/docs", "API documentation", "Operations with samples. Send calls from the page.")}
{_card("/openapi.json", "API description", "OpenAPI 3.1, for client generators.")}
{sign_in}
</section>
<div class="columns">
<section class="panel"><h2>Command line</h2>
<p>Sign in, then create a group. In a clone of the project, the command is <code>.venv/bin/chamberlain</code>.</p>
{block(_commands(http.addresses.base_url), "Commands to sign in and to create a group")}
<p class="soft"><code>chamberlain --help</code> lists all commands. The folder <code>docs/</code> of the project has the
guides.</p>
</section>
<section class="panel"><h2>Health <span class="state {state}">{words}</span></h2>
<dl class="checks">{"".join(map(_check, checks))}</dl>
<p class="soft">Monitors read <a href="/health">/health</a>. Load balancers read
<a href="/health/ready">/health/ready</a>.</p>
</section>
</div>
</main>
</body>""",
    )


def _card(address: str, name: str, purpose: str) -> str:
    return f'<a class="card" href="{escape(address)}"><b>{escape(name)}</b><span>{escape(purpose)}</span></a>'


def _check(check: Check) -> str:
    state = '<span class="state good">OK</span>' if check.passed else '<span class="state bad">Failed</span>'
    detail = "" if check.detail is None else f"<p>{escape(check.detail)}</p>"
    return f"<div><dt>{escape(_CHECKS.get(check.name, check.name))}</dt><dd>{state}{detail}</dd></div>"
