# SPDX-License-Identifier: Apache-2.0
"""Clocks, retries with backoff, and polling intervals."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from random import random

from msgspec import Struct

from chamberlain_client.calls import Call
from chamberlain_client.errors import AnswerNotUnderstood, ChamberlainError, NotTrusted, Refused, Unreachable

# Backoff in seconds, for responses without Retry-After. Each delay is twice the one before.
_FIRST_DELAY = 0.5
_LONGEST_DELAY = 10.0

# The directory's documentation asks clients to look after 20 s, then every 10 s, for 30 s.
_FIRST_LOOK = 20.0
_LOOK_EVERY = 10.0
_LOOK_FOR = 30.0
# No directory needs longer. A larger Retry-After is cut to this.
_LATEST_FIRST_LOOK = 300.0

_SHORTEST_POLL = 0.5
_LONGEST_POLL = 10.0


class Clock(Struct, frozen=True, kw_only=True):
    """Time and randomness, which tests replace.

    `now` counts seconds, `today` is seconds since 1970, `chance` gives a number from 0 to 1.
    """

    now: Callable[[], float] = time.monotonic
    today: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random


class AsyncClock(Struct, frozen=True, kw_only=True):
    """The clock of the asynchronous client."""

    now: Callable[[], float] = time.monotonic
    today: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random


class Retries(Struct, frozen=True, kw_only=True):
    """Limits of retries.

    There are at most `attempts` attempts, the last at most `within` seconds after the first began.
    `Retries(attempts=1)` never retries.
    """

    attempts: int = 5
    within: float = 60.0


def retry_delay(
    retries: Retries, call: Call, error: ChamberlainError, *, attempt: int, elapsed: float, chance: float
) -> float | None:
    """Compute the seconds before the next attempt; None for no retry.

    `chance`, from 0 to 1, spreads clients that were refused together.
    """
    if attempt >= retries.attempts or not _is_retryable(call, error):
        return None
    requested = error.retry_after if isinstance(error, Refused) else None
    if requested is None:
        seconds = min(_LONGEST_DELAY, _FIRST_DELAY * 2 ** (attempt - 1)) * (0.5 + chance / 2)
    else:
        # Never earlier than the service asks for.
        seconds = requested + chance / 4
    return None if elapsed + seconds > retries.within else seconds


def poll_intervals(retry_after: float | None) -> Iterator[float]:
    """Generate the seconds before each poll of a request, without end."""
    seconds = _SHORTEST_POLL if retry_after is None else retry_after
    while True:
        yield seconds
        seconds = min(_LONGEST_POLL, max(_SHORTEST_POLL, seconds * 1.5))


def group_poll_intervals(retry_after: float | None) -> Iterator[float]:
    """Generate the seconds before each search for a group in the directory.

    A shorter `retry_after` of the service is also the interval. The last search is 30 seconds after the first.
    """
    first = _FIRST_LOOK if retry_after is None else min(retry_after, _LATEST_FIRST_LOOK)
    every = min(_LOOK_EVERY, max(1.0, first))
    yield first
    yield from [every] * int(_LOOK_FOR // every)


def _is_retryable(call: Call, error: ChamberlainError) -> bool:
    match error:
        case NotTrusted():
            return False
        case Unreachable():
            return call.is_repeatable or not error.was_sent
        case Refused():
            # A refused call did nothing. After a broken connection, the first call with a key may still be running.
            return error.status in {429, 503} or error.code == "idempotencyKeyInProgress"
        case AnswerNotUnderstood() | _:
            return False
