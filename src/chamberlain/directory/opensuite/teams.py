# SPDX-License-Identifier: Apache-2.0
"""Teams: groups with a space in Matrix.

The entry of the group has the id of the space. Its owners and members are users of the space and of its channels.
"""

import asyncio
from collections.abc import Collection, Sequence

from chamberlain.core.reasons import Reason
from chamberlain.core.text import clean_line
from chamberlain.directory.groups import MemberShipType, WantedGroup
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.entry import Entry, normalized_dn
from chamberlain.directory.opensuite.guest_settings import stored_rules
from chamberlain.directory.opensuite.layout import Layout
from chamberlain.directory.opensuite.members import Members, display_name_of, local_part_of
from chamberlain.directory.opensuite.room_state import RoomAccess, TeamInRooms, access_of
from chamberlain.directory.opensuite.rooms import Rooms, WantedTeam
from chamberlain.directory.port import Shortfall
from chamberlain.directory.steps import Step

_TEAM = "team"


class Teams:
    """The teams of one tenant.

    `rooms` is None in a suite without Matrix: no group is a team there.
    """

    def __init__(self, entries: Entries, layout: Layout, rooms: Rooms | None) -> None:
        self._entries = entries
        self._layout = layout
        self._names = layout.names
        self._rooms = rooms
        self._members = Members(entries, layout)

    @property
    def are_possible(self) -> bool:
        """Return whether the suite has teams."""
        return self._rooms is not None

    def space_of(self, entry: Entry) -> str | None:
        """Return the space of a group, None if it is no team."""
        return None if self._rooms is None else entry.one(self._names.room)

    async def channels(self, entries: Sequence[Entry]) -> Sequence[tuple[str, ...] | None]:
        """Read the names of channels in their order.

        None for each group that is no team.
        """
        return await asyncio.gather(*[self._channels(each) for each in entries])

    async def create(self, wanted: WantedGroup, entry: Entry) -> tuple[Shortfall, ...]:
        """Create or complete the space of a group with its people."""
        if self._rooms is None:
            return ()
        team, unreachable = await self._team(wanted, entry)
        await self._keep_space(entry, await self._rooms.ensure_space(team))
        return tuple([_left_out(name, Step.CREATE_TEAM) for name in unreachable])

    async def create_channels(self, wanted: WantedGroup, entry: Entry) -> None:
        """Create or complete the channels of a team with its people."""
        space_id = self.space_of(entry)
        if self._rooms is not None and space_id is not None:
            team, _ = await self._team(wanted, entry)
            await self._rooms.ensure_channels(team, space_id, wanted.channels or ())

    async def admit(self, wanted: WantedGroup, entry: Entry) -> None:
        """Let new people of a group into its space and channels."""
        if self._rooms is not None and self.space_of(entry) is not None:
            team, _ = await self._team(wanted, entry)
            # A space that the homeserver has lost is created again.
            space_id = await self._rooms.ensure_space(team)
            await self._keep_space(entry, space_id)
            channels = await self._rooms.channels(space_id)
            await self._rooms.ensure_channels(team, space_id, channels or ())

    async def describe(self, wanted: WantedGroup, entry: Entry) -> None:
        """Set name, topic and join rule of the space of a group."""
        space_id = self.space_of(entry)
        if self._rooms is not None and space_id is not None:
            await self._rooms.describe(_wanted_team(wanted, space_id, (), frozenset(), None), space_id)

    async def set_access(self, entry: Entry, access: RoomAccess) -> None:
        """Set the access in the rooms of a group."""
        space_id = self.space_of(entry)
        if self._rooms is not None and space_id is not None:
            await self._rooms.set_access(space_id, access)

    async def read(self, entry: Entry) -> TeamInRooms | None:
        """Read the rooms of a group, None if it is no team."""
        space_id = self.space_of(entry)
        return None if self._rooms is None or space_id is None else await self._rooms.read(space_id)

    async def remove(self, entry: Entry, users: Collection[Entry]) -> None:
        """Remove users from the space and the channels of a group."""
        space_id = self.space_of(entry)
        local_parts = [each for user in users if (each := local_part_of(user, self._layout)) is not None]
        if self._rooms is not None and space_id is not None and local_parts:
            await self._rooms.remove(space_id, local_parts)

    async def _keep_space(self, entry: Entry, space_id: str) -> None:
        if entry.one(self._names.room) != space_id:
            await self._entries.set(entry.dn, {self._names.room: [space_id], self._names.type: [_TEAM]})

    async def _channels(self, entry: Entry) -> tuple[str, ...] | None:
        space_id = self.space_of(entry)
        return None if self._rooms is None or space_id is None else await self._rooms.channels(space_id)

    async def _team(self, wanted: WantedGroup, entry: Entry) -> tuple[WantedTeam, Sequence[str]]:
        """Return the team with the people of the group.

        The second value has the names of those without a Matrix id.
        """
        owner_dns = set(map(normalized_dn, entry.all(self._names.owner)))
        users = await self._members.behind((*owner_dns, *entry.all(self._names.member)))
        found: dict[str, str] = {}
        unreachable = []
        for dn, user in users.items():
            local_part = local_part_of(user, self._layout)
            if local_part is None:
                unreachable.append(clean_line(display_name_of(user, self._layout)))
            else:
                found[dn] = local_part
        owners = frozenset(local_part for dn, local_part in found.items() if dn in owner_dns)
        rules = stored_rules(entry.one(self._names.guest_rules))
        access = None if rules is None else access_of(rules)
        people = tuple(sorted(found.values()))
        return _wanted_team(wanted, self.space_of(entry), people, owners, access), sorted(unreachable)


def _wanted_team(
    wanted: WantedGroup,
    space_id: str | None,
    people: tuple[str, ...],
    owners: frozenset[str],
    access: RoomAccess | None,
) -> WantedTeam:
    return WantedTeam(
        key=str(wanted.request_id),
        name=wanted.display_name,
        description=wanted.description or None,
        is_public=wanted.member_ship_type is MemberShipType.PUBLIC,
        people=people,
        owners=owners,
        access=access,
        space_id=space_id,
    )


def _left_out(name: str, step: Step) -> Shortfall:
    problem = f"{name} has a user name that Matrix does not permit, and is not in the team."
    return Shortfall(step, Reason.build("partNotSet", problem=problem))
