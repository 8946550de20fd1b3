"""Those who wait for a request to change, in this process: one connection listens for all of them.

What is heard is only that something changed; whoever waits reads what. So a notification that is lost or heard twice
costs a look, and nobody is told anything that is not theirs.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from chamberlain.core.ids import RequestId

REQUESTS_CHANNEL = "chamberlain_requests"


class Watchers:
    """Wakes whoever watches a request that is named in a notification; an empty one wakes everybody."""

    def __init__(self) -> None:
        self._watching: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    def __len__(self) -> int:
        """How many watch."""
        return sum(map(len, self._watching.values()))

    @contextmanager
    def watching(self, request_id: RequestId) -> Iterator[asyncio.Event]:
        """An event that is set when the request may have changed; whoever waits clears it before looking."""
        name, changed = str(request_id), asyncio.Event()
        self._watching[name].add(changed)
        try:
            yield changed
        finally:
            self._watching[name].discard(changed)
            if not self._watching[name]:
                del self._watching[name]

    def heard(self, payload: str) -> None:
        """To be called with the text of each notification."""
        names = payload.split(",") if payload else list(self._watching)
        for name in names:
            for changed in self._watching.get(name, ()):
                changed.set()
