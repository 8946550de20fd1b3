"""Enumerations that take values that they do not know: the API may have more of them one day."""

from enum import IntEnum, StrEnum
from typing import Self


class OpenStrEnum(StrEnum):
    """Words of the API. One that is not known is a member of its own, for as long as it is held."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        member = str.__new__(cls, value)
        member._name_ = member._value_ = value
        return member

    @property
    def is_known(self) -> bool:
        """Whether this version of the SDK knows the word."""
        return self._name_ in type(self).__members__


class OpenIntEnum(IntEnum):
    """Numbers of the API, in the same way."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_, member._value_ = str(value), value
        return member

    @property
    def is_known(self) -> bool:
        """Whether this version of the SDK knows the number."""
        return self._name_ in type(self).__members__
