# SPDX-License-Identifier: Apache-2.0
"""Compare the state of a room with the wanted one. Pure.

The events are those of the Client-Server API of Matrix ("Room Events").
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from chamberlain.directory.opensuite.matrix import Homeserver, StateEvent
from chamberlain.directory.subjects import AddedBy, GuestRules, normalised

# Power levels. The bot is above owners, so that it can remove one. A level of 101 is above every owner: only the bot
# may invite then, and no owner may lower it (authorization rules of room versions 6 to 12).
_BOT, _OWNER, _ONLY_BOT, _MODERATOR, _MEMBER = 200, 100, 101, 50, 0
# Users write into channels, and not into the space itself.
_EVENTS_OF_SPACE: Final = 100
# Versions in which the creator has no level, and is refused in the list of levels. Later ones keep that.
_CREATOR_IN_LEVELS: Final = frozenset(str(number) for number in range(1, 12))

_LEVELS: Final = "m.room.power_levels"
_SERVERS: Final = "m.room.server_acl"


@dataclass(frozen=True, slots=True)
class RoomAccess:
    """The level that may invite, and the servers that may take part.

    With `allowed_servers` of None, all may take part but the blocked ones.
    """

    invite: int
    allowed_servers: tuple[str, ...] | None = None
    blocked_servers: tuple[str, ...] = ()

    def events(self, server: Homeserver, state: Sequence[StateEvent]) -> tuple[StateEvent, ...]:
        """Return the events that set this access."""
        levels = {**_found(state, _LEVELS), "invite": self.invite}
        allowed = ["*"] if self.allowed_servers is None else list(dict.fromkeys((server.name, *self.allowed_servers)))
        blocked = [each for each in self.blocked_servers if each != normalised(server.name)]
        acl = {"allow": allowed, "deny": blocked, "allow_ip_literals": False}
        is_open = self.allowed_servers is None and not blocked
        has_acl = bool(_found(state, _SERVERS))
        events = (StateEvent(_LEVELS, "", levels),)
        return events if is_open and not has_acl else (*events, StateEvent(_SERVERS, "", acl))


# Of a team without rules for guests: owners invite. Members of a private team would open it to others otherwise.
DEFAULT_ACCESS: Final = RoomAccess(_OWNER)
_INVITE: Final = {AddedBy.MEMBERS: _MEMBER, AddedBy.OWNERS: _OWNER, AddedBy.ADMINISTRATORS: _ONLY_BOT}


def access_of(rules: GuestRules | None) -> RoomAccess:
    """Convert the rules for guests.

    Matrix does not distinguish invitations of guests from those of other users. Servers are enforced for guests with an
    account elsewhere only.
    """
    if rules is None:
        return DEFAULT_ACCESS
    if not rules.allowed:
        return RoomAccess(_ONLY_BOT, allowed_servers=())
    allowed = tuple(map(normalised, rules.allowed_domains)) or None
    return RoomAccess(_INVITE[rules.added_by], allowed, tuple(map(normalised, rules.blocked_domains)))


@dataclass(frozen=True, slots=True)
class TeamInRooms:
    """The states of the rooms of a team."""

    server: Homeserver
    rooms: tuple[Sequence[StateEvent], ...]

    @property
    def people(self) -> frozenset[str]:
        """Return the local parts of users in the rooms, or invited."""
        users = frozenset[str]().union(*[with_membership(state, {"join", "invite"}) for state in self.rooms])
        parts = [user[1:].partition(":") for user in users]
        return frozenset(local_part for local_part, _, name in parts if name == self.server.name)

    def enforced_rules(self, rules: GuestRules) -> GuestRules:
        """Return the rules for guests as the rooms enforce them."""
        return enforced_rules(rules, self.rooms, self.server)


def enforced_rules(rules: GuestRules, rooms: Iterable[Sequence[StateEvent]], server: Homeserver) -> GuestRules:
    """Return the rules for guests that the rooms enforce.

    Owners of a room can change its levels and its servers. The most open room counts: one in which fewer users may
    invite breaks no rule, and an entry that was changed by hand is not hidden by the rooms.
    """
    access = access_of(rules)
    enforced = rules
    for state in rooms:
        found, wanted = _access_in(state, server), _access_in(access.events(server, state), server)
        has_others = _has_others(found, wanted)
        if not rules.allowed and (has_others or found.invite < wanted.invite):
            return replace(rules, allowed=True)
        if found.invite < _INVITE[enforced.added_by]:
            added_by = AddedBy.MEMBERS if found.invite < _OWNER else AddedBy.OWNERS
            enforced = replace(enforced, added_by=added_by)
        if has_others:
            allowed = found.allowed_servers or ()
            enforced = replace(enforced, allowed_domains=allowed, blocked_domains=found.blocked_servers)
    return enforced


@dataclass(frozen=True, slots=True)
class WantedRoom:
    """Desired state of a space, or of a room in `space_id`.

    `key` makes its alias. `topic` of None stays as it is, and so does an `access` of None in a present room.
    """

    key: str
    name: str
    topic: str | None
    people: tuple[str, ...]
    owners: frozenset[str]
    is_public: bool
    access: RoomAccess | None
    space_id: str | None = None

    @property
    def alias(self) -> str:
        """Return the local part of its unique alias."""
        return f"chamberlain-{self.key}"

    def body(self, server: Homeserver) -> Mapping[str, object]:
        """Return the body that creates the room with its state."""
        events = wanted_state(self, server, ())
        [levels] = [each.content for each in events if each.type == _LEVELS]
        return {
            "room_alias_name": self.alias,
            "preset": "public_chat" if self.is_public else "private_chat",
            "visibility": "public" if self.is_public else "private",
            "room_version": server.room_version,
            "creation_content": {"type": "m.space"} if self.space_id is None else {},
            "power_level_content_override": levels,
            "initial_state": [
                {"type": each.type, "state_key": each.state_key, "content": each.content}
                for each in events
                if each.type != _LEVELS
            ],
        }


def wanted_state(wanted: WantedRoom, server: Homeserver, state: Sequence[StateEvent]) -> Sequence[StateEvent]:
    """Return the events that the room should have.

    Levels of other users stay: users of Matrix may have named moderators.
    """
    access = wanted.access
    if access is None and not _found(state, _LEVELS):
        access = DEFAULT_ACCESS
    of_access = () if access is None else access.events(server, state)
    invite = next((each.content["invite"] for each in of_access if each.type == _LEVELS), None)
    events = [
        StateEvent("m.room.name", "", {"name": wanted.name}),
        StateEvent("m.room.join_rules", "", _join_rule(wanted)),
        # Anonymous users of the homeserver, which are no guests of Chamberlain.
        StateEvent("m.room.guest_access", "", {"guest_access": "forbidden"}),
        StateEvent(_LEVELS, "", _levels(wanted, server, state, invite)),
        *(each for each in of_access if each.type != _LEVELS),
    ]
    if wanted.topic is not None:
        events.append(StateEvent("m.room.topic", "", {"topic": wanted.topic}))
    if wanted.space_id is not None:
        content = {"via": [server.name], "canonical": True}
        events.append(StateEvent("m.space.parent", wanted.space_id, content))
    return events


def differing(wanted: Iterable[StateEvent], state: Sequence[StateEvent]) -> list[StateEvent]:
    """Return the wanted events that the state lacks.

    Other parts of their present content stay.
    """
    found = {(each.type, each.state_key): each.content for each in state}
    events = []
    for each in wanted:
        present = found.get((each.type, each.state_key), {})
        merged = {**present, **each.content}
        if merged != present:
            events.append(StateEvent(each.type, each.state_key, merged))
    return events


def levels_without(users: Collection[str], state: Sequence[StateEvent]) -> tuple[StateEvent, ...]:
    """Return the event that takes the levels of users away."""
    levels = _found(state, _LEVELS)
    present = _users(levels)
    left = {user: level for user, level in present.items() if user not in users}
    return () if left == present else (StateEvent(_LEVELS, "", {**levels, "users": left}),)


def with_membership(state: Sequence[StateEvent], memberships: Collection[str]) -> set[str]:
    """Return the ids of the users with one of these memberships."""
    return {
        each.state_key
        for each in state
        if each.type == "m.room.member" and each.content.get("membership") in memberships
    }


def _access_in(state: Sequence[StateEvent], server: Homeserver) -> RoomAccess:
    """Return the access of a present room."""
    level, acl = _found(state, _LEVELS).get("invite"), _found(state, _SERVERS)
    allowed = [each for each in _names(acl.get("allow", ["*"])) if each != server.name]
    return RoomAccess(
        # A missing level is 0 (Client-Server API, m.room.power_levels).
        invite=level if isinstance(level, int) else 0,
        allowed_servers=None if "*" in allowed else tuple(allowed),
        blocked_servers=tuple(_names(acl.get("deny", []))),
    )


def _has_others(found: RoomAccess, wanted: RoomAccess) -> bool:
    """Return whether servers may take part that should not."""
    if wanted.allowed_servers is not None:
        return found.allowed_servers is None or not set(found.allowed_servers) <= set(wanted.allowed_servers)
    return found.allowed_servers is None and not set(wanted.blocked_servers) <= set(found.blocked_servers)


def _names(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _levels(
    wanted: WantedRoom, server: Homeserver, state: Sequence[StateEvent], invite: object | None
) -> dict[str, object]:
    found = _found(state, _LEVELS)
    users = _users(found)
    users |= {server.user(each): _OWNER for each in wanted.owners if not _owns(users.get(server.user(each)))}
    # In a room of other users, the bot may not raise itself.
    if not found and _version(server, state) in _CREATOR_IN_LEVELS:
        users[server.user(server.bot)] = _BOT
    levels = {
        "users_default": _MEMBER,
        "events_default": _EVENTS_OF_SPACE if wanted.space_id is None else _MEMBER,
        "state_default": _MODERATOR,
        "kick": _MODERATOR,
        "ban": _MODERATOR,
        "redact": _MODERATOR,
        **({} if invite is None else {"invite": invite}),
    }
    # Present levels stay, but for those that are the point.
    return {**levels, **found, "users": users, **({} if invite is None else {"invite": invite})}


def _owns(level: object) -> bool:
    return isinstance(level, int) and level >= _OWNER


def _join_rule(wanted: WantedRoom) -> dict[str, object]:
    if wanted.is_public:
        return {"join_rule": "public"}
    if wanted.space_id is None:
        return {"join_rule": "invite"}
    return {"join_rule": "restricted", "allow": [{"type": "m.room_membership", "room_id": wanted.space_id}]}


def _version(server: Homeserver, state: Sequence[StateEvent]) -> str:
    """Return the version of a present room, or of new ones."""
    content = _found(state, "m.room.create")
    # A create event without a version is of version 1.
    return str(content.get("room_version", "1")) if content else server.room_version


def _found(state: Sequence[StateEvent], event_type: str) -> dict[str, object]:
    return next((each.content for each in state if each.type == event_type and not each.state_key), {})


def _users(levels: Mapping[str, object]) -> dict[str, object]:
    users = levels.get("users")
    return dict(users) if isinstance(users, dict) else {}
