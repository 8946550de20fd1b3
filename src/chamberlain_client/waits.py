"""How long to wait between two looks. Pure: nobody waits here."""

from collections.abc import Iterator

# What the directory's documentation tells clients: look after 20 s, then every 10 s, for 30 s.
FIRST_LOOK = 20.0
EVERY = 10.0
FOR = 30.0
# Longer than any directory needs; a service that asks for more is not obeyed.
LATEST = 300.0

# A request is looked at soon, then less and less often.
_SOON = 0.5
_SELDOM = 10.0


def looks(retry_after: float | None) -> Iterator[float]:
    """The seconds before each look at a request, without end."""
    seconds = _SOON if retry_after is None else retry_after
    while True:
        yield seconds
        seconds = min(_SELDOM, max(_SOON, seconds * 1.5))


def looks_for_group(retry_after: float | None) -> Iterator[float]:
    """The seconds before each look for a group in the directory. Where the service has said when to look first, it is
    looked for as often; the last look is 30 seconds after the first, and the first after five minutes at the latest."""
    first = FIRST_LOOK if retry_after is None else min(retry_after, LATEST)
    every = min(EVERY, max(1.0, first))
    yield first
    yield from [every] * int(FOR // every)
