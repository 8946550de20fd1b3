"""What all shapes have in common: the base class, and texts with their bounds.

Patterns are written so that Python and the dialect of JSON Schema (ECMA-262) understand them alike. The descriptions
are shown in the API's documentation and end the sentence "expected ...".
"""

from typing import Annotated

from msgspec import Meta, Struct


class Shape(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One JSON object: camelCase outside, snake_case inside, and a misspelt property is refused."""


_NO_CONTROL = r"(?![\s\S]*[\u0000-\u001f\u007f-\u009f])"
_NO_CONTROL_BUT_BREAKS = r"(?![\s\S]*[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f])"
_NOT_BLANK = r"(?=[\s\S]*\S)"
# A dollar sign alone would let a line break pass behind it.
_END = r"$(?!\n)"

ONE_LINE = f"^{_NO_CONTROL}"
ONE_LINE_NOT_BLANK = f"^{_NOT_BLANK}{_NO_CONTROL}"
LINES = f"^{_NO_CONTROL_BUT_BREAKS}"

_label = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
DOMAIN = rf"^(?:{_label}\.)+{_label}{_END}"

Name = Annotated[
    str,
    Meta(min_length=1, max_length=256, pattern=ONE_LINE_NOT_BLANK, description="a text of one line that is not blank"),
]
Line = Annotated[str, Meta(max_length=256, pattern=ONE_LINE, description="a text of one line")]
Description = Annotated[
    str, Meta(max_length=1024, pattern=LINES, description="a text without control characters but line breaks and tabs")
]
Domain = Annotated[str, Meta(max_length=253, pattern=DOMAIN, description="a domain such as example.org")]
# The text of a naming rule; whether it is one is decided by the rules.
NamingRuleText = Annotated[
    str, Meta(min_length=1, max_length=256, pattern=ONE_LINE_NOT_BLANK, description="a naming rule such as {input}")
]
