"""Time and chance, as tests want to steer them. The two differ in how one waits."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from random import random

from msgspec import Struct


class Clock(Struct, frozen=True, kw_only=True):
    """`now` counts seconds, `today` is seconds since 1970, `chance` gives a number from 0 to 1."""

    now: Callable[[], float] = time.monotonic
    today: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random


class AsyncClock(Struct, frozen=True, kw_only=True):
    """The same for those who await."""

    now: Callable[[], float] = time.monotonic
    today: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random
