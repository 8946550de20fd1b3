"""What templates of all kinds have in common: who may use them, their fields, their approval, their webhook."""

from datetime import datetime
from uuid import UUID

from msgspec import UNSET, UnsetType

from chamberlain_client.models.model import Model
from chamberlain_client.models.open_enums import OpenStrEnum
from chamberlain_client.models.requests import ApprovalMode


class TemplateKind(OpenStrEnum):
    """What a template makes; a guest template says how guests are treated."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"
    GROUP = "group"
    TEAM = "team"
    GUEST = "guest"


class FieldType(OpenStrEnum):
    """What may be written into a custom field."""

    TEXT = "text"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    USER = "user"


class ApproverType(OpenStrEnum):
    """Who an approver is."""

    USER = "user"
    GROUP = "group"
    MANAGER = "manager"


class Audience(Model, frozen=True, kw_only=True):
    """Who may use a template: these users, and the members of these groups."""

    users: tuple[UUID, ...] = ()
    groups: tuple[UUID, ...] = ()


class Choice(Model, frozen=True):
    """One of the values that may be chosen, and what it is called."""

    value: str
    label: str


class CustomField(Model, frozen=True, kw_only=True):
    """A field of a template's own; `choices` of the type choice only."""

    key: str
    label: str
    type: FieldType
    required: bool = False
    choices: tuple[Choice, ...] | UnsetType = UNSET


class Approver(Model, frozen=True, kw_only=True):
    """Who may approve; the manager of whoever asks has no `id`."""

    type: ApproverType
    id: UUID | UnsetType = UNSET


class ApprovalLevel(Model, frozen=True, kw_only=True):
    """One or all of these approvers."""

    mode: ApprovalMode
    approvers: tuple[Approver, ...]


class ApprovalRule(Model, frozen=True, kw_only=True):
    """Up to three levels; without a deadline a request waits for as long as it takes."""

    levels: tuple[ApprovalLevel, ...]
    deadline_days: int | None = None


class TemplateWebhook(Model, frozen=True, kw_only=True):
    """Where a template's events go. `secret` is shown once, when the service has made it. A webhook that has no
    `active` or `secret` of its own yet is written with the address alone."""

    url: str
    active: bool | UnsetType = UNSET
    secret: str | UnsetType = UNSET
    has_secret: bool | UnsetType = UNSET
    disabled_reason: str | UnsetType | None = UNSET


class RotatedSecret(Model, frozen=True, kw_only=True):
    """The new secret of a webhook, shown here and never again: it is None in the answer to a repeated call. The one
    before it signs as well until `previous_secret_until`."""

    template_id: UUID
    has_secret: bool
    previous_secret_until: datetime | None
    secret: str | None = None
