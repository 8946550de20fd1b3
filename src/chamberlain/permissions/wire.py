# SPDX-License-Identifier: Apache-2.0
"""JSON of the least-privilege report."""

from typing import Literal
from uuid import UUID

from msgspec import Struct

from chamberlain.changes.models import format_time
from chamberlain.http.wire import Time
from chamberlain.permissions.models import CallerPermissions as HeldPermissions
from chamberlain.permissions.models import DirectoryPermission as NeededPermission
from chamberlain.permissions.models import PermissionReport as TenantReport
from chamberlain.permissions.models import PermissionUse


class UsedPermission(Struct, rename="camel", frozen=True):
    """A used permission, and the number of calls that it allowed."""

    permission: str
    last_used_at: Time
    count: int


class CallerPermissions(Struct, rename="camel", frozen=True):
    """The permissions of a user or an application.

    They are those of the last 30 days. `held` are those of its tokens, `unused` those of them that allowed no call. The
    name is empty if it is unknown.
    """

    kind: Literal["user", "application"]
    id: UUID
    display_name: str
    held: tuple[str, ...]
    used: tuple[UsedPermission, ...]
    unused: tuple[str, ...]


class PermissionNeeder(Struct, rename="camel", frozen=True):
    """A template or policy that needs a directory permission."""

    kind: Literal["template", "policy"]
    id: UUID
    name: str


class DirectoryPermission(Struct, rename="camel", frozen=True):
    """A directory permission, and the templates and policies that need it."""

    permission: str
    needed_by: tuple[PermissionNeeder, ...]


class PermissionReport(Struct, rename="camel", frozen=True):
    """Permissions of callers, and of the service in the directory.

    `callersTruncated` is true if there are more than 1,000 callers. The newest ones are listed then.
    """

    callers: tuple[CallerPermissions, ...]
    callers_truncated: bool
    directory: tuple[DirectoryPermission, ...]


def to_report(report: TenantReport) -> PermissionReport:
    """Return the JSON of a report."""
    return PermissionReport(
        tuple(map(_caller, report.callers)), report.is_truncated, tuple(map(_directory, report.directory))
    )


def _caller(caller: HeldPermissions) -> CallerPermissions:
    return CallerPermissions(
        kind="user" if caller.type == "user" else "application",
        id=caller.id,
        display_name=caller.display_name,
        held=tuple(caller.held),
        used=tuple(used for use in caller.used if (used := _used(use)) is not None),
        unused=tuple(caller.unused),
    )


def _used(use: PermissionUse) -> UsedPermission | None:
    at = use.last_used_at
    return None if at is None else UsedPermission(use.permission, format_time(at), use.count)


def _directory(needed: NeededPermission) -> DirectoryPermission:
    needers = tuple(
        PermissionNeeder("policy" if each.kind == "policy" else "template", each.id, each.name)
        for each in needed.needed_by
    )
    return DirectoryPermission(needed.permission, needers)
