"""The kinds of fields that bodies are made of: texts, ids, metadata.

A bound is written once, as a constraint of the type: the strict decoder enforces it, the list of faults explains it,
and the OpenAPI document shows it. Patterns are therefore written so that Python and ECMAScript read them alike;
`(?![\\s\\S])` is the end of the text (`$` would allow a line break behind it in Python). What the patterns cannot say
stands in `extra`, for faults.py.
"""

from typing import Annotated

from msgspec import Meta

# The control characters of Unicode (category Cc), and the same without tab and line breaks.
_CONTROL = r"\u0000-\u001f\u007f-\u009f"
_CONTROL_BUT_LINES = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f"
_END = r"(?![\s\S])"
_NOT_BLANK = r"(?=[\s\S]*\S)"
_HEX = "[0-9a-fA-F]"

_NO_CONTROL = {"code": "invalidText", "sentence": "may not hold control characters, nor line breaks and tabs"}
_NO_CONTROL_BUT_LINES = {
    "code": "invalidText",
    "sentence": "may not hold control characters other than line breaks and tabs",
}
_UUID = {"code": "malformedId", "sentence": "must be a UUID such as e57a7e00-0000-4000-8000-000000000001"}


def name(maximum: int) -> Meta:
    """A required line of text that is not blank."""
    return Meta(max_length=maximum, pattern=rf"^{_NOT_BLANK}[^{_CONTROL}]*{_END}", extra=_NO_CONTROL)


def line(maximum: int, minimum: int | None = None) -> Meta:
    """Text without line breaks."""
    return Meta(min_length=minimum, max_length=maximum, pattern=rf"^[^{_CONTROL}]*{_END}", extra=_NO_CONTROL)


def lines(maximum: int) -> Meta:
    """Text that may have line breaks and tabs."""
    return Meta(max_length=maximum, pattern=rf"^[^{_CONTROL_BUT_LINES}]*{_END}", extra=_NO_CONTROL_BUT_LINES)


# Only the hyphenated form, in either letter case. Kept as text, because the decoder's own UUID takes other forms too.
Id = Annotated[
    str,
    Meta(
        pattern=rf"^{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}{_END}",
        extra_json_schema={"format": "uuid"},
        extra=_UUID,
    ),
]

# The bounds of PRODUCT.md, section 1; `bytes` is the size of the whole as compact JSON.
Metadata = Annotated[
    dict[Annotated[str, line(128, minimum=1)], Annotated[str, line(1024)] | bool],
    Meta(max_length=64, extra={"bytes": 16 * 1024}, description="At most 64 keys, and 16 KiB in all as compact JSON."),
]
