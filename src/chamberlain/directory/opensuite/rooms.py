# SPDX-License-Identifier: Apache-2.0
"""Teams as Matrix spaces, with a room for each channel.

The creation of a room is neither atomic nor idempotent (matrix-spec #222, synapse #15005). An alias made of the id of
the request is the fence: of two concurrent calls, one is refused. A homeserver that dies meanwhile leaves a room with
the alias and without the bot, or without some of its state. So every event of the state is compared and set, and a
room that the bot does not enter soon is replaced.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from chamberlain.core.errors import TryAgain
from chamberlain.directory.opensuite.matrix import HierarchyRoom, Matrix, MatrixRefused, StateEvent
from chamberlain.directory.opensuite.room_state import (
    RoomAccess,
    TeamInRooms,
    WantedRoom,
    differing,
    levels_without,
    wanted_state,
    with_membership,
)

# A room that another call creates has the bot within these: 12 looks in 3 s (verified by the prototype).
_LOOKS: Final = 12
_PAUSE_SECONDS: Final = 0.25
# Replaced rooms in a row. More mean that the homeserver does not work.
_MOST_REPLACED: Final = 3
_NOT_MADE_AFTER: Final = timedelta(seconds=10)
# Rooms that are ensured at the same time, teams that are read, and users who enter a room. Synapse runs on one core.
_ROOMS_AT_ONCE: Final = 4
_USERS_AT_ONCE: Final = 8

State = Sequence[StateEvent]


@dataclass(frozen=True, slots=True)
class WantedTeam:
    """Desired state of a team in Matrix.

    `key` is the id of its request. `space_id` is its space, if the directory knows it. `people` and `owners` are local
    parts of user ids; owners are people too. `access` is None to leave that of present rooms.
    """

    key: str
    name: str
    description: str | None
    is_public: bool
    people: tuple[str, ...]
    owners: frozenset[str]
    access: RoomAccess | None = None
    space_id: str | None = None


class Rooms:
    """Creates, completes and reads the rooms of teams.

    Every method raises TryAgain, ConnectionBroken and MatrixRefused, as the calls of the homeserver do.
    """

    def __init__(self, matrix: Matrix, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._matrix = matrix
        self._sleep = sleep
        self._at_once = asyncio.Semaphore(_ROOMS_AT_ONCE)
        self._reads = asyncio.Semaphore(_ROOMS_AT_ONCE)
        self._registered: set[str] = set()

    async def ensure_space(self, team: WantedTeam) -> str:
        """Create or complete the space of a team, and return its id.

        The name, the topic and the join rule of a present space stay.
        """
        wanted = WantedRoom(
            key=team.key,
            name=team.name,
            topic=team.description,
            people=team.people,
            owners=team.owners,
            is_public=team.is_public,
            access=team.access,
        )
        kept = frozenset({"m.room.name", "m.room.topic", "m.room.join_rules"})
        return (await self._ensure(wanted, team.space_id, kept))[0]

    async def ensure_channels(self, team: WantedTeam, space_id: str, channels: Sequence[str]) -> None:
        """Create or complete the channels of a space, in their order."""
        present = await self._rooms_of(space_id) or ()
        by_name = {room.name: room.room_id for room in reversed(present[1:])}
        room_ids = []
        for name in channels:
            wanted = WantedRoom(
                key=channel_key(team.key, name),
                name=name,
                topic=None,
                people=team.people,
                owners=team.owners,
                is_public=team.is_public,
                access=team.access,
                space_id=space_id,
            )
            room_id, _ = await self._ensure(wanted, by_name.get(name), frozenset())
            room_ids.append(room_id)
        await self._attach(space_id, room_ids)

    async def channels(self, space_id: str) -> tuple[str, ...] | None:
        """List the names of the channels in their order.

        None if there is no such space.
        """
        found = await self._rooms_of(space_id)
        return None if found is None else tuple([room.name for room in found[1:]])

    async def describe(self, team: WantedTeam, space_id: str) -> None:
        """Set the name, the topic and the join rule of a space."""
        state = await self._matrix.state(space_id)
        if state is None:
            return
        wanted = WantedRoom(
            key=team.key,
            name=team.name,
            topic=team.description or "",
            people=(),
            owners=frozenset(),
            is_public=team.is_public,
            access=None,
        )
        described = {"m.room.name", "m.room.topic", "m.room.join_rules"}
        events = [each for each in wanted_state(wanted, self._matrix.server, state) if each.type in described]
        await self._put(space_id, differing(events, state))

    async def set_access(self, space_id: str, access: RoomAccess) -> None:
        """Set the access in all rooms of a team."""
        for room in await self._rooms_of(space_id) or ():
            state = await self._matrix.state(room.room_id)
            if state is not None:
                await self._put(room.room_id, differing(access.events(self._matrix.server, state), state))

    async def read(self, space_id: str) -> TeamInRooms:
        """Read the rooms of a team that the bot is in."""
        found = await self._rooms_of(space_id) or ()
        async with self._reads:
            states = await asyncio.gather(*[self._matrix.state(room.room_id) for room in found])
        return TeamInRooms(self._matrix.server, tuple([each for each in states if each is not None]))

    async def remove(self, space_id: str, local_parts: Iterable[str]) -> None:
        """Remove users and their levels from the rooms of a team."""
        users = {self._matrix.server.user(each) for each in local_parts}
        # The channels first: a user of the space may enter them again.
        for room in reversed(await self._rooms_of(space_id) or ()):
            await self._remove(room.room_id, users)

    async def last_seen(self, local_part: str) -> datetime | None:
        """Return the last activity of a user, if the homeserver tells it."""
        return await self._matrix.last_seen(local_part)

    async def deactivate(self, local_part: str) -> bool:
        """Block the sign-in of a user.

        False if the service may not do it.
        """
        return await self._matrix.deactivate(local_part)

    async def _rooms_of(self, space_id: str) -> Sequence[HierarchyRoom] | None:
        """List a space and its rooms without those of other teams.

        Owners decide which rooms are in a space. The bot is in the rooms of all teams, and would open them to this one.
        """
        found = await self._matrix.hierarchy(space_id)
        if found is None:
            return None
        space, *others = found
        async with self._reads:
            are_foreign = await asyncio.gather(
                *[self._matrix.is_in_another_space(each.room_id, space_id) for each in others]
            )
        return (space, *[room for room, is_foreign in zip(others, are_foreign, strict=True) if not is_foreign])

    async def _ensure(self, wanted: WantedRoom, room_id: str | None, kept: frozenset[str]) -> tuple[str, State]:
        """Create or complete a room.

        Events of `kept` types are set only if they are missing.
        """
        async with self._at_once:
            state: State | None = None if room_id is None else await self._matrix.state(room_id)
            if room_id is None or state is None:
                room_id, state = await self._find_or_create(wanted)
            events = wanted_state(wanted, self._matrix.server, state)
            present = {(each.type, each.state_key) for each in state}
            events = [each for each in events if each.type not in kept or (each.type, each.state_key) not in present]
            await self._put(room_id, differing(events, state))
            await self._admit(room_id, wanted.people, state)
            return room_id, state

    async def _find_or_create(self, wanted: WantedRoom) -> tuple[str, State]:
        alias = self._matrix.server.alias(wanted.alias)
        replaced: list[str] = []
        for _ in range(_MOST_REPLACED):
            room_id = await self._matrix.find_alias(alias) or await self._create(wanted, alias)
            state = None if room_id is None else await self._entered(room_id)
            if room_id is not None and state is not None:
                for each in replaced:
                    # A slow creation may have completed it meanwhile.
                    await self._matrix.leave(each)
                return room_id, state
            if room_id is not None and await self._matrix.find_alias(alias) == room_id:
                # Its creation has stopped: no user is in it, and none will be.
                await self._matrix.delete_alias(alias)
                replaced.append(room_id)
        raise TryAgain(_NOT_MADE_AFTER, "The Matrix server has not completed the room of a team.")

    async def _create(self, wanted: WantedRoom, alias: str) -> str | None:
        """Create a room, unless a concurrent call has created it.

        Returns the room with the alias. A slow creation may have lost it to another call.
        """
        try:
            room_id = await self._matrix.create_room(wanted.body(self._matrix.server))
        except MatrixRefused as refused:
            # Both mean that the alias is in use. The second is the answer to one of two calls at the same time.
            if refused.matrix_code == "M_ROOM_IN_USE" or refused.status == 409:
                return await self._matrix.find_alias(alias)
            raise
        found = await self._matrix.find_alias(alias)
        if found is None:
            await self._matrix.put_alias(alias, room_id)
            found = await self._matrix.find_alias(alias)
        if found != room_id:
            await self._matrix.leave(room_id)
        return found

    async def _entered(self, room_id: str) -> State | None:
        """Read the state of a room once the bot is in it.

        None if it does not enter soon.
        """
        for look in range(_LOOKS):
            if look:
                await self._sleep(_PAUSE_SECONDS)
            state = await self._matrix.state(room_id)
            if state is not None:
                return state
        return None

    async def _put(self, room_id: str, events: Iterable[StateEvent]) -> None:
        for each in events:
            await self._matrix.put_state(room_id, each)

    async def _admit(self, room_id: str, people: Sequence[str], state: State) -> None:
        """Let users enter a room without accepting an invitation."""
        # A ban by an administrator of the homeserver stays.
        skipped = with_membership(state, {"join", "ban"})
        missing = [each for each in people if self._matrix.server.user(each) not in skipped]
        for first in range(0, len(missing), _USERS_AT_ONCE):
            await asyncio.gather(*(self._enter(room_id, each) for each in missing[first : first + _USERS_AT_ONCE]))

    async def _enter(self, room_id: str, local_part: str) -> None:
        if local_part not in self._registered:
            await self._matrix.register(local_part)
            self._registered.add(local_part)
        await self._matrix.invite(room_id, local_part)
        try:
            await self._matrix.join(room_id, local_part)
        except MatrixRefused as refused:
            # A disabled guest has no account any more, and may still be in the group.
            if refused.matrix_code != "M_USER_DEACTIVATED":
                raise

    async def _attach(self, space_id: str, room_ids: Sequence[str]) -> None:
        """Put rooms into a space in their order.

        Other rooms of the space stay.
        """
        content: Mapping[str, object] = {"via": [self._matrix.server.name], "suggested": True}
        events = [
            StateEvent("m.space.child", room_id, {**content, "order": f"{number:04}"})
            for number, room_id in enumerate(room_ids, 1)
        ]
        await self._put(space_id, differing(events, await self._matrix.state(space_id) or ()))

    async def _remove(self, room_id: str, users: set[str]) -> None:
        state = await self._matrix.state(room_id)
        if state is None:
            return
        await self._put(room_id, differing(levels_without(users, state), state))
        for user in sorted(users & with_membership(state, {"join", "invite", "knock"})):
            try:
                await self._matrix.kick(room_id, user, "Removed by the rules for guests")
            except MatrixRefused:
                # The user may have left meanwhile.
                if user in with_membership(await self._matrix.state(room_id) or (), {"join", "invite"}):
                    raise


def channel_key(team_key: str, name: str) -> str:
    """Derive the key of a channel from its name."""
    return f"{team_key}-{sha256(name.encode()).hexdigest()[:12]}"
