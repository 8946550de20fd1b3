"""Public endpoints: health, the OpenAPI document, its page, and problems."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from msgspec import Struct, json

from chamberlain.http.documentation import CONTENT_SECURITY_POLICY, Published, render
from chamberlain.http.endpoint_tables import About, Endpoint, EndpointTable, Success
from chamberlain.http.problems import TITLES
from chamberlain.http.request import Call, HttpContext
from chamberlain.http.responses import JSON, Answer
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

ABOUT_LIVE = About("readLiveness", "Operation", "Whether the process answers")
ABOUT_READY = About("readReadiness", "Operation", "Whether the service can process requests")
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
    Endpoint("GET", "/health/live", live, None, ABOUT_LIVE, LIVE),
    Endpoint("GET", "/health/ready", ready, None, ABOUT_READY, READY),
))
# fmt: on


_ABOUT = About("", "", "")


def endpoints(describe: Callable[[], Mapping[str, Any]]) -> EndpointTable[HttpContext]:
    """Return the endpoints of the OpenAPI document, which does not include them."""
    document = Published(lambda: json.encode(with_shared_parts(describe())), JSON)
    page = Published(lambda: render(describe()), b"text/html; charset=utf-8", _PAGE_HEADERS)
    return EndpointTable(
        HttpContext,
        (
            Endpoint("GET", "/openapi.json", _publish(document), None, _ABOUT, ()),
            Endpoint("GET", "/docs", _publish(page), None, _ABOUT, ()),
            *(Endpoint("GET", f"/problems/{code}", _always(_see(code)), None, _ABOUT, ()) for code in TITLES),
        ),
    )


def _see(code: str) -> Answer:
    return Answer(303, b"", ((b"location", f"/docs#{code}".encode("ascii")),), b"text/plain")


def _publish(document: Published) -> Callable[[HttpContext, Call[None]], Awaitable[Answer]]:
    async def handler(_: HttpContext, call: Call[None]) -> Answer:
        return await document.answer(call.listed_headers)

    return handler


def _always(answer: Answer) -> Callable[[HttpContext, Call[None]], Awaitable[Answer]]:
    async def handler(_: HttpContext, __: Call[None]) -> Answer:
        return answer

    return handler


_PAGE_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode("ascii")),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
