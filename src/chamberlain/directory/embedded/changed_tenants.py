# SPDX-License-Identifier: Apache-2.0
"""The port that names changed tenants, on the embedded directory."""

from collections.abc import Sequence

from chamberlain.core.ids import TenantId
from chamberlain.directory import port
from chamberlain.directory.embedded.mapping import port_errors
from chamberlain.embedded.directory.changes import Changes


class EmbeddedChangedTenants(port.ChangedTenants):
    """Compares cursors with the changes of all tenants.

    `changes` must have the worker's role.
    """

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    async def changed_tenants(self, cursors: Sequence[port.TenantCursors]) -> frozenset[TenantId]:
        """Return the tenants with changes after their cursors."""
        with port_errors():
            found = await self._changes.changed_tenants(
                {each.tenant_id: (each.subjects, each.mailboxes) for each in cursors}
            )
        return frozenset(map(TenantId, found))
