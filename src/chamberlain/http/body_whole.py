"""What the server can do with a call that has arrived whole, and with an answer that is whole.

The way of ASGI, with a message for each part, is made for bodies of any length and takes as long as all that we do with
most calls. A server that can do this says so in the scope; with any other one goes by messages.
"""

from typing import Protocol

from starlette.types import Scope

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
