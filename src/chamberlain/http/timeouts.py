"""How long callers are waited for: one timer for all, since one for each costs more than reading most bodies."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Answer = TypeVar("Answer")


class Patience:
    """Lets each wait last for `seconds`. Belongs to one event loop, which keeps a timer only while somebody waits."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        # In the order in which they end, since all last equally long.
        self._ends: dict[asyncio.Task[object], float] = {}
        self._overdue: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def wait_for(self, awaited: Awaitable[Answer]) -> Answer:
        """What comes of it, or TimeoutError. A task may wait for one thing at a time."""
        loop = asyncio.get_running_loop()
        if (task := asyncio.current_task(loop)) is None:
            raise RuntimeError("Only a task can be ended while it waits.")
        self._ends[task] = loop.time() + self.seconds
        if self._timer is None:
            self._timer = loop.call_later(self.seconds, self._end_overdue)
        try:
            return await awaited
        except asyncio.CancelledError:
            # Whoever else cancels the task as well has the last word.
            if task in self._overdue and task.uncancel() == 0:
                raise TimeoutError from None
            raise
        finally:
            self._ends.pop(task, None)
            self._overdue.discard(task)

    def _end_overdue(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        while self._ends:
            task, end = next(iter(self._ends.items()))
            if end > loop.time():
                self._timer = loop.call_at(end, self._end_overdue)
                return
            del self._ends[task]
            self._overdue.add(task)
            task.cancel()
