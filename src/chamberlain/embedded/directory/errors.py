"""What can go wrong here, as one family.

DirectoryFault
|-- NotNow           it passes by itself: carries when to come back
|   |-- Unreachable  nothing answers: the database is away, or an outage is injected
|   |-- Throttled    too many calls
|   `-- NotYet       a group that was made, and is not known everywhere yet
|-- Refused          one thing cannot be as asked: a code and a sentence
|   `-- BadRule      a membership rule that is not understood, with the position
|-- CursorUnknown    a place in the changes that is not known here, or not any more
|-- Unauthorized     a call without a token, or with one that proves nothing
|-- Forbidden        a call that the token does not allow
`-- BadQuery         a query that is not understood, with the position where there is one
"""

from datetime import timedelta

# A database comes back within seconds or not at all.
_SOON = timedelta(seconds=2)


class DirectoryFault(Exception):
    """The root of the family."""


class NotNow(DirectoryFault):
    """It passes by itself; not before `after` is it worth asking again."""

    def __init__(self, detail: str, after: timedelta = _SOON) -> None:
        super().__init__(detail)
        self.after = after


class Unreachable(NotNow):
    """Nothing answers now."""


class Throttled(NotNow):
    """Too many calls; whoever asks has to slow down."""


class NotYet(NotNow):
    """A group that was made a moment ago, and that is not known everywhere yet."""


class Refused(DirectoryFault):
    """It cannot be as asked."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class BadRule(Refused):
    """A membership rule that is not understood; `position` counts characters from 1."""

    def __init__(self, what: str, position: int) -> None:
        super().__init__("ruleInvalid", f"The membership rule is not understood at character {position}: {what}")
        self.position = position


class CursorUnknown(DirectoryFault):
    """The cursor was made elsewhere, or before the database was replaced; all has to be read again."""


class Unauthorized(DirectoryFault):
    """No token (`had_token` is False), or one that proves nothing; the text is shown to whoever calls."""

    def __init__(self, detail: str, *, had_token: bool) -> None:
        super().__init__(detail)
        self.had_token = had_token


class Forbidden(DirectoryFault):
    """The token does not allow it; the text is shown to whoever calls."""


class BadQuery(DirectoryFault):
    """A query that is not understood; the text says what and where."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
