# SPDX-License-Identifier: Apache-2.0
"""Request bodies: limited in size and time, each parameter at most once."""

import asyncio
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from chamberlain.embedded.identity.errors import InvalidRequest

FORM = "application/x-www-form-urlencoded"
_LARGEST = 16 * 1024
_MOST_PARAMETERS = 32
# The server has no timeout of its own for a body.
_TIMEOUT_SECONDS = 10


def content_type(request: Request) -> str:
    """Return the media type of the body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(request: Request) -> bytes:
    """Read the whole body.

    Raises InvalidRequest if it is too long or too slow.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > _LARGEST:
                    raise InvalidRequest(f"The body is longer than {_LARGEST} bytes.")
    except (TimeoutError, ClientDisconnect) as error:
        raise InvalidRequest(f"The body did not arrive within {_TIMEOUT_SECONDS} seconds.") from error
    return bytes(body)


async def read_form(request: Request) -> dict[str, str]:
    """Parse a form.

    A parameter without a value counts as not sent (RFC 6749, 3.2).
    """
    if content_type(request) != FORM:
        raise InvalidRequest(f"Send the parameters as {FORM}.")
    try:
        text = (await read_body(request)).decode("utf-8")
        pairs = parse_qsl(text, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:
        raise InvalidRequest("The parameters cannot be parsed.") from error
    form = dict(pairs)
    if len(form) != len(pairs):
        raise InvalidRequest("A parameter occurs more than once.")
    return form
