"""One call, after it is known who calls and what for."""

from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import DirectoryFault

Shape: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class Call:
    """A call for one tenant. `root` is the address of `/v1.0` as callers know it; `id` is the one in the path."""

    pool: Pool
    root: str
    tenant_id: UUID
    id: UUID | None
    query_string: bytes


class NotThere(DirectoryFault):
    """There is no such thing, as far as this caller may know."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def no_group(call: Call) -> NotThere:
    """What is said where no group has the id of the path."""
    return NotThere("Request_ResourceNotFound", f"Resource '{call.id}' does not exist.")


class MethodNotAllowed(DirectoryFault):
    """What is here can only be read."""
