"""Read the body of a call, with limits for its size and its time."""

import asyncio
from collections.abc import Mapping

from starlette.types import Receive, Scope

from chamberlain.fastpath.buffered_response import buffered_call
from chamberlain.http.problems import BodyTooLarge, BodyTooSlow, ContentNotJson

# The limit in docs/reference/api.md: a group with 10,000 members fits.
LIMIT = 512 * 1024


class CallerGone(Exception):
    """The client closed the connection before the call was complete."""


async def receive_body(scope: Scope, receive: Receive, headers: Mapping[bytes, bytes], seconds: float) -> bytes:
    """Return the whole body.

    Raises BodyTooLarge as soon as that is known, BodyTooSlow, ContentNotJson and CallerGone.
    """
    announced = headers.get(b"content-length")
    if announced is not None and announced.isdigit() and int(announced) > LIMIT:
        raise BodyTooLarge(LIMIT)
    call = buffered_call(scope)
    body = None if call is None else call.body()
    if body is None:
        try:
            async with asyncio.timeout(seconds):
                body = await _receive_all(receive)
        except TimeoutError as error:
            raise BodyTooSlow(seconds) from error
    elif len(body) > LIMIT:
        raise BodyTooLarge(LIMIT)
    if body:
        _check_content_type(headers)
    return body


async def _receive_all(receive: Receive) -> bytes:
    message = await receive()
    chunks: list[bytes] = []
    size = 0
    while message["type"] == "http.request":
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > LIMIT:
            raise BodyTooLarge(LIMIT)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)
        message = await receive()
    raise CallerGone


def _check_content_type(headers: Mapping[bytes, bytes]) -> None:
    content_type = headers.get(b"content-type", b"")
    if content_type != b"application/json" and content_type.split(b";", 1)[0].strip().lower() != b"application/json":
        raise ContentNotJson
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        raise ContentNotJson
