"""Where time and ids come from. Everybody else gets these passed in, so that tests can steer them."""

import secrets
from datetime import UTC, datetime
from uuid import UUID, uuid4

from chamberlain.rules.ids import TraceId


def now() -> datetime:
    """The time, with its zone."""
    return datetime.now(UTC)


def new_id() -> UUID:
    """An id that nobody can guess and nobody else has."""
    return uuid4()


def new_trace_id() -> TraceId:
    """A trace id as W3C Trace Context has it: 16 random bytes in hexadecimal digits."""
    return TraceId(secrets.token_hex(16))
