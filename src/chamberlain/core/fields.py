"""Field types of bodies and configuration files."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from chamberlain.core.ids import WRITTEN_ID
from chamberlain.core.validation import ID_SENTENCE


class Shape(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One JSON object: camelCase outside, snake_case inside, and a misspelt property is refused."""


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
