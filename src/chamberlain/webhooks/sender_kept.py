"""Connections to receivers that wait for the next call: those of one receiver are its own, and of all there are few."""

from collections import defaultdict
from collections.abc import Hashable
from datetime import timedelta
from time import monotonic
from typing import Final

from chamberlain.webhooks.sender_connect import GuardedConnection

# As many as there are calls at a time while receivers keep up (queue/lanes.py). A process may have 1,024 of these and
# of files as a rule, and those that are in use need most of them.
MOST: Final = 128
# How long one waits that is not used.
IDLE: Final = timedelta(seconds=30)


class KeptConnections:
    """Keeps connections by what they lead to, `most` of them at most and none for long: those that have waited longest
    are ended when another one comes."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        # What each leads to and since when it waits; the one that has waited longest stands first.
        self._all: dict[GuardedConnection, tuple[Hashable, float]] = {}
        # The same for each receiver, in the same order.
        self._of: defaultdict[Hashable, dict[GuardedConnection, None]] = defaultdict(dict)

    async def take(self, receiver: Hashable) -> GuardedConnection | None:
        """The connection that was used last, if there is one that the receiver has not ended meanwhile."""
        while receiver in self._of:
            connection = next(reversed(self._of[receiver]))
            self._remove(connection)
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    async def keep(self, receiver: Hashable, connection: GuardedConnection) -> None:
        """Keep one that is not in use any more, and end what is too old or too many."""
        self._all[connection] = receiver, monotonic()
        self._of[receiver][connection] = None
        while (surplus := self._surplus()) is not None:
            self._remove(surplus)
            await surplus.aclose()

    async def close(self) -> None:
        """End all; what comes later is ended at once."""
        self._most = 0
        for connection in list(self._all):
            self._remove(connection)
            await connection.aclose()

    def _surplus(self) -> GuardedConnection | None:
        """The one that has waited longest, if that is too long or if there are too many."""
        if not self._all:
            return None
        oldest, (_, since) = next(iter(self._all.items()))
        is_old = since < monotonic() - IDLE.total_seconds()
        return oldest if is_old or len(self._all) > self._most else None

    def _remove(self, connection: GuardedConnection) -> None:
        receiver, _ = self._all.pop(connection)
        del self._of[receiver][connection]
        if not self._of[receiver]:
            del self._of[receiver]
