"""Connections to receivers that wait for the next call: those of one receiver are its own, and of all there are few."""

from collections import defaultdict
from collections.abc import Hashable
from typing import Final

from chamberlain.webhooks.connect import GuardedConnection

# As many as there are calls at a time while receivers keep up (worker/lanes.py). A process may have 1,024 of these and
# of files as a rule, and those that are in use need most of them.
MOST: Final = 128


class KeptConnections:
    """Keeps connections by what they lead to. With more than `most` the one that has waited longest is ended."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        # The one that has waited longest stands first; and the same for each receiver.
        self._all: dict[GuardedConnection, Hashable] = {}
        self._of: defaultdict[Hashable, list[GuardedConnection]] = defaultdict(list)
        self._closed = False

    async def take(self, receiver: Hashable) -> GuardedConnection | None:
        """The connection that was used last, if there is one that the receiver has not ended meanwhile."""
        while receiver in self._of:
            connection = self._of[receiver][-1]
            self._remove(connection)
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    async def keep(self, receiver: Hashable, connection: GuardedConnection) -> None:
        """Keep one that is not in use any more, and end what is too old or too many."""
        self._all[connection] = receiver
        self._of[receiver].append(connection)
        while self._all and (self._closed or len(self._all) > self._most or next(iter(self._all)).has_expired()):
            oldest = next(iter(self._all))
            self._remove(oldest)
            await oldest.aclose()

    async def close(self) -> None:
        """End all; what comes later is ended at once."""
        self._closed = True
        for connection in list(self._all):
            self._remove(connection)
            await connection.aclose()

    def _remove(self, connection: GuardedConnection) -> None:
        receiver = self._all.pop(connection)
        self._of[receiver].remove(connection)
        if not self._of[receiver]:
            del self._of[receiver]
