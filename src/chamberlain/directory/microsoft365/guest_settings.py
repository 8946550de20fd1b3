# SPDX-License-Identifier: Apache-2.0
"""Sets the guest setting of groups.

A setting has an id of its own, which a replica may hide for minutes. Recent writes are remembered, so that the next
change does not read an older state.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from chamberlain.core.ids import GroupId
from chamberlain.directory.microsoft365.calls import settings as calls
from chamberlain.directory.microsoft365.wire.faults import Refused, not_yet
from chamberlain.directory.microsoft365.wire.graph import Graph

# Groups with a remembered setting. A few hundred bytes each.
_MOST_KEPT: Final = 1_000
# Attempts, 20 seconds apart, until a hidden setting counts as deleted by another program.
_MOST_MISSES: Final = 15


class GuestSettings:
    """The guest settings of the groups of one tenant."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        # The id of the written setting of a group, with the number of attempts that did not find it.
        self._written: OrderedDict[GroupId, tuple[str, int]] = OrderedDict()

    async def has_set(self, group_id: GroupId, *, is_allowed: bool | None) -> bool:
        """Set or delete the setting of a group.

        Returns False if another call came first. Raises TryAgain while a replica hides the last write.
        """
        try:
            await self._set(group_id, is_allowed)
        except Refused as refused:
            written, misses = self._written.pop(group_id, (None, 0))
            if refused.is_missing and written is not None and misses < _MOST_MISSES:
                self._keep(group_id, written, misses + 1)
                raise not_yet() from refused
            if refused.is_missing or refused.is_conflict:
                return False
            raise
        return True

    async def _set(self, group_id: GroupId, is_allowed: bool | None) -> None:  # noqa: FBT001 - a value.
        present = await self._present(group_id)
        if is_allowed is None:
            for each in present:
                await calls.delete_guest_setting(self._graph, group_id, each)
            self._written.pop(group_id, None)
        elif present:
            await calls.update_guest_setting(self._graph, group_id, present[0], is_allowed=is_allowed)
            self._keep(group_id, present[0])
        else:
            created = await calls.create_guest_setting(self._graph, group_id, is_allowed=is_allowed)
            self._keep(group_id, str(created["id"]))

    async def _present(self, group_id: GroupId) -> Sequence[str]:
        """Return the ids of the present settings. There is one at most."""
        if group_id in self._written:
            return self._written[group_id][:1]
        return [str(each["id"]) for each in await calls.list_guest_settings(self._graph, group_id)]

    def _keep(self, group_id: GroupId, setting_id: str, misses: int = 0) -> None:
        self._written[group_id] = (setting_id, misses)
        self._written.move_to_end(group_id)
        while len(self._written) > _MOST_KEPT:
            self._written.popitem(last=False)
