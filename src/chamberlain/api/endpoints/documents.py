"""The API describes itself here: the OpenAPI document, the page made of it, and where the `type` of a problem leads."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from typing import Any

from msgspec import json

from chamberlain.api.calls import Answer, Call
from chamberlain.api.documentation import CONTENT_SECURITY_POLICY, render
from chamberlain.api.endpoint import About, Endpoint
from chamberlain.api.problems import TITLES
from chamberlain.api.services import Services

_ABOUT = About("", "", "")


def endpoints(describe: Callable[[], Mapping[str, Any]]) -> tuple[Endpoint[None], ...]:
    """The endpoints that serve a document, which does not describe them. It is asked for when somebody first reads it:
    most processes never show it, and to make it takes longer than all else that the API needs to begin."""

    @cache
    def document() -> Answer:
        return Answer(200, json.encode(describe()))

    @cache
    def page() -> Answer:
        return Answer(200, render(describe()), _PAGE_HEADERS, b"text/html; charset=utf-8")

    return (
        Endpoint("GET", "/openapi.json", _always(document), None, _ABOUT, ()),
        Endpoint("GET", "/docs", _always(page), None, _ABOUT, ()),
        *(Endpoint("GET", f"/problems/{code}", _always(partial(_see, code)), None, _ABOUT, ()) for code in TITLES),
    )


def _see(code: str) -> Answer:
    return Answer(303, b"", ((b"location", f"/docs#{code}".encode("ascii")),), b"text/plain")


def _always(answer: Callable[[], Answer]) -> Callable[[Services, Call[None]], Awaitable[Answer]]:
    async def handler(_: Services, __: Call[None]) -> Answer:
        return answer()

    return handler


_PAGE_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode("ascii")),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
