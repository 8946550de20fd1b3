# SPDX-License-Identifier: Apache-2.0
"""The tree of expected errors.

    ChamberlainError
    |-- Refusal                 the service rejects a call; nothing was changed
    |   |-- Unauthenticated     the caller is unknown
    |   |-- Forbidden           the caller lacks the right
    |   |-- Malformed           the call is unreadable
    |   |-- BodyInvalid         the body is invalid; the first 100 faults are listed
    |   |-- NotPossible         the body is valid, but violates rules; the first 100 are listed
    |   |-- KeyReused           the idempotency key has another body
    |   |-- NotFound            the object is missing or invisible
    |   |-- Stale               the object has changed since it was read
    |   |-- Conflict            another object or state conflicts
    |   |-- LimitReached        a quota is exhausted
    |   `-- Unavailable         a temporary failure; a retry may succeed
    |       `-- DatabaseUnavailable  the database, with the cause
    |-- OutsideFault            a directory or another server failed
    |   |-- TryAgain            temporary: has the time of the retry and the cause
    |   |   |-- ConnectionBroken  the tenant's connection needs an administrator
    |   |   `-- BudgetWait        the service limits its own calls
    |   `-- Rejected            permanent: has the reason
    `-- OperatorFault           an operator has to correct the installation or a file
        |-- CannotStart         a process or command cannot start
        `-- FileInvalid         a configuration file cannot be read or written

Each has a stable code (docs/reference/errors.md) and a sentence with the next step. http/problems.py maps them to
HTTP statuses. Any other exception is a bug.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from itertools import chain, islice
from typing import ClassVar

from chamberlain.core.outages import Outage
from chamberlain.core.reasons import UNCODED, Reason
from chamberlain.core.sentences import NO_VALUES, Values, Word, phrase
from chamberlain.core.text import one_line

# Most faults in a response. Callers fix no more at once, and each costs processor time.
MOST_FAULTS = 100


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a body: JSON Pointer, stable code and fix.

    `values` are the numbers and words of the sentence. `hints` are more of them, for forms that phrase it in their own
    words: the bounds of a number, and the rule of a text. Responses have no hints.
    """

    pointer: str
    code: str
    detail: str
    values: Values = field(default_factory=dict, hash=False)
    hints: Values = field(default_factory=dict, hash=False, compare=False)

    @classmethod
    def build(cls, pointer: str, code: str, template: str, /, **values: Word) -> "Fault":
        """Format the sentence from its values, so that they cannot differ."""
        return cls(pointer, code, phrase(template, values), values)


def first_faults(*groups: Iterable[Fault]) -> tuple[Fault, ...]:
    """Take as many faults as a refusal needs.

    That is one more than it lists. Generators stop there.
    """
    return tuple(islice(chain.from_iterable(groups), MOST_FAULTS + 1))


class ChamberlainError(Exception):
    """Base class of all expected errors."""


class Refusal(ChamberlainError):
    """A rejected call, with a stable code and a sentence.

    `values` are the numbers and words of the sentence, if the class gives them.
    """

    values: Values = NO_VALUES

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class Unauthenticated(Refusal):
    """The token is missing or invalid."""


class Forbidden(Refusal):
    """The caller lacks the right.

    `sufficient` names the permissions that would suffice, if any.
    """

    def __init__(self, code: str, detail: str, *, sufficient: Sequence[str] = ()) -> None:
        super().__init__(code, detail)
        self.sufficient = tuple(sufficient)


class Malformed(Refusal):
    """A parameter, an id or the whole body is unreadable."""

    @classmethod
    def build(cls, code: str, template: str, /, **values: Word) -> "Malformed":
        """Format the sentence from its values."""
        malformed = cls(code, phrase(template, values))
        malformed.values = values
        return malformed


class BodyInvalid(Refusal):
    """Validation errors of a body.

    The first 100 are listed. A generator of faults stops there. `are_truncated` says that there are more; a caller that
    copies the faults of another refusal copies it as well.
    """

    def __init__(self, faults: Iterable[Fault], *, are_truncated: bool = False) -> None:
        taken = first_faults(faults)
        self.faults = taken[:MOST_FAULTS]
        self.are_truncated = are_truncated or len(taken) > MOST_FAULTS
        count = _count_errors(self.faults, are_truncated=self.are_truncated)
        super().__init__("invalidBody", f"The body has {count}.")


class NotPossible(Refusal):
    """Rule violations of a valid body.

    The first 100 are listed as in BodyInvalid.
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        taken = first_faults(faults)
        self.faults = taken[:MOST_FAULTS]
        self.are_truncated = len(taken) > MOST_FAULTS
        count = _count_errors(self.faults, are_truncated=self.are_truncated)
        super().__init__("notPossible", f"The request has {count}.")


class KeyReused(Refusal):
    """An idempotency key was used before with another body."""

    def __init__(self) -> None:
        super().__init__(
            "idempotencyKeyReused",
            "This Idempotency-Key was used before for a different request. Use a new key for a new request.",
        )


class NotFound(Refusal):
    """The object does not exist, or is invisible to this caller."""

    def __init__(self, detail: str) -> None:
        super().__init__("notFound", detail)


class Stale(Refusal):
    """The object has changed since the caller read it (optimistic lock)."""


class Conflict(Refusal):
    """Another object or state conflicts.

    `conflicting_id` names it if the caller may read it. `faults` point to the property of the body that conflicts.
    """

    def __init__(
        self, code: str, detail: str, *, conflicting_id: str | None = None, after: timedelta | None = None
    ) -> None:
        super().__init__(code, detail)
        self.conflicting_id = conflicting_id
        self.after = after
        self.faults: tuple[Fault, ...] = ()

    @classmethod
    def at(cls, fault: Fault) -> "Conflict":
        """A property of the body conflicts."""
        conflict = cls(fault.code, fault.detail)
        conflict.faults = (fault,)
        return conflict

    @classmethod
    def build(cls, code: str, template: str, /, **values: Word) -> "Conflict":
        """Format the sentence from its values."""
        conflict = cls(code, phrase(template, values))
        conflict.values = values
        return conflict

    @classmethod
    def in_progress(cls) -> "Conflict":
        """The first call with an idempotency key is still in progress."""
        detail = "The first request with this Idempotency-Key is still in progress. Send it again after a second."
        return cls("idempotencyKeyInProgress", detail, after=timedelta(seconds=1))


class LimitReached(Refusal):
    """A quota is exhausted.

    `limit` names it, `after` is the time until a retry can succeed.
    """

    def __init__(self, code: str, template: str, *, limit: str, after: timedelta, values: Values = NO_VALUES) -> None:
        super().__init__(code, phrase(template, values))
        self.values = values
        self.limit = limit
        self.after = after


class Unavailable(Refusal):
    """A temporary failure of the service.

    `after` is a fair time until the retry.
    """

    def __init__(self, code: str, detail: str, *, after: timedelta = timedelta(seconds=1)) -> None:
        super().__init__(code, detail)
        self.after = after


class DatabaseUnavailable(Unavailable):
    """The database is unavailable, for the cause in `outage`."""

    def __init__(self, outage: Outage) -> None:
        super().__init__("databaseUnavailable", f"{outage.seen} Send the request again.")
        self.outage = outage


class OutsideFault(ChamberlainError):
    """A failure of a directory or another server.

    Its sentence may come from there. It is stored and shown, so it is made one line.
    """


class Cause(StrEnum):
    """Cause of a temporary failure.

    `notYet`: an earlier write is not visible yet. `busy`: the directory asks to slow down. `away`: it does not answer.
    """

    NOT_YET = "notYet"
    BUSY = "busy"
    AWAY = "away"


class TryAgain(OutsideFault):
    """A temporary failure.

    A retry may succeed after `after`. `because` has the code and values of the reason. A failure that is no attempt
    counts against no end.
    """

    is_attempt: ClassVar[bool] = True

    def __init__(self, after: timedelta, reason: str | Reason, cause: Cause = Cause.NOT_YET) -> None:
        said = reason if isinstance(reason, Reason) else Reason.build(UNCODED, problem=one_line(reason))
        super().__init__(said.sentence)
        self.reason = said.sentence
        self.because = said
        self.after = after
        self.cause = cause


class ConnectionBroken(TryAgain):
    """The directory refuses the tenant's connection.

    For example, a credential has lapsed. An administrator repairs it. No request is at fault.
    """

    is_attempt = False

    def __init__(self, after: timedelta, reason: str | Reason) -> None:
        super().__init__(after, reason, Cause.AWAY)


class BudgetWait(TryAgain):
    """A call waits for its turn in a budget of the service.

    The directory was not asked. The turn is after `after`.
    """

    is_attempt = False

    def __init__(self, after: timedelta) -> None:
        super().__init__(after, Reason.build("budgetUsed"), Cause.BUSY)


class Rejected(OutsideFault):
    """A permanent failure, with a stable code and a sentence."""

    def __init__(self, code: str, detail: str) -> None:
        self.detail = one_line(detail)
        super().__init__(self.detail)
        self.code = code


class OperatorFault(ChamberlainError):
    """A fault of the installation or a file that an operator fixes."""


class CannotStart(OperatorFault):
    """A process or command cannot start.

    Commands know faults of the service by this class, without importing it.
    """


class FileInvalid(OperatorFault):
    """A configuration file cannot be read or written."""


def _count_errors(faults: Sequence[Fault], *, are_truncated: bool) -> str:
    if are_truncated:
        return f"more than {len(faults)} errors"
    return "1 error" if len(faults) == 1 else f"{len(faults)} errors"
