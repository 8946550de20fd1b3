"""The API describes itself here: the OpenAPI document, the page made of it, and where the `type` of a problem leads."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import json

from chamberlain.http.calls import JSON, Answer
from chamberlain.http.context import HttpContext
from chamberlain.http.context_calls import Call
from chamberlain.http.documentation import CONTENT_SECURITY_POLICY, render
from chamberlain.http.documentation_published import Published
from chamberlain.http.problems import TITLES
from chamberlain.http.router import About, Endpoint, EndpointTable
from chamberlain.http.schemas_openapi_sharing import with_shared_parts

_ABOUT = About("", "", "")


def endpoints(describe: Callable[[], Mapping[str, Any]]) -> EndpointTable[HttpContext]:
    """Return the endpoints that serve a document, which does not describe them."""
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
