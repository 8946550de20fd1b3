"""Groups and teams that are asked for."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import UNSET, UnsetType

from chamberlain_client.models.model import Model
from chamberlain_client.models.open_enums import OpenIntEnum


class MemberShipType(OpenIntEnum):
    """Who may become a member."""

    PRIVATE = 0
    PUBLIC = 1
    DYNAMIC = 2


class NewGroup(Model, frozen=True, kw_only=True):
    """A group or team to be asked for; the template decides which. What is `UNSET` is not sent."""

    display_name: str
    template_id: UUID
    description: str | UnsetType | None = UNSET
    member_ship_type: MemberShipType | UnsetType | None = UNSET
    owners: tuple[UUID, ...] | UnsetType | None = UNSET
    members: tuple[UUID, ...] | UnsetType | None = UNSET
    metadata: Mapping[str, str | bool] | UnsetType | None = UNSET
    label_id: str | UnsetType | None = UNSET


class Group(Model, frozen=True):
    """A group or team that is there."""

    id: UUID
    display_name: str
    mail: str | None


class AcceptedGroup(Model, frozen=True, kw_only=True):
    """A group or team that is queued durably. `group` is there when it was ready in the time that was waited.

    `retry_after` is how many seconds the service asks one to wait before looking; `replayed`, whether this is the
    answer to an earlier call with the same key.
    """

    request_id: UUID
    tenant_id: UUID
    approval_required: bool
    group: Group | None = None
    retry_after: float | None = None
    replayed: bool = False
