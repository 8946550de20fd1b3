# SPDX-License-Identifier: Apache-2.0
"""The errors of the directory, as one family.

DirectoryFault
|-- NotNow           temporary: carries the delay before a retry
|   |-- Unreachable  the database is down, or an outage is injected
|   |-- Throttled    too many calls
|   `-- NotYet       a new object that is not visible yet
|-- CodedFault       permanent: a code and a sentence
|   |-- Refused      one object is not possible
|   |   `-- WriteRefused  a write that is not possible, with the property
|   |-- BadQuery     an invalid query of the HTTP surface, with the position if there is one
|   `-- NotThere     an unknown resource of the HTTP surface
|-- Broken           another database refuses the connection: an administrator repairs it
|-- CursorUnknown    a cursor of changes that is not valid in this database
|-- Unauthorized     a call without a valid token
`-- Forbidden        a call that the token does not permit
"""

from datetime import timedelta

# A database restart takes a few seconds.
_SOON = timedelta(seconds=2)


class DirectoryFault(Exception):
    """The root of the family."""


class NotNow(DirectoryFault):
    """A temporary error; retry after `after`."""

    def __init__(self, detail: str, after: timedelta = _SOON) -> None:
        super().__init__(detail)
        self.after = after


class Unreachable(NotNow):
    """The directory is not reachable; retry later."""


class Throttled(NotNow):
    """The client sends too many calls; retry later."""


class NotYet(NotNow):
    """A new group or mailbox is not visible everywhere yet."""


class CodedFault(DirectoryFault):
    """A permanent error with a code and a sentence."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class Refused(CodedFault):
    """The desired state of an object is not possible."""


class WriteRefused(Refused):
    """A write is not possible and has changed nothing.

    `target` is the property, in the spelling of Graph.
    The codes are `objectUnknown`, `valueInvalid`, `valueMissing`, `valueTaken`, `notChangeable`, `notSupported`,
    `alreadyReferenced`, `notReferenced`, `lastOwner`, `isDynamic`, `alreadyExists` and `teamUnknown`.
    """

    def __init__(self, code: str, detail: str, target: str | None = None) -> None:
        super().__init__(code, detail)
        self.target = target


class Broken(DirectoryFault):
    """The database of the directory refuses the connection.

    `code` is passwordRefused, databaseUnknown, schemaMissing or privilegeMissing.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class CursorUnknown(DirectoryFault):
    """The cursor is from another database.

    The client must start again without one.
    """


class Unauthorized(DirectoryFault):
    """The token is missing (`had_token` is False) or invalid.

    The client sees the text.
    """

    def __init__(self, detail: str, *, had_token: bool) -> None:
        super().__init__(detail)
        self.had_token = had_token


class Forbidden(DirectoryFault):
    """The token does not permit the call. The client sees the text."""


class BadQuery(CodedFault):
    """A query is invalid; the text contains the reason and the position."""
