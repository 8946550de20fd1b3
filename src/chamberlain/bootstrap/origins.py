"""Where time and ids come from. Everybody else gets these passed in, so that tests can steer them."""

import os
from base64 import b64encode
from datetime import UTC, datetime
from uuid import UUID

from chamberlain.rules.ids import TraceId
from chamberlain.store.ids import random_ids

# Drawn from the system beforehand, since one call of the kernel costs more than all else about an id. Lists, because
# taking from them is safe from every thread.
_ids: list[UUID] = []
_trace_ids: list[TraceId] = []
_DRAWN_AT_ONCE = 256


def now() -> datetime:
    """The time, with its zone."""
    return datetime.now(UTC)


def new_id() -> UUID:
    """An id that nobody can guess and nobody else has."""
    try:
        return _ids.pop()
    except IndexError:
        one, *others = random_ids(os.urandom(16 * _DRAWN_AT_ONCE))
        _ids.extend(others)
        return one


def new_trace_id() -> TraceId:
    """A trace id as W3C Trace Context has it: 16 random bytes in hexadecimal digits."""
    try:
        return _trace_ids.pop()
    except IndexError:
        digits = os.urandom(16 * _DRAWN_AT_ONCE).hex()
        one, *others = [TraceId(digits[start : start + 32]) for start in range(0, len(digits), 32)]
        _trace_ids.extend(others)
        return one


def new_webhook_secret() -> str:
    """A secret as Standard Webhooks has it: `whsec_` and the base64 of 32 random bytes."""
    return f"whsec_{b64encode(os.urandom(32)).decode('ascii')}"
