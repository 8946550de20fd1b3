# SPDX-License-Identifier: Apache-2.0
"""Uses of permissions, and the report of a tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from uuid import UUID

from chamberlain.auth.models import ActorType
from chamberlain.core.ids import TenantId


@dataclass(frozen=True, slots=True, order=True)
class UseKey:
    """A permission of a caller on one day of UTC."""

    tenant_id: TenantId
    caller_type: ActorType
    caller_id: UUID
    permission: str
    day: date


@dataclass(frozen=True, slots=True)
class PermissionUse:
    """A permission of a caller, and how often it allowed a call.

    A permission that allowed none has no last use.
    """

    caller_type: ActorType
    caller_id: UUID
    permission: str
    count: int
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class CallerPermissions:
    """The permissions of one caller.

    The name is empty if it is unknown.
    """

    type: ActorType
    id: UUID
    display_name: str
    held: Sequence[str]
    used: Sequence[PermissionUse]
    unused: Sequence[str]


class NeederKind(StrEnum):
    """The kind of an object that needs a directory permission."""

    TEMPLATE = "template"
    POLICY = "policy"


@dataclass(frozen=True, slots=True)
class Needer:
    """A template or policy."""

    kind: NeederKind
    id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class DirectoryPermission:
    """A directory permission, and the templates and policies that need it."""

    permission: str
    needed_by: Sequence[Needer]


@dataclass(frozen=True, slots=True)
class PermissionReport:
    """The report of a tenant. Callers beyond the limit are left out."""

    callers: Sequence[CallerPermissions]
    is_truncated: bool
    directory: Sequence[DirectoryPermission]
