# SPDX-License-Identifier: Apache-2.0
"""Adds owners and members to groups and teams."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from chamberlain.core.errors import Rejected
from chamberlain.core.ids import GroupId, UserId
from chamberlain.directory.microsoft365.calls import groups as calls
from chamberlain.directory.microsoft365.calls import people as people_calls
from chamberlain.directory.microsoft365.calls import teams as team_calls
from chamberlain.directory.microsoft365.objects import Group, user_ids
from chamberlain.directory.microsoft365.wire.faults import Refused, not_yet
from chamberlain.directory.microsoft365.wire.graph import Graph

Item = TypeVar("Item")
_ID: Final = "id"


class Members:
    """Owners and members of the groups of one tenant."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    async def require_known(self, users: Sequence[UserId]) -> None:
        """Raise Rejected for users that the directory does not have."""
        unique = tuple(dict.fromkeys(users))
        found = await asyncio.gather(
            *[people_calls.users_by_id(self._graph, part, select=_ID) for part in chunks(unique, calls.MOST_CLAUSES)]
        )
        known = user_ids(each for part in found for each in part)
        unknown = next((each for each in unique if each not in known), None)
        if unknown is not None:
            raise Rejected("userUnknown", f"The directory has no user {unknown}.")

    async def add_owners(self, group: Group, users: Sequence[UserId]) -> None:
        """Add owners. Present ones stay."""
        if not users:
            return
        if group.is_team and not group.is_dynamic:
            await self._add_to_team(group.id, users, as_owners=True)
            return
        try:
            await asyncio.gather(*[calls.add_owner(self._graph, group.id, each) for each in users])
        except Refused as refused:
            await self._raise_missing(users, refused)

    async def add_members(self, group: Group, users: Sequence[UserId]) -> None:
        """Add members.

        Present ones stay. A dynamic group has none to add: Graph refuses them.
        """
        if not users or group.is_dynamic:
            return
        if group.is_team:
            # Teams takes up to a day to see members of the group.
            await self._add_to_team(group.id, users, as_owners=False)
            return
        try:
            for part in chunks(users, calls.MOST_REFERENCES):
                await self._bind(group.id, part)
        except Refused as refused:
            await self._raise_missing(users, refused)

    async def _bind(self, group_id: GroupId, users: Sequence[UserId]) -> None:
        try:
            await calls.bind_members(self._graph, group_id, users)
        except Refused as refused:
            if not refused.says("alreadyAdded"):
                raise
            # It is all or nothing, and the replica that was read may lag behind.
            await asyncio.gather(*[calls.add_member(self._graph, group_id, each) for each in users])

    async def _add_to_team(self, team_id: GroupId, users: Sequence[UserId], *, as_owners: bool) -> None:
        try:
            for part in chunks(users, team_calls.MOST_ADDED):
                failed = await team_calls.add_team_members(self._graph, team_id, part, as_owners=as_owners)
                if failed:
                    await self.require_known(tuple(failed))
                    raise not_yet()
        except Refused as refused:
            await self._raise_missing(users, refused)

    async def _raise_missing(self, users: Sequence[UserId], refused: Refused) -> None:
        """Raise the reason of a refused addition.

        It is an unknown user, or a replica without the group.
        """
        if not refused.is_missing:
            raise refused
        await self.require_known(users)
        raise not_yet() from refused


def chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Split items into parts of at most this size."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
