# SPDX-License-Identifier: Apache-2.0
"""Conversations in Matrix, by a user of the application service.

Synapse has no /sync for the main user of an application service (synapse #1144), so the bot is another one. The rooms
are not encrypted, because the bot has no keys. Their content is what the approval mails have.
"""

import hashlib
from collections.abc import Collection, Mapping
from typing import Final, cast

from chamberlain.conversations.models import Message, Reaction, Received, Said
from chamberlain.core.ids import UserId
from chamberlain.directory.opensuite.entries import Entries
from chamberlain.directory.opensuite.layout import Layout
from chamberlain.directory.opensuite.matrix import Homeserver, Matrix, MatrixRefused, RoomEvent
from chamberlain.directory.opensuite.members import Members, local_part_of

_MESSAGE: Final = "m.room.message"
_REACTION: Final = "m.reaction"
_TEXT: Final = "m.text"
# Messages of one room in one call.
MOST_MESSAGES: Final = 100
# Concurrent calls get the second one (Synapse).
_IN_USE: Final = frozenset({"M_ROOM_IN_USE", "M_UNKNOWN"})


def bot_of(server: Homeserver) -> str:
    """Return the local part of the bot, as which its calls act."""
    return f"{server.bot}-approvals"


class MatrixMessenger:
    """The bot of one tenant.

    The local part of a user's id is the name in the directory. The homeserver vouches for the sender of an event: users
    of other homeservers have another domain in their ids.
    """

    def __init__(self, matrix: Matrix, entries: Entries, layout: Layout) -> None:
        self._matrix = matrix
        self._members = Members(entries, layout)
        self._layout = layout

    async def find_addresses(self, users: Collection[UserId]) -> Mapping[UserId, str]:
        """Find the ids of users whose sign-in is not blocked."""
        found = await self._members.named(users)
        blocked, _ = self._layout.disabled
        names = {
            user: local_part_of(entry, self._layout) for user, entry in found.items() if entry.one(blocked) is None
        }
        return {user: self._matrix.server.user(name) for user, name in names.items() if name is not None}

    async def open_room(self, user: UserId, address: str, name: str) -> str:
        """Return the room of the bot and a user.

        Creating a room is not idempotent. Its alias is: a second room with it is refused. The bot joins on behalf of
        the user, who then has no invitation to accept.
        """
        alias, login = f"chamberlain-approvals-{user}", address.removeprefix("@").partition(":")[0]
        room = await self._matrix.find_alias(self._matrix.server.alias(alias))
        if room is None:
            await self._matrix.register(bot_of(self._matrix.server))
            room = await self._create(alias, name, address)
        await self._matrix.register(login)
        await self._matrix.invite(room, login)
        await self._matrix.join(room, login)
        return room

    async def send(self, room: str, text: str, *, key: str, reply_to: str | None = None) -> str:
        """Send a message."""
        content: dict[str, object] = {"msgtype": _TEXT, "body": text}
        if reply_to is not None:
            content["m.relates_to"] = {"m.in_reply_to": {"event_id": reply_to}}
        return await self._matrix.send(room, _MESSAGE, _transaction(key), content)

    async def offer(self, room: str, message: str, reaction: str) -> None:
        """React to a message of the bot, unless it has."""
        relation = {"rel_type": "m.annotation", "event_id": message, "key": reaction}
        try:
            await self._matrix.send(room, _REACTION, _transaction(f"{message}/{reaction}"), {"m.relates_to": relation})
        except MatrixRefused as refused:
            if refused.matrix_code != "M_DUPLICATE_ANNOTATION":
                raise

    async def receive(self, position: str | None) -> Received:
        """Return what users said."""
        found, after = await self._matrix.receive({_MESSAGE, _REACTION}, position, MOST_MESSAGES)
        said = [
            each for room, events in found.items() for event in events if (each := parse_event(room, event)) is not None
        ]
        return Received(tuple(said), after)

    async def _create(self, alias: str, name: str, address: str) -> str:
        body = {
            "room_alias_name": alias,
            "name": name,
            "preset": "trusted_private_chat",
            "is_direct": True,
            "invite": [address],
            "room_version": self._matrix.server.room_version,
        }
        try:
            return await self._matrix.create_room(body)
        except MatrixRefused as refused:
            # Another worker creates it.
            room = (
                await self._matrix.find_alias(self._matrix.server.alias(alias))
                if refused.matrix_code in _IN_USE
                else None
            )
            if room is None:
                raise
            return room


def parse_event(room: str, event: RoomEvent) -> Said | None:
    """Parse an event.

    None for edits, and for events that are no text.
    """
    relation = event.content.get("m.relates_to")
    about = cast("dict[str, object]", relation) if isinstance(relation, dict) else {}
    if event.type == _REACTION:
        message, key = about.get("event_id"), about.get("key")
        is_complete = about.get("rel_type") == "m.annotation" and isinstance(message, str) and isinstance(key, str)
        return Reaction(event.event_id, room, event.sender, str(message), str(key)) if is_complete else None
    text = event.content.get("body")
    if event.content.get("msgtype") != _TEXT or not isinstance(text, str) or about.get("rel_type") == "m.replace":
        return None
    replied = about.get("m.in_reply_to")
    reference = replied.get("event_id") if isinstance(replied, dict) else None
    return Message(event.event_id, room, event.sender, reference if isinstance(reference, str) else None, text)


def _transaction(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:40]
