"""Reading the body of a call: not more of it than is useful, and not for longer than is fair."""

from collections.abc import Mapping

from starlette.types import Receive

from chamberlain.http.body_whole import WholeCall
from chamberlain.http.problems import BodyTooLarge, BodyTooSlow, ContentNotJson
from chamberlain.http.timeouts import Patience

# The bound that docs/reference/api.md gives: a group with 10,000 members is below it.
LIMIT = 512 * 1024


class CallerGone(Exception):
    """The connection was closed before the call was complete; there is nobody to answer."""


async def receive_body(
    receive: Receive, headers: Mapping[bytes, bytes], patience: Patience, whole: WholeCall | None
) -> bytes:
    """The whole body, or BodyTooLarge as soon as that is known, or ContentNotJson when there is one of another type."""
    announced = headers.get(b"content-length")
    if announced is not None and announced.isdigit() and int(announced) > LIMIT:
        raise BodyTooLarge(LIMIT)
    body = None if whole is None else whole.body()
    if body is None:
        try:
            body = await patience.wait_for(_receive_all(receive))
        except TimeoutError as error:
            raise BodyTooSlow(patience.seconds) from error
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
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        message = await receive()
    raise CallerGone


def _check_content_type(headers: Mapping[bytes, bytes]) -> None:
    content_type = headers.get(b"content-type", b"")
    if content_type != b"application/json" and content_type.split(b";", 1)[0].strip().lower() != b"application/json":
        raise ContentNotJson
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        raise ContentNotJson
