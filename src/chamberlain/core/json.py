# SPDX-License-Identifier: Apache-2.0
"""Parse JSON objects of calls and of stored rows.

Of duplicate members the last one counts, as in other JSON libraries (RFC 8259 leaves it open).
"""

from typing import Generic, TypeVar

import msgspec

from chamberlain.core.errors import Malformed
from chamberlain.core.text import replace_unreadable


def number(text: str) -> int | float:
    """Parse a number; a whole one becomes an int."""
    value = float(text)
    return int(value) if value.is_integer() else value


def parse_object(raw: bytes) -> dict[str, object]:
    """Parse a JSON object.

    A number with a point or an exponent is a float, whole or not. Raises Malformed.
    """
    return _object(_DECODER, raw)


def parse_with_whole_numbers(raw: bytes) -> dict[str, object]:
    """Parse a JSON object in which 2.0 is 2.

    Its digest needs that. It calls Python for each number, which takes 60 ms for a body full of them. Use it for
    validated bodies. Raises Malformed.
    """
    return _object(_WHOLE_NUMBERS, raw)


def _object(decoder: msgspec.json.Decoder[object], raw: bytes) -> dict[str, object]:
    value = _parse(decoder, raw)
    if not isinstance(value, dict):
        raise Malformed("notAnObject", "The body must be a JSON object: begin it with { and end it with }.")
    return value


def _parse(decoder: msgspec.json.Decoder[object], raw: bytes) -> object:
    if not raw.strip():
        raise Malformed("notJson", "The body is empty. Send a JSON object.")
    try:
        return decoder.decode(raw)
    except UnicodeDecodeError as error:
        raise Malformed("notJson", "The body is not UTF-8.") from error
    except RecursionError as error:
        raise Malformed("notJson", "The body is nested too deeply.") from error
    except msgspec.ValidationError as error:
        raise Malformed("notJson", "The body holds a number that is too large to be read.") from error
    except msgspec.DecodeError as error:
        raise Malformed("notJson", f"The body is not JSON: {_where(error)}.") from error


# Without the hook, msgspec takes 8 us for a number such as 1e300, which is 0.6 s for a body full of them.
_DECODER = msgspec.json.Decoder(object, float_hook=float)
_WHOLE_NUMBERS = msgspec.json.Decoder(object, float_hook=number)


def _where(error: msgspec.DecodeError) -> str:
    """Return the decoder's message without its prefix.

    Examples: `invalid character (byte 19)`, `input data was truncated`.
    """
    said = str(error).removeprefix("JSON is malformed: ")
    return said[0].lower() + said[1:]


Value = TypeVar("Value")


class StoredDecoder(Generic[Value]):
    """Decode one type; control characters of earlier versions become U+FFFD.

    One bad text must not hide other rows: lists, `export` and `apply` need all rows of a tenant.
    """

    def __init__(self, type_: type[Value]) -> None:
        self._type = type_
        self._decode = msgspec.json.Decoder(type_).decode

    def decode(self, content: bytes | str) -> Value:
        """Decode a stored value. Raises msgspec.ValidationError for other faults."""
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
