"""Reading what is posted: small, in time, and every parameter once."""

import asyncio
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from chamberlain.embedded.identity.errors import InvalidRequest

FORM = "application/x-www-form-urlencoded"
_LARGEST = 16 * 1024
_MOST_PARAMETERS = 32
# The server has no time-out of its own for a body.
_SECONDS = 10


def content_type(request: Request) -> str:
    """What the body is said to be, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(request: Request) -> bytes:
    """The whole body, up to a limit."""
    body = bytearray()
    try:
        async with asyncio.timeout(_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > _LARGEST:
                    raise InvalidRequest(f"The body is longer than {_LARGEST} bytes.")
    except (TimeoutError, ClientDisconnect) as error:
        raise InvalidRequest(f"The body did not arrive within {_SECONDS} seconds.") from error
    return bytes(body)


async def read_form(request: Request) -> dict[str, str]:
    """The parameters of a form; one without a value counts as not sent (RFC 6749, 3.2)."""
    if content_type(request) != FORM:
        raise InvalidRequest(f"Send the parameters as {FORM}.")
    try:
        text = (await read_body(request)).decode("utf-8")
        pairs = parse_qsl(text, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:
        raise InvalidRequest("The parameters cannot be read.") from error
    form = dict(pairs)
    if len(form) != len(pairs):
        raise InvalidRequest("A parameter is there more than once.")
    return form
