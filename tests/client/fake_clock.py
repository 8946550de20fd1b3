# SPDX-License-Identifier: Apache-2.0
"""A fake clock, which moves only by sleeping."""

from dataclasses import dataclass, field

from chamberlain_client import AsyncClock, Clock


@dataclass(slots=True)
class FakeClock:
    """`slept` has all sleeps in seconds. `wall` is the time in seconds since 1970."""

    wall: float = 1_800_000_000.0
    slept: list[float] = field(default_factory=list)

    def clock(self) -> Clock:
        return Clock(now=self._now, today=lambda: self.wall, sleep=self.slept.append, chance=lambda: 0.0)

    def async_clock(self) -> AsyncClock:
        return AsyncClock(now=self._now, today=lambda: self.wall, sleep=self._sleep, chance=lambda: 0.0)

    def _now(self) -> float:
        return sum(self.slept)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
