"""What may be asked for: a group as it shall be, and the mark by which it is found again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Mark:
    """How a group is found again: an extension attribute by its name, and the value of its key member."""

    tenant_id: UUID
    extension: str
    key: str


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """A group as it shall be, with the id that it gets if it has to be made.

    `values` are all members of the mark's extension attribute, the key among them. With a membership rule the members
    follow from it. `channels` makes it a team.
    """

    mark: Mark
    id: UUID
    display_name: str
    mail_nickname: str
    mail: str
    description: str | None
    visibility: str
    membership_rule: str | None
    label_id: str | None
    owners: Sequence[UUID]
    members: Sequence[UUID]
    channels: Sequence[str] | None
    values: Mapping[str, str]
