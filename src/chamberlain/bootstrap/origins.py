"""Where time and ids come from. Everybody else gets these passed in, so that tests can steer them."""

import os
from base64 import b64encode
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.rules.ids import TraceId

# Drawn from the system beforehand, since one call of the kernel costs more than all else about an id. A list, because
# taking from it is safe from every thread.
_drawn: list[bytes] = []
_DRAWN_AT_ONCE = 256


def now() -> datetime:
    """The time, with its zone."""
    return datetime.now(UTC)


def new_id() -> UUID:
    """An id that nobody can guess and nobody else has."""
    return UUID(bytes=_random(), version=4)


def new_webhook_secret() -> str:
    """A secret as Standard Webhooks has it: `whsec_` and the base64 of 32 random bytes."""
    return f"whsec_{b64encode(_random() + _random()).decode('ascii')}"


def new_trace_id() -> TraceId:
    """A trace id as W3C Trace Context has it: 16 random bytes in hexadecimal digits."""
    return TraceId(_random().hex())


def _random() -> bytes:
    """Sixteen bytes."""
    try:
        return _drawn.pop()
    except IndexError:
        drawn = os.urandom(16 * _DRAWN_AT_ONCE)
        _drawn.extend(drawn[start : start + 16] for start in range(16, len(drawn), 16))
        return drawn[:16]
