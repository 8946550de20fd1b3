# SPDX-License-Identifier: Apache-2.0
"""Sets the guest setting of groups.

A setting has an id of its own, which a replica may hide for minutes. Recent writes are remembered, so that the next
change does not read an older state.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chamberlain.core.ids import GroupId
from chamberlain.directory.microsoft365.calls import settings as calls
from chamberlain.directory.microsoft365.wire.faults import Refused, not_yet
from chamberlain.directory.microsoft365.wire.graph import Graph

# Groups with a remembered setting. A few hundred bytes each.
_MOST_KEPT: Final = 1_000
# Attempts, 20 seconds apart, until a hidden setting counts as deleted by another program.
_MOST_MISSES: Final = 15
# Replicas agree after that time. Ours: Microsoft publishes none.
_KEPT_SECONDS: Final = 1_200.0


@dataclass(frozen=True, slots=True)
class _Written:
    """A written setting. `misses` are the attempts that did not find it."""

    setting_id: str
    until: float
    misses: int = 0


class GuestSettings:
    """The guest settings of the groups of one tenant.

    `now` is a clock in seconds.
    """

    def __init__(self, graph: Graph, now: Callable[[], float] = time.monotonic) -> None:
        self._graph = graph
        self._now = now
        self._written: OrderedDict[GroupId, _Written] = OrderedDict()

    async def has_set(self, group_id: GroupId, *, is_allowed: bool | None) -> bool:
        """Set or delete the setting of a group.

        Returns False if another call came first. Raises TryAgain while a replica hides the last write.
        """
        try:
            await self._set(group_id, is_allowed)
        except Refused as refused:
            written = self._written.pop(group_id, None)
            if refused.is_missing and written is not None and written.misses < _MOST_MISSES:
                self._written[group_id] = replace(written, misses=written.misses + 1)
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
        written = self._written.get(group_id)
        if written is not None and self._now() < written.until:
            return [written.setting_id]
        self._written.pop(group_id, None)
        return [str(each["id"]) for each in await calls.list_guest_settings(self._graph, group_id)]

    def _keep(self, group_id: GroupId, setting_id: str) -> None:
        self._written[group_id] = _Written(setting_id, self._now() + _KEPT_SECONDS)
        self._written.move_to_end(group_id)
        while len(self._written) > _MOST_KEPT:
            self._written.popitem(last=False)
