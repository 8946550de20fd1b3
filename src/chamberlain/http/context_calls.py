"""One call, as handlers see it."""

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar
from uuid import UUID

from msgspec import Struct
from starlette.types import Receive

from chamberlain.auth.models import Caller
from chamberlain.core.ids import TraceId
from chamberlain.http.context import HttpContext

Body_co = TypeVar("Body_co", covariant=True)


# Structs rather than dataclasses: one is made for every call, and a frozen dataclass costs ten times as much
# to make.
class Call(Struct, Generic[Body_co], frozen=True):
    """A call whose checks are all passed.

    `path` is the canonical one, with its trailing slash. `raw` is the body as it was sent and `body` what it says,
    None for an endpoint without a body. `ids` are the ids of the path, `query` its parameters. `client_address` is None
    where the server knows none. `listed_headers` are the headers one by one, for those that may come several times.
    `receive` tells when the caller leaves. `http` is what all endpoints share.
    """

    method: str
    path: str
    ids: Mapping[str, UUID]
    query: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    trace_id: TraceId
    client_address: str | None
    raw: bytes
    body: Body_co
    known_caller: Caller | None
    listed_headers: Sequence[tuple[bytes, bytes]]
    receive: Receive
    http: HttpContext

    @property
    def caller(self) -> Caller:
        """Who calls. Asked by handlers of endpoints that need a permission; public ones have no caller."""
        if self.known_caller is None:
            raise LookupError(f"{self.method} {self.path} is public; its handler must not ask who calls.")
        return self.known_caller
