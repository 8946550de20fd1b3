# SPDX-License-Identifier: Apache-2.0
"""Base classes of the models: immutable values in camelCase, and open enumerations."""

from enum import IntEnum, StrEnum
from typing import Self

from msgspec import Struct


class Model(Struct, frozen=True, rename="camel"):
    """A value of the API: snake_case here, camelCase on the wire.

    It ignores unknown members.
    """


class Versioned(Model, frozen=True, kw_only=True):
    """A resource with an `etag`, which names its version.

    Items of a list have none. Pass the `etag` as `if_match` to change only the version that you read. It is never sent
    in a body.
    """

    etag: str | None = None


class OpenStrEnum(StrEnum):
    """Words of the API.

    A word of a later version becomes a member for as long as it is in use.
    """

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
    """Numbers of the API.

    A number of a later version becomes a member for as long as it is in use.
    """

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
