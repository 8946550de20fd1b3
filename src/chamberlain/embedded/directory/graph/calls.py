"""One call, after it is known who calls and what for."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias
from uuid import UUID

from chamberlain.embedded.directory.database import Pool
from chamberlain.embedded.directory.errors import DirectoryFault
from chamberlain.embedded.directory.groups import FindGroups

Shape: TypeAlias = dict[str, object]

# What a path answers: JSON, or a bare number as text.
Answer: TypeAlias = Shape | int


@dataclass(frozen=True, slots=True)
class Call:
    """A call for one tenant. `root` is the address of `/v1.0` as callers know it, and `path` what stands behind it;
    `id` is the one in the path, or that of the user who calls. Users and rooms can be named by an `address` instead.
    `is_eventual` says that the caller takes answers that may lag behind, which Graph wants to hear before it counts.

    With faults on purpose lists show groups and mailboxes that were made at `visible_until` or before, and under their
    own ids those are found that were made at `known_until` or before.
    """

    pool: Pool
    find_groups: FindGroups
    root: str
    tenant_id: UUID
    id: UUID | None
    query_string: bytes
    path: str = ""
    is_eventual: bool = False
    address: str | None = None
    visible_until: datetime | None = None
    known_until: datetime | None = None

    def knows(self, made_at: datetime) -> bool:
        """Whether a group or mailbox that was made then is found under its id."""
        return self.known_until is None or made_at <= self.known_until


class NotThere(DirectoryFault):
    """There is no such thing, as far as this caller may know."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def nothing(call: Call) -> NotThere:
    """What is said where nothing has the id or the address of the path."""
    return NotThere("Request_ResourceNotFound", f"Resource '{call.id or call.address}' does not exist.")


class MethodNotAllowed(DirectoryFault):
    """What is here can only be read."""


def written_time(moment: datetime) -> str:
    """The time as text."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
