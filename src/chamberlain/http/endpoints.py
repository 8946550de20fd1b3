# SPDX-License-Identifier: Apache-2.0
"""Public endpoints: landing page, health, the OpenAPI document, its pages, and problems."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from msgspec import Struct, json

from chamberlain.design import FAVICON, ICON
from chamberlain.http import html
from chamberlain.http.documentation import SLUGS, render
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.landing import ServiceDescription, ServiceHealth, health, welcome
from chamberlain.http.problems import TITLES
from chamberlain.http.published import Published
from chamberlain.http.request import Call, HttpContext
from chamberlain.http.responses import JSON, Answer, Headers
from chamberlain.http.schemas import with_shared_parts


class HealthCheck(Struct, rename="camel", frozen=True):
    """One check.

    A failed check has its cause as a sentence in `detail` and as a stable code in `reasonCode`.
    """

    name: str
    passed: bool
    detail: str | None
    reason_code: str | None


class Health(Struct, frozen=True):
    """The result of all checks."""

    status: Literal["live", "ready", "notReady"]
    checks: tuple[HealthCheck, ...]


async def live(_: HttpContext, __: Call[None]) -> Answer:
    """Report that the process answers."""
    return Answer(200, json.encode(Health("live", ())), _HEADERS)


async def ready(_: HttpContext, call: Call[None]) -> Answer:
    """Report whether the service can process requests."""
    found = await call.http.check_readiness()
    checks = tuple(HealthCheck(each.name, each.passed, each.detail, each.reason_code) for each in found)
    if all(each.passed or not each.required for each in found):
        return Answer(200, json.encode(Health("ready", checks)), _HEADERS)
    return Answer(503, json.encode(Health("notReady", checks)), _HEADERS)


_HEADERS = ((b"cache-control", b"no-store"),)

ABOUT_SERVICE = About(
    "readService",
    "Operation",
    "The service in short",
    "Browsers, which accept `text/html`, get the landing page instead.",
)
ABOUT_HEALTH = About(
    "readHealth",
    "Operation",
    "The health in one word",
    "For monitors. `/health/ready` has the checks and the causes.",
)
ABOUT_LIVE = About("readLiveness", "Operation", "Whether the process answers")
ABOUT_READY = About("readReadiness", "Operation", "Whether the service can process requests")
SERVICE = (
    Success(
        200,
        "The version, the health and the addresses of the descriptions.",
        ServiceDescription,
        example={
            "name": "Chamberlain",
            "version": "0.1.0",
            "status": "ok",
            "documentationUrl": "http://127.0.0.1:8365/docs",
            "openApiUrl": "http://127.0.0.1:8365/openapi.json",
            "healthUrl": "http://127.0.0.1:8365/health",
            "signInUrl": "https://localhost:8366/identity/device",
        },
    ),
)
HEALTH = (
    Success(200, "The service is ready. It is `degraded` if a check fails.", ServiceHealth, example={"status": "ok"}),
    Success(503, "The service is not ready.", ServiceHealth),
)
LIVE = (Success(200, "The process answers.", Health, example={"status": "live", "checks": []}),)
READY = (
    Success(
        200,
        "The service is ready.",
        Health,
        example={
            "status": "ready",
            "checks": [{"name": "database", "passed": True, "detail": None, "reasonCode": None}],
        },
    ),
    Success(503, "The service is not ready. The failed checks have the cause.", Health),
)

# fmt: off
ENDPOINTS = EndpointTable(HttpContext, (
    Endpoint("GET", "/", welcome, None, ABOUT_SERVICE, SERVICE),
    Endpoint("GET", "/health", health, None, ABOUT_HEALTH, HEALTH),
    Endpoint("GET", "/health/live", live, None, ABOUT_LIVE, LIVE),
    Endpoint("GET", "/health/ready", ready, None, ABOUT_READY, READY),
))
# fmt: on


def endpoints(describe: Callable[[], Mapping[str, Any]]) -> EndpointTable[HttpContext]:
    """Return the endpoints of documents and files.

    The OpenAPI document does not include them.
    """
    return EndpointTable(
        HttpContext,
        (
            _publish("/openapi.json", lambda: json.encode(with_shared_parts(describe())), JSON),
            _publish("/docs", lambda: render(describe()), html.HTML, html.SCRIPTED_HEADERS),
            *(
                _publish(f"/docs/{slug}", partial(_render, describe, slug), html.HTML, html.SCRIPTED_HEADERS)
                for slug in SLUGS
            ),
            _publish("/favicon.ico", lambda: FAVICON, b"image/x-icon", html.SAFE_HEADERS),
            _publish("/assets/icon.svg", lambda: ICON, b"image/svg+xml", html.SAFE_HEADERS),
            _publish("/assets/pages.css", lambda: html.STYLE, b"text/css; charset=utf-8", html.SAFE_HEADERS),
            _publish(
                "/assets/documentation.js", lambda: html.SCRIPT, b"text/javascript; charset=utf-8", html.SAFE_HEADERS
            ),
            *(_see(code) for code in TITLES),
        ),
    )


def _render(describe: Callable[[], Mapping[str, Any]], slug: str) -> bytes:
    return render(describe(), slug)


_ABOUT = About("", "", "")


def _publish(
    path: str, build: Callable[[], bytes], content_type: bytes, headers: Headers = ()
) -> Endpoint[HttpContext, None]:
    document = Published(build, content_type, headers)

    async def handler(_: HttpContext, call: Call[None]) -> Answer:
        return await document.answer(call.listed_headers)

    return Endpoint("GET", path, handler, None, _ABOUT, ())


def _see(code: str) -> Endpoint[HttpContext, None]:
    answer = Answer(303, b"", ((b"location", f"/docs/errors#{code}".encode("ascii")),), b"text/plain")

    async def handler(_: HttpContext, __: Call[None]) -> Answer:
        return answer

    return Endpoint("GET", f"/problems/{code}", handler, None, _ABOUT, ())
