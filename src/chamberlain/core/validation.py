"""Reading a value as what a type says: either the value, or every fault with its JSON Pointer, its code and its cure.

The type alone decides; there is no second list of bounds anywhere. In it, `X | None = None` takes null as "not sent",
as any member with a default does; a member that may be left out and has no default (`X | UnsetType = UNSET`, for a
PATCH) refuses null.
"""

from collections.abc import Mapping
from typing import Generic, TypeVar, cast

import msgspec
from msgspec import inspect

from chamberlain.core.constraints import beyond_decoder, breaks, forms_within
from chamberlain.core.errors import BodyInvalid
from chamberlain.core.faults import list_faults, require_known
from chamberlain.core.json import parse_object

Value = TypeVar("Value")


class Reader(Generic[Value]):
    """Reads one type. Making one raises TypeError when the type has something that no fault is known for.

    Most bodies are good: one strict decode checks all of the type and its bounds. Only when that refuses, the body is
    looked at field by field, and may still be accepted: the strict decoder does not know that 2.0 is a whole number.
    """

    # What is read, in one or in several forms: for whoever describes it.
    types: tuple[type, ...]

    def __init__(self, type_: type[Value]) -> None:
        self.type = type_
        self.types = (type_,)
        self._decode = msgspec.json.Decoder(type_).decode
        self._form = cast("inspect.StructType", inspect.type_info(type_))
        require_known(self._form)
        self._demands = _demands(self._form)
        self._decoder_suffices = _decoder_suffices(self._form, len(self._demands))

    def read(self, raw: bytes) -> Value:
        """The body, or BodyInvalid with all faults, or Malformed when it is no JSON object."""
        if not self._decoder_suffices:
            return self.read_value(parse_object(raw))
        try:
            body = self._decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self.read_value(parse_object(raw))
        for attribute, extra in self._demands:
            if (value := getattr(body, attribute)) and breaks(value, extra):
                return self.read_value(parse_object(raw))
        return body

    def read_value(self, value: object, pointer: str = "") -> Value:
        """The same for a value that is decoded already, and stands at this place of what was sent."""
        faults = list_faults(value, self._form, pointer)
        if faults:
            raise BodyInvalid(faults)
        return msgspec.convert(_as_decoded(value), self.type)


def _as_decoded(value: object) -> object:
    """Convert a faultless value into the one that the strict decoder accepts.

    Members that are null are left out, so that their defaults count. A whole number that is written 2.0 becomes 2.
    """
    if isinstance(value, dict):
        return {name: _as_decoded(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_as_decoded(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _demands(form: inspect.StructType) -> tuple[tuple[str, Mapping[str, object]], ...]:
    """The fields of which something is asked that no constraint of the decoder can say."""
    return tuple(
        (field.name, option.extra or {})
        for field in form.fields
        for option in (field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,))
        if isinstance(option, inspect.Metadata) and beyond_decoder(option)
    )


def _decoder_suffices(form: inspect.StructType, demands: int) -> bool:
    """Whether what the strict decoder takes has no fault, but for the demands on the fields on top.

    It takes UUIDs without dashes, and does not look at demands further down.
    """
    found = 0
    for part in forms_within(form):
        if isinstance(part, inspect.UUIDType):
            return False
        found += beyond_decoder(part)
    return found == demands
