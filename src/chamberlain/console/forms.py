# SPDX-License-Identifier: Apache-2.0
"""Forms whose field names are JSON pointers.

The pairs of a form become the body of the API, which the API's own validation parses. So a fault finds its field by its
pointer. `/capacity` is a member, `/owners/-` appends to a list (RFC 6901, 4), and `/metadata/el-text-1` is a member of
an object. Empty values count as not sent.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise

from chamberlain.core.errors import Fault
from chamberlain.core.validation import join_pointer, split_pointer
from chamberlain.core.values import Json

Pairs = Sequence[tuple[str, str]]

# Deeper names are of no form. Recursion over a body stays shallow.
_DEEPEST = 8
_TRUTHS: Mapping[str, bool] = {"true": True, "false": False}


class Kind(StrEnum):
    """The JSON type of a field."""

    TEXT = "text"
    LINES = "lines"
    NUMBER = "number"
    TRUTH = "truth"
    WORDS = "words"


def read_body(pairs: Pairs, kinds: Mapping[str, Kind]) -> dict[str, Json]:
    """Build the body of a form.

    `kinds` has the type of each field of the form by name. Other names are ignored, so no form can set a property that
    it does not show. A value that does not fit its type is passed on as it is, for a fault of the validation.
    """
    body: dict[str, Json] = {}
    for name, text in pairs:
        kind = kinds.get(name)
        if kind is None or not text.strip():
            continue
        for value in _values(kind, text):
            _put(body, split_pointer(name), value)
    return body


def write_pairs(body: Mapping[str, Json]) -> Pairs:
    """Return the pairs of a body, to fill in a form."""
    return list(_pairs("", dict(body)))


def fault_of(name: str, faults: Iterable[Fault]) -> Fault | None:
    """Find the first fault of a field or within it."""
    pointer = name.removesuffix("/-")
    return next((each for each in faults if each.pointer == pointer or each.pointer.startswith(f"{pointer}/")), None)


def general_faults(names: Iterable[str], faults: Iterable[Fault]) -> Sequence[Fault]:
    """Return the faults that belong to no field of the form."""
    known = list(names)
    return [each for each in faults if not any(fault_of(name, (each,)) for name in known)]


def _values(kind: Kind, text: str) -> Sequence[Json]:
    match kind:
        case Kind.TEXT:
            return [text.strip()]
        case Kind.LINES:
            return [text.replace("\r\n", "\n").strip()]
        case Kind.NUMBER:
            return [_number(text.strip())]
        case Kind.TRUTH:
            return [_TRUTHS.get(text, text)]
        case Kind.WORDS:
            return [word.strip() for word in text.split(",") if word.strip()]


def _number(text: str) -> Json:
    # Python reads more than JSON: underscores, other digits, and any length.
    if len(text) <= 18 and text.removeprefix("-").isascii() and text.removeprefix("-").isdigit():
        return int(text)
    return text


def _put(body: dict[str, Json], path: Sequence[str], value: Json) -> None:
    if not 0 < len(path) <= _DEEPEST:
        return
    target: Json = body
    for part, following in pairwise(path):
        if not isinstance(target, dict):
            return
        target = target.setdefault(part, [] if following == "-" else {})
    match target:
        case list():
            target.append(value)
        case dict():
            target[path[-1]] = value
        case _:
            return


def _pairs(pointer: str, value: Json) -> Iterable[tuple[str, str]]:
    match value:
        case None:
            return
        case dict():
            for key, inner in value.items():
                yield from _pairs(join_pointer(pointer, key), inner)
        case list():
            for inner in value:
                yield from _pairs(f"{pointer}/-", inner)
        case bool():
            yield pointer, "true" if value else "false"
        case _:
            yield pointer, str(value)
