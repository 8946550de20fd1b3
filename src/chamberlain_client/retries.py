"""Whether and when a call is made again. Pure: time and chance come in."""

from msgspec import Struct

from chamberlain_client.calls import Call
from chamberlain_client.errors import AnswerNotUnderstood, ChamberlainError, NotTrusted, Refused, Unreachable

# The first pause when the service names none; each one after it is twice as long, up to the longest.
_FIRST = 0.5
_LONGEST = 10.0


class Retries(Struct, frozen=True, kw_only=True):
    """How often and how long a call is tried: at most `attempts` times, and no new attempt later than `within` seconds
    after the first began. `Retries(attempts=1)` never tries again."""

    attempts: int = 5
    within: float = 60.0


def pause(
    retries: Retries, call: Call, error: ChamberlainError, *, attempt: int, elapsed: float, chance: float
) -> float | None:
    """How many seconds to wait before the next attempt; None when there is to be none. `chance` is 0 to 1: those who
    were refused together are not to come back together."""
    if attempt >= retries.attempts or not _may_be_repeated(call, error):
        return None
    asked = error.retry_after if isinstance(error, Refused) else None
    # Never earlier than the service asks for.
    seconds = min(_LONGEST, _FIRST * 2 ** (attempt - 1)) * (0.5 + chance / 2) if asked is None else asked + chance / 4
    return None if elapsed + seconds > retries.within else seconds


def _may_be_repeated(call: Call, error: ChamberlainError) -> bool:
    match error:
        case NotTrusted():
            return False
        case Unreachable():
            return call.is_repeatable or not error.was_sent
        case Refused():
            # Refused: nothing was done. The first call with a key may still be under way after its connection broke.
            return error.status in {429, 503} or error.code == "idempotencyKeyInProgress"
        case AnswerNotUnderstood() | _:
            return False
