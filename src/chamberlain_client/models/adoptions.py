"""Adoptions: existing mailboxes and groups that are taken under management."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from msgspec import field

from chamberlain_client.models.actors import Actor, Named
from chamberlain_client.models.model import Model
from chamberlain_client.models.open_enums import OpenStrEnum


class AdoptedKind(OpenStrEnum):
    """What is taken: the kind of the template."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"
    GROUP = "group"
    TEAM = "team"


class AdoptionState(OpenStrEnum):
    """How far an adoption has come."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    UNDOING = "undoing"
    UNDONE = "undone"


class AdoptionFilter(Model, frozen=True):
    """Which of all there are: those that meet everything that is not None. `q` is how the name, the display name or
    the address begins, `ids` are those of the directory."""

    q: str | None = None
    domain: str | None = None
    ids: tuple[UUID, ...] | None = None


class Adoptable(Model, frozen=True):
    """One that would be taken. `differences` are the steps of the template whose effect it does not show."""

    id: UUID
    display_name: str
    mail: str | None
    differences: tuple[str, ...]


class NotAdoptable(Model, frozen=True):
    """One that is not taken, and why."""

    id: UUID
    display_name: str
    mail: str | None
    code: str
    detail: str


class PreviewCounts(Model, frozen=True):
    """How many would be taken, and how many not, by the code of the reason."""

    taken: int
    conflicts: Mapping[str, int]


class AdoptionPreview(Model, frozen=True, kw_only=True):
    """Whom a rule would take now: how many, and the first hundred by address. `digest` is for the confirmation."""

    kind: AdoptedKind
    template: Named
    filter: AdoptionFilter
    digest: str
    counts: PreviewCounts
    taken: tuple[Adoptable, ...]
    conflicts: tuple[NotAdoptable, ...]
    dry_run: bool = field(default=True)


class AdoptionCounts(Model, frozen=True):
    """How many were confirmed, and what has become of them."""

    total: int
    adopted: int
    refused: int
    released: int


class Adoption(Model, frozen=True, kw_only=True):
    """A rule that was confirmed. `refused` are the first hundred that could not be taken; lists leave them out."""

    id: UUID
    kind: AdoptedKind
    template: Named
    filter: AdoptionFilter
    state: AdoptionState
    counts: AdoptionCounts
    created_at: datetime
    created_by: Actor
    updated_at: datetime
    finished_at: datetime | None
    refused: tuple[NotAdoptable, ...] = ()
