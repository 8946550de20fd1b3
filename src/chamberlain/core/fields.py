# SPDX-License-Identifier: Apache-2.0
"""Field types of bodies and configuration files.

Each carries the error code and the sentence that validation reports.
"""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from chamberlain.core.ids import WRITTEN_ID
from chamberlain.core.text import DIRECTIONS, INVISIBLE
from chamberlain.core.validation import ID_SENTENCE


class Shape(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A JSON object: camelCase outside, snake_case inside, unknown properties rejected."""


# The control characters of Unicode (category Cc), and the same without tab and line breaks. No field accepts them:
# PostgreSQL stores no NUL, and JSON with one cannot be queried.
CONTROL = r"\u0000-\u001f\u007f-\u009f"


_CONTROL_BUT_LINES = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f"
_LAST_CONTROLS = r"\u007f-\u009f"


_END = r"(?![\s\S])"


_NOT_BLANK = r"(?=[\s\S]*\S)"
_VISIBLE = rf"(?=[\s\S]*[^\s{INVISIBLE}])"


_LINES_SENTENCE = "may not hold control characters other than line breaks and tabs, nor bidirectional controls"


def shaped(
    pattern: str,
    sentence: str,
    maximum: int | None = None,
    *,
    minimum: int | None = None,
    extra: Mapping[str, object] | None = None,
    description: str | None = None,
) -> Meta:
    """Constrain a text to a pattern.

    The pattern covers the whole text. The sentence follows the name of the field. `rule` in `extra` names the pattern,
    for forms that phrase the sentence in their own words. `strict` is the pattern for texts
    that are sent now. The plain pattern also accepts stored texts of earlier versions, which responses show.
    """
    whole = f"^{pattern}{_END}"
    strict = whole.replace(_NOT_BLANK, _VISIBLE).replace(_LAST_CONTROLS, f"{_LAST_CONTROLS}{DIRECTIONS}")
    said = {"code": "invalidText", "sentence": sentence, **(extra or {})}
    return Meta(
        min_length=minimum,
        max_length=maximum,
        pattern=whole,
        description=description,
        extra=said if strict == whole else {**said, "strict": strict},
    )


def name(maximum: int) -> Meta:
    """Constrain a text to one line that is not blank."""
    sentence = "must be one line of visible text, without control characters and bidirectional controls"
    return shaped(f"{_NOT_BLANK}[^{CONTROL}]*", sentence, maximum)


def line(maximum: int, minimum: int | None = None) -> Meta:
    """Constrain a text to one line."""
    sentence = "may not hold control characters, bidirectional controls, line breaks and tabs"
    return shaped(f"[^{CONTROL}]*", sentence, maximum, minimum=minimum)


def lines(maximum: int, minimum: int | None = None) -> Meta:
    """Constrain a text that may have line breaks and tabs."""
    return shaped(f"[^{_CONTROL_BUT_LINES}]*", _LINES_SENTENCE, maximum, minimum=minimum)


def weighed_lines(kibibytes: int) -> Meta:
    """Constrain a text by its size in UTF-8.

    No text of that size has more characters than bytes.
    """
    return shaped(
        f"[^{_CONTROL_BUT_LINES}]*",
        _LINES_SENTENCE,
        kibibytes * 1024,
        extra={"bytes": kibibytes * 1024},
        description=f"At most {kibibytes} KiB in UTF-8.",
    )


Name = Annotated[str, name(256)]


# Not an address: the service makes one from it.
MailboxName = Annotated[
    str,
    shaped(
        f"{_NOT_BLANK}[^@{CONTROL}]*",
        "must be one line of visible text, without @, control characters and bidirectional controls",
        64,
        extra={"rule": "mailboxName"},
    ),
]


Line = Annotated[str, line(256)]


# Earlier versions stored empty texts, which they took for absent.
NotEmpty = Meta(extra={"least": 1})


Description = Annotated[str, lines(1024)]


# The hyphenated form only, in either letter case. The decoder's own UUID accepts other forms, so types with UUIDs are
# always validated field by field.
Id = Annotated[
    str,
    Meta(
        pattern=f"^{WRITTEN_ID.pattern}{_END}",
        extra_json_schema={"format": "uuid"},
        extra={"code": "malformedId", "sentence": ID_SENTENCE},
    ),
]


# Ids of users and groups, such as the administrators of a tenant.
ManyIds = Annotated[tuple[UUID, ...], Meta(max_length=1000)]


# The bounds that docs/reference/api.md gives; `bytes` is the size of the whole as compact JSON.
Metadata = Annotated[
    dict[Annotated[str, line(128, minimum=1)], Annotated[str, line(1024)] | bool],
    Meta(max_length=64, extra={"bytes": 16 * 1024}, description="At most 64 keys, and 16 KiB in all as compact JSON."),
]


_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"


_LOWER_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"


_A_DOMAIN = {"rule": "domain"}
Domain = Annotated[
    str, shaped(rf"(?:{_LABEL}\.)+{_LABEL}", "must be a domain such as example.org", 253, extra=_A_DOMAIN)
]


# For domains that are compared with domains of the service.
LowerDomain = Annotated[
    str,
    shaped(
        rf"(?:{_LOWER_LABEL}\.)+{_LOWER_LABEL}",
        "must be a domain in lower case such as example.org",
        253,
        extra=_A_DOMAIN,
    ),
]


# Properties of the service. Clients may send them back as read; they are ignored.
ADDED_BY_THE_SERVICE = frozenset({"tenantId", "createdAt", "createdBy", "updatedAt", "warningReasons"})
