"""Reading the body of a call: not more of it than is useful, and not for longer than is fair."""

from collections.abc import Mapping
from typing import Protocol

from starlette.types import Receive, Scope

from chamberlain.http.problems import BodyTooLarge, BodyTooSlow, ContentNotJson
from chamberlain.http.timeouts import Patience

# Where it stands in the state of the scope.
WHOLE = "chamberlain.whole"
# The key in the scope for the host of an absolute address in the request line; there only with such an address.
AUTHORITY = "chamberlain.authority"


class WholeCall(Protocol):
    """One call, as the server has it."""

    def body(self) -> bytes | None:
        """The whole body; None when there is more to come. Whoever has got it here does not receive it as a message."""
        ...

    def answer(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
        """Send the whole answer, unless it has to wait (False). The headers say how long the body is; to HEAD none is
        sent. With `connection: close` among them, in these letters, the connection ends behind the answer."""
        ...


def whole_call(scope: Scope) -> WholeCall | None:
    """The call, if the server can do this."""
    whole: WholeCall | None = scope.get("state", {}).get(WHOLE)
    return whole


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
