# SPDX-License-Identifier: Apache-2.0
"""Scans of groups, and their changes by delta queries.

A cursor has the link of Graph, which is valid for seven days in every process. Each changed group is read again with
its marks: whether delta queries return values of extensions is not published.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import msgspec

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import GroupId, TenantId
from chamberlain.directory.microsoft365.calls import groups as calls
from chamberlain.directory.microsoft365.objects import parse_group, summary_of
from chamberlain.directory.microsoft365.wire.faults import Answer, Refused, away, not_yet
from chamberlain.directory.microsoft365.wire.graph import Graph
from chamberlain.directory.port import MOST_CHANGES, SubjectChanges
from chamberlain.directory.subjects import SubjectSummary

_UNKNOWN: Final = "The directory does not know this cursor. Read all groups again."
# An expired token, a reset, and a token that Graph cannot read.
_EXPIRED: Final = frozenset({"syncStateNotFound", "resyncRequired", "Directory_InvalidDeltaToken"})
_GONE: Final = 410


class _Cursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A position in the changes of a tenant: a link of Graph."""

    tenant: UUID
    directory: str
    link: str


_cursors = msgspec.json.Decoder(_Cursor)


class GraphChanges:
    """Groups of one tenant and their changes.

    `directory` identifies the directory in cursors.
    """

    def __init__(self, graph: Graph, directory: str) -> None:
        self._graph = graph
        self._directory = directory

    async def changes(self, tenant_id: TenantId, extension: str, cursor: str | None) -> SubjectChanges:
        """Read the next page of groups or their changes."""
        link = None if cursor is None else self._link(tenant_id, cursor)
        changed: dict[GroupId, Mapping[str, Any]] = {}
        is_complete = False
        # Graph decides on the size of its pages. The last change of a group counts.
        while len(changed) < MOST_CHANGES and not is_complete:
            answer = await self._read(link, extension)
            for each in answer.body["value"]:
                group_id = GroupId(UUID(each["id"]))
                changed.pop(group_id, None)
                changed[group_id] = each
            is_complete = "@odata.nextLink" not in answer.body
            before, link = link, str(answer.body["@odata.deltaLink" if is_complete else "@odata.nextLink"])
            if link == before and not is_complete:
                # The pages would never end.
                raise away()
        present = [each for each in changed.values() if not _is_removed(each)]
        subjects = await asyncio.gather(*[self._summary(tenant_id, each, extension) for each in present])
        return SubjectChanges(
            subjects=tuple(subjects),
            removed=tuple([group_id for group_id, each in changed.items() if _is_removed(each)]),
            cursor=msgspec.json.encode(_Cursor(tenant_id, self._directory, link or "")).decode(),
            is_complete=is_complete,
        )

    async def _read(self, link: str | None, extension: str) -> Answer:
        try:
            if link is None:
                return await calls.read_changes(self._graph, extension)
            return await calls.follow_changes(self._graph, link)
        except Refused as refused:
            if refused.status == _GONE or refused.graph_code in _EXPIRED:
                raise Rejected("cursorUnknown", _UNKNOWN) from refused
            raise

    async def _summary(self, tenant_id: TenantId, entity: Mapping[str, Any], extension: str) -> SubjectSummary:
        """Read a changed group again for its marks.

        The other properties of the change are newer than a replica.
        """
        found = await calls.read_group(self._graph, GroupId(UUID(entity["id"])), extension)
        if found is None and "displayName" not in entity:
            # A replica hides a new group, or it was deleted meanwhile: the next attempt reports that.
            raise not_yet()
        return summary_of(parse_group({**(found or {}), **entity}, extension), tenant_id)

    def _link(self, tenant_id: TenantId, cursor: str) -> str:
        """Decode a cursor. Raises Rejected for one of another tenant or directory."""
        try:
            place = _cursors.decode(cursor)
        except (msgspec.MsgspecError, ValueError) as error:
            raise Rejected("cursorUnknown", _UNKNOWN) from error
        is_own = (place.tenant, place.directory) == (tenant_id, self._directory)
        if not is_own or not place.link.startswith(f"{self._graph.base}/groups/delta"):
            raise Rejected("cursorUnknown", _UNKNOWN)
        return place.link


def _is_removed(entity: Mapping[str, Any]) -> bool:
    """Return whether a group was removed.

    One in the recycle bin is removed too, and restorable.
    """
    return "@removed" in entity
