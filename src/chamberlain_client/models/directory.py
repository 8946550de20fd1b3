"""What the directory shows."""

from uuid import UUID

from chamberlain_client.models.model import Model


class DirectoryGroup(Model, frozen=True, kw_only=True):
    """A group as the directory shows it."""

    id: UUID
    display_name: str
    description: str | None = None
    mail: str | None = None
    mail_nickname: str | None = None
    group_types: tuple[str, ...] = ()
    visibility: str | None = None
    created_date_time: str | None = None


class DirectoryGroups(Model, frozen=True):
    """A collection of them."""

    value: tuple[DirectoryGroup, ...]
