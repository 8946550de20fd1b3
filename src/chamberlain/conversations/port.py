# SPDX-License-Identifier: Apache-2.0
"""Interface of the chat of a tenant.

Every method raises TryAgain if the chat does not answer, and Rejected if it refuses a call permanently.
"""

from collections.abc import Collection, Mapping
from typing import Protocol

from chamberlain.conversations.models import Received
from chamberlain.core.ids import UserId


class Messenger(Protocol):
    """The bot in the chat of one tenant."""

    async def find_addresses(self, users: Collection[UserId]) -> Mapping[UserId, str]:
        """Find the ids of users in the chat.

        Users who cannot sign in there are omitted.
        """
        ...

    async def open_room(self, user: UserId, address: str, name: str) -> str:
        """Return the room of the bot and a user.

        It is created if needed (idempotent).
        """
        ...

    async def send(self, room: str, text: str, *, key: str, reply_to: str | None = None) -> str:
        """Send a message, and return its id.

        The same `key` sends it once.
        """
        ...

    async def offer(self, room: str, message: str, reaction: str) -> None:
        """React to a message of the bot (idempotent).

        The user then needs one tap for the same reaction.
        """
        ...

    async def receive(self, position: str | None) -> Received:
        """Return what users said in all rooms after a position.

        None reads the latest messages. Messages of the bot are omitted. Messages may repeat.
        """
        ...
