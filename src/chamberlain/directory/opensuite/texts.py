# SPDX-License-Identifier: Apache-2.0
"""Texts that the servers of a suite cannot store. Pure."""

from collections.abc import Iterable
from typing import Final

from chamberlain.core.errors import Rejected
from chamberlain.directory.opensuite.ldap import Refused, Result

# Texts that the syntax of an attribute does not permit.
_UNSTORABLE: Final = frozenset({Result.INVALID_ATTRIBUTE_SYNTAX, Result.OBJECT_CLASS_VIOLATION})


def require_storable(texts: Iterable[str | None]) -> None:
    """Raise Rejected for NUL and lone surrogates, which UTF-8 text lacks."""
    for each in texts:
        if each is not None and any(one == "\0" or "\ud800" <= one <= "\udfff" for one in each):
            raise Rejected("notAccepted", "The directory cannot store one of the texts. Remove control characters.")


def rejected(refused: Refused) -> Rejected:
    """Give a refusal of the LDAP server the code of the ports."""
    return Rejected("notAccepted", refused.detail) if refused.result in _UNSTORABLE else refused
