"""Decode JSON that the service stored, also where an earlier version stored texts that are refused today."""

from typing import Generic, TypeVar

import msgspec

from chamberlain.core.text import replace_unreadable

Value = TypeVar("Value")


class StoredDecoder(Generic[Value]):
    """Decodes one type. Control characters that an earlier version let in become U+FFFD.

    One bad text must not hide the rows beside it: lists, `export` and `apply` need all rows of a tenant.
    """

    def __init__(self, type_: type[Value]) -> None:
        self._type = type_
        self._decode = msgspec.json.Decoder(type_).decode

    def decode(self, content: bytes | str) -> Value:
        """Raise msgspec.ValidationError where more is wrong than characters."""
        try:
            return self._decode(content)
        except msgspec.ValidationError:
            return msgspec.convert(_replaced(msgspec.json.decode(content)), self._type)


def _replaced(value: object) -> object:
    if isinstance(value, str):
        return replace_unreadable(value)
    if isinstance(value, dict):
        return {replace_unreadable(name): _replaced(each) for name, each in value.items()}
    return [_replaced(each) for each in value] if isinstance(value, list) else value
