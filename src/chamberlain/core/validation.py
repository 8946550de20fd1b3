"""Reading a value as what a type says: either the value, or every fault with its JSON Pointer, its code and its cure.

The type alone decides; there is no second list of bounds anywhere. In it, `X | None = None` takes null as "not sent",
as any member with a default does; a member that may be left out and has no default (`X | UnsetType = UNSET`, for a
PATCH) refuses null.
"""

from collections.abc import Mapping
from typing import Annotated, Generic, TypeVar, cast
from uuid import UUID

import msgspec
from msgspec import Meta, inspect

from chamberlain.core.constraints import beyond_decoder, breaks, forms_within
from chamberlain.core.errors import BodyInvalid
from chamberlain.core.faults import ID_SENTENCE, list_faults, require_known
from chamberlain.core.ids import WRITTEN_ID
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


# The control characters of Unicode (category Cc), and the same without tab and line breaks. No shape takes a text that
# may hold them: PostgreSQL stores no NUL, and JSON that holds one cannot be queried.
CONTROL = r"\u0000-\u001f\u007f-\u009f"
_CONTROL_BUT_LINES = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f"
_END = r"(?![\s\S])"
_NOT_BLANK = r"(?=[\s\S]*\S)"
_LINES_SENTENCE = "may not hold control characters other than line breaks and tabs"


def shaped(pattern: str, sentence: str, maximum: int | None = None, *, minimum: int | None = None) -> Meta:
    """Text that meets a pattern from its beginning to its end; the sentence begins behind the name of the field."""
    extra = {"code": "invalidText", "sentence": sentence}
    return Meta(min_length=minimum, max_length=maximum, pattern=f"^{pattern}{_END}", extra=extra)


def name(maximum: int) -> Meta:
    """A line of text that is not blank."""
    sentence = "must be one line of text, not blank and without control characters"
    return shaped(f"{_NOT_BLANK}[^{CONTROL}]*", sentence, maximum)


def line(maximum: int, minimum: int | None = None) -> Meta:
    """Text without line breaks."""
    sentence = "may not hold control characters, nor line breaks and tabs"
    return shaped(f"[^{CONTROL}]*", sentence, maximum, minimum=minimum)


def lines(maximum: int, minimum: int | None = None) -> Meta:
    """Text that may have line breaks and tabs."""
    return shaped(f"[^{_CONTROL_BUT_LINES}]*", _LINES_SENTENCE, maximum, minimum=minimum)


def weighed_lines(kibibytes: int) -> Meta:
    """The same, bounded by its size in UTF-8; no text of that size has more characters than bytes."""
    extra = {"code": "invalidText", "sentence": _LINES_SENTENCE, "bytes": kibibytes * 1024}
    return Meta(
        max_length=kibibytes * 1024,
        pattern=f"^[^{_CONTROL_BUT_LINES}]*{_END}",
        extra=extra,
        description=f"At most {kibibytes} KiB in UTF-8.",
    )


Name = Annotated[str, name(256)]
# No address: one is made of it.
MailboxName = Annotated[
    str,
    shaped(f"{_NOT_BLANK}[^@{CONTROL}]*", "must be one line of text, not blank, without @ and control characters", 64),
]
Line = Annotated[str, line(256)]
Description = Annotated[str, lines(1024)]

# Only the hyphenated form, in either letter case. Kept as text where every microsecond counts: the decoder's own UUID
# takes other forms too, so that a type with UUIDs is always looked at field by field.
Id = Annotated[
    str,
    Meta(
        pattern=f"^{WRITTEN_ID.pattern}{_END}",
        extra_json_schema={"format": "uuid"},
        extra={"code": "malformedId", "sentence": ID_SENTENCE},
    ),
]
# Users and groups by their ids, as an audience or the administrators of a tenant name them.
ManyIds = Annotated[tuple[UUID, ...], Meta(max_length=1000)]

# The bounds that docs/reference/api.md gives; `bytes` is the size of the whole as compact JSON.
Metadata = Annotated[
    dict[Annotated[str, line(128, minimum=1)], Annotated[str, line(1024)] | bool],
    Meta(max_length=64, extra={"bytes": 16 * 1024}, description="At most 64 keys, and 16 KiB in all as compact JSON."),
]

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_LOWER_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
Domain = Annotated[str, shaped(rf"(?:{_LABEL}\.)+{_LABEL}", "must be a domain such as example.org", 253)]
# For domains that are compared with what the service made itself.
LowerDomain = Annotated[
    str,
    shaped(rf"(?:{_LOWER_LABEL}\.)+{_LOWER_LABEL}", "must be a domain in lower case such as example.org", 253),
]


# What the service adds. It may be sent, so that what was read can be changed and put back, and is ignored.
ADDED_BY_THE_SERVICE = frozenset({"tenantId", "createdAt", "createdBy", "updatedAt"})
