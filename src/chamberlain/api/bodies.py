"""Bodies: from the bytes of a call to a checked value, or to every fault of it.

Two members of one name in an object: the last one counts, as JSON libraries do it (RFC 8259 leaves it open).
"""

from typing import Generic, TypeVar, cast

import msgspec
from msgspec import inspect

from chamberlain.api.faults import list_faults, require_known, too_heavy
from chamberlain.rules.errors import BodyInvalid, Malformed

Body = TypeVar("Body")


class Shape(Generic[Body]):
    """What a body must look like, said by a msgspec Struct.

    Most bodies are good: one strict decode checks all of the type and its bounds. Only when that refuses, the body is
    looked at field by field, and may still be accepted: the strict decoder does not know that 2.0 is a whole number.
    """

    def __init__(self, type_: type[Body]) -> None:
        self.type = type_
        self._decode = msgspec.json.Decoder(type_).decode
        self._form = inspect.type_info(type_)
        require_known(self._form)
        self._weights = _weights(cast("inspect.StructType", self._form))

    def read(self, raw: bytes) -> Body:
        """The body, or BodyInvalid with all faults, or Malformed when it is no JSON object."""
        try:
            body = self._decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._read_slowly(raw)
        for attribute, bytes_allowed in self._weights:
            if (value := getattr(body, attribute)) and too_heavy(value, bytes_allowed):
                return self._read_slowly(raw)
        return body

    def _read_slowly(self, raw: bytes) -> Body:
        value = parse_object(raw)
        faults = list_faults(value, self._form)
        if faults:
            raise BodyInvalid(faults)
        return msgspec.convert(value, self.type)


def parse_object(raw: bytes) -> dict[str, object]:
    """The JSON object that the bytes are, whole numbers as int however they are written; else Malformed."""
    value = _parse(raw)
    if not isinstance(value, dict):
        raise Malformed("notAnObject", "The body must be a JSON object: begin it with { and end it with }.")
    return value


def _parse(raw: bytes) -> object:
    if not raw.strip():
        raise Malformed("notJson", "The body is empty. Send a JSON object.")
    try:
        return _DECODER.decode(raw)
    except UnicodeDecodeError as error:
        raise Malformed("notJson", "The body is not UTF-8.") from error
    except RecursionError as error:
        raise Malformed("notJson", "The body is nested too deeply.") from error
    except msgspec.ValidationError as error:
        raise Malformed("notJson", "The body holds a number that is too large to be read.") from error
    except msgspec.DecodeError as error:
        raise Malformed("notJson", f"The body is not JSON: {_where(error)}.") from error


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


_DECODER = msgspec.json.Decoder(float_hook=_number)


def _where(error: msgspec.DecodeError) -> str:
    """What the decoder says without its preamble: `invalid character (byte 19)`, `input data was truncated`."""
    said = str(error).removeprefix("JSON is malformed: ")
    return said[0].lower() + said[1:]


def _weights(form: inspect.StructType) -> tuple[tuple[str, int], ...]:
    """The fields whose size in bytes is bounded, which no constraint of the decoder can say."""
    found: list[tuple[str, int]] = []
    for field in form.fields:
        for option in field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,):
            extra = option.extra if isinstance(option, inspect.Metadata) else None
            if extra and "bytes" in extra:
                found.append((field.name, extra["bytes"]))
    return tuple(found)
