# SPDX-License-Identifier: Apache-2.0
"""Marks existing groups.

Graph has no precondition for a change, so a mark is read, written, and read by the next observation. Mailboxes are not
managed yet.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from chamberlain.core.errors import OutsideFault, Rejected
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.directory.mailboxes import ObservedMailbox
from chamberlain.directory.microsoft365.calls import groups as calls
from chamberlain.directory.microsoft365.objects import Group
from chamberlain.directory.microsoft365.wire.faults import Refused, again_after_conflict
from chamberlain.directory.microsoft365.wire.graph import Graph
from chamberlain.directory.models import ObjectType
from chamberlain.directory.port import Adoptions, MailboxChanges, MailboxPage, Marking

_REQUEST = "requestId"


class GraphAdoptions(Adoptions):
    """Existing groups of one tenant."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    async def mailboxes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> MailboxPage:  # noqa: ARG002
        """List no mailboxes."""
        return MailboxPage((), None)

    async def observe(
        self,
        tenant_id: TenantId,  # noqa: ARG002 - of no tenant.
        extension: str,  # noqa: ARG002 - of no tenant.
        ids: Sequence[UUID],
    ) -> Sequence[ObservedMailbox | None]:
        """Observe no mailboxes."""
        return [None for _ in ids]

    async def changed_mailboxes(
        self,
        tenant_id: TenantId,  # noqa: ARG002 - of no tenant.
        extensions: Sequence[str],  # noqa: ARG002 - of no tenant.
        cursor: str | None,
    ) -> MailboxChanges:
        """List no changed mailboxes."""
        return MailboxChanges((), cursor or "none", is_complete=True)

    async def mark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Set each mark."""
        return await asyncio.gather(*map(self._mark, markings))

    async def unmark(self, markings: Sequence[Marking]) -> Sequence[OutsideFault | None]:
        """Remove exactly this mark from each object."""
        return await asyncio.gather(*map(self._unmark, markings))

    async def _mark(self, marking: Marking) -> OutsideFault | None:
        try:
            group = await self._read(marking)
            if group is None:
                raise Rejected("gone", f"The directory does not have {marking.id} any more.")
            present = group.marks.get(_REQUEST)
            if present is not None and present.lower() != str(marking.request_id):
                raise Rejected("alreadyManaged", f"{marking.id} has the mark of another request.")
            if present is None:
                body = {marking.extension: {_REQUEST: str(marking.request_id)}}
                await calls.update_group(self._graph, group.id, body)
            if group.unique_name is None:
                await self._name(group, marking)
        except OutsideFault as fault:
            return again_after_conflict(fault)
        return None

    async def _name(self, group: Group, marking: Marking) -> None:
        """Set the unique name of a group, which can be set once.

        It finds the group before the index of marks does.
        """
        try:
            await calls.name_group(self._graph, group.id, marking.request_id)
        except Refused as refused:
            # Another group of the same request has it, and the mark finds this one.
            if "uniqueName" not in refused.targets:
                raise

    async def _unmark(self, marking: Marking) -> OutsideFault | None:
        try:
            group = await self._read(marking)
            if group is not None and group.marks.get(_REQUEST, "").lower() == str(marking.request_id):
                await calls.update_group(self._graph, group.id, {marking.extension: {_REQUEST: None}})
        except OutsideFault as fault:
            return again_after_conflict(fault)
        return None

    async def _read(self, marking: Marking) -> Group | None:
        if marking.type is not ObjectType.GROUP:
            raise Rejected("mailboxesNotSupported", "This adapter does not manage mailboxes yet.")
        return await calls.get_group(self._graph, GroupId(marking.id), marking.extension)
