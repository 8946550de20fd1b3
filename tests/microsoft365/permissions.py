# SPDX-License-Identifier: Apache-2.0
"""The permissions that suffice for an operation: Microsoft's table, and the pages where the table says nothing."""

from collections.abc import Mapping
from typing import Final

from tests.microsoft365.recorder import description

_GROUPS: Final = frozenset({"Group.ReadWrite.All", "Directory.ReadWrite.All"})
_MEMBERS: Final = _GROUPS | {"GroupMember.ReadWrite.All"}
_READ_GROUPS: Final = _GROUPS | {"Group.Read.All", "Directory.Read.All"}

# Operations without a row in the table, by their pages: group-post-members, group-post-owners, group-delete-members,
# group-delete-owners, directory-deleteditems-list, site-get. Writes of groups: the table lists permissions for single
# properties too (Group.ManageProtection.All and others), which do not suffice for other properties ([S1], [S3]).
_PAGES: Final[Mapping[str, frozenset[str]]] = {
    "POST /groups/{group-id}/members/$ref": _MEMBERS,
    "DELETE /groups/{group-id}/members/{directoryObject-id}/$ref": _MEMBERS,
    "POST /groups/{group-id}/owners/$ref": _GROUPS,
    "DELETE /groups/{group-id}/owners/{directoryObject-id}/$ref": _GROUPS,
    "PATCH /groups/{group-id}": _GROUPS,
    "PATCH /groups(uniqueName='{uniqueName}')": _GROUPS,
    "GET /directory/deletedItems/microsoft.graph.group": _READ_GROUPS,
    "GET /groups/{group-id}/sites/{site-id}": _READ_GROUPS | {"Sites.Read.All", "Sites.ReadWrite.All"},
}
# The property of a user that needs a permission of its own (resources/signinactivity.md).
ACTIVITY: Final = "signInActivity"
# The permission for labels alone.
LABELS_ONLY: Final = "Group.ManageProtection.All"


def sufficient(operation: str, *, is_delegated: bool = False) -> frozenset[str]:
    """Return the permissions that allow an operation, each alone. One with ACTIVITY at its end reads that property."""
    if operation.endswith(f" {ACTIVITY}"):
        return frozenset({"AuditLog.Read.All"})
    if operation in _PAGES:
        return _PAGES[operation]
    method, path = operation.split(" ", 1)
    found = description(is_strict=True).find(method, path)
    assert found is not None, operation
    rows: Mapping[str, list[str]] = found.described["x-ms-permissions"]
    return frozenset(
        each.removesuffix("*") for each in rows.get("DelegatedWork" if is_delegated else "Application", ())
    )
