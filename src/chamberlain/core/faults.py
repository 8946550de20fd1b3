"""Every fault of a value, with its place, its code and its cure.

Driven by the type itself, so that what is refused here and what the strict decoder refuses cannot drift apart. Slow
compared with that decoder, and used only when it has refused, or cannot tell.
"""

import difflib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import cast

from msgspec import NODEFAULT, inspect

from chamberlain.core.constraints import beyond_decoder, child, forms_within, parts, spelt_twice, too_heavy
from chamberlain.core.errors import Fault, first_faults
from chamberlain.core.ids import WRITTEN_ID

# What a JSON value is called.
_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (str, "a string"),
    (int, "a whole number"),
    (float, "a number"),
    (list, "an array"),
    (dict, "an object"),
)
# Names longer than any of ours are not worth comparing with them.
_LONGEST_MISSPELLING = 64
_MOST_COMPARED = 20
# Characters of a text that is too long, up to which it is matched with its pattern as well. Half a megabyte takes some
# patterns 40 ms.
_MOST_SEARCHED = 16_384

# What is asked of an id, whether its type is a text or a UUID.
ID_SENTENCE = "must be a UUID such as e57a7e00-0000-4000-8000-000000000001"


def list_faults(value: object, form: inspect.Type, pointer: str = "") -> Sequence[Fault]:
    """List the faults of a decoded value against a type, in the order of the type.

    The search ends one fault after those that an answer lists, so that the caller sees that there are more.
    `pointer` is the place of the value in the body. Sentences name places from the value on.
    """
    faults = first_faults(_faults(value, form, "", {}))
    return tuple(Fault(pointer + fault.pointer, fault.code, fault.detail) for fault in faults)


def require_known(form: inspect.Type) -> None:
    """Raise TypeError for a type that no rule below knows, before a body needs it."""
    said: Mapping[str, object] = {}
    for part in forms_within(form):
        match part:
            case inspect.StrType(pattern=str()) if not {"code", "sentence"} <= set(said):
                raise TypeError(f"Nothing is said about texts that do not meet {part}.")
            case inspect.IntType(gt=None, lt=None, multiple_of=None) | inspect.Metadata() | inspect.UnionType():
                pass  # What is in the latter comes by itself.
            case inspect.IntType():
                raise TypeError(f"Only ge and le are explained of {part}.")
            case _:
                _expected(part)
        # Its type comes right behind it.
        said = (isinstance(part, inspect.Metadata) and part.extra) or {}


def _faults(value: object, form: inspect.Type, pointer: str, extra: Mapping[str, object]) -> Iterator[Fault]:
    # The kinds of types belong to msgspec, so the last case is not for a forgotten value but for a body that asks for
    # more.
    match form:
        case inspect.Metadata():
            yield from _faults(value, form.type, pointer, form.extra or {})
        case inspect.UnionType():
            yield from _one_of(value, form.types, pointer)
        case _ if not _fits(value, form):
            yield _wrong_type(value, (form,), pointer)
        case inspect.ListType() | inspect.VarTupleType():
            yield from _items(cast("list[object]", value), form, pointer)
        case inspect.DictType():
            yield from _entries(cast("dict[str, object]", value), form, pointer, extra)
        case inspect.StructType():
            yield from _properties(cast("dict[str, object]", value), form, pointer)
        case _:
            yield from _plain(value, form, pointer, extra)


def _plain(value: object, form: inspect.Type, pointer: str, extra: Mapping[str, object]) -> Iterator[Fault]:
    """The faults of a value that nothing else is in."""
    match form:
        case inspect.StrType():
            yield from _text(cast("str", value), form, pointer, extra)
        case inspect.UUIDType():
            yield from _id(cast("str", value), pointer)
        case inspect.IntType():
            yield from _number(cast("int", value), form, pointer)
        case inspect.EnumType() | inspect.LiteralType():
            yield from _choice(value, form, pointer)
        case _:
            pass  # Nothing more is asked of it than its kind.


def _fits(value: object, form: inspect.Type) -> bool:
    """Whether a value is of the JSON kind that a type asks for; its bounds are another matter."""
    match form:
        case inspect.Metadata():
            return _fits(value, form.type)
        case _:
            return _kind(value) == _expected(form)


def _kind(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        # Callers may write 2.0 for 2.
        return "a whole number"
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "null")


def _expected(form: inspect.Type) -> str:
    match form:
        case inspect.Metadata():
            return _expected(form.type)
        case inspect.EnumType():
            return _kind(next(iter(form.cls)).value)
        case inspect.LiteralType():
            return _kind(form.values[0])
        case _ if type(form) in _EXPECTED:
            return _EXPECTED[type(form)]
        case _:
            raise TypeError(f"A body has no rule for {form}.")


_EXPECTED: Mapping[type[inspect.Type], str] = {
    inspect.NoneType: "null",
    inspect.BoolType: "true or false",
    inspect.StrType: "a string",
    inspect.UUIDType: "a string",
    inspect.IntType: "a whole number",
    inspect.ListType: "an array",
    inspect.VarTupleType: "an array",
    inspect.DictType: "an object",
    inspect.StructType: "an object",
}


def _one_of(value: object, forms: Sequence[inspect.Type], pointer: str) -> Iterator[Fault]:
    fitting = next((form for form in forms if _fits(value, form)), None)
    if fitting is None:
        yield _wrong_type(value, forms, pointer)
    elif isinstance(fitting, inspect.StructType) and fitting.tag_field is not None:
        tagged = {form.tag: form for form in forms if isinstance(form, inspect.StructType)}
        yield from _tagged(cast("dict[str, object]", value), tagged, fitting.tag_field, pointer)
    else:
        yield from _faults(value, fitting, pointer, {})


def _tagged(
    value: dict[str, object], forms: Mapping[str | int | None, inspect.StructType], name: str, pointer: str
) -> Iterator[Fault]:
    """An object of one of several types says itself of which."""
    tag = value.get(name)
    place = child(pointer, name)
    if _is_nothing(tag):
        yield Fault(place, "missingProperty", f"{name} is required: one of {', '.join(map(str, forms))}.")
    elif _kind(tag) != "a string":
        yield Fault(place, "wrongType", f"{_called(place)} must be a string, and is {_kind(tag)}.")
    elif tag not in forms:
        yield Fault(place, "unknownValue", f"{_called(place)} must be one of {', '.join(map(str, forms))}.")
    else:
        yield from _properties(value, forms[cast("str", tag)], pointer)


def _wrong_type(value: object, forms: Sequence[inspect.Type], pointer: str) -> Fault:
    expected = dict.fromkeys(_expected(form) for form in forms if not isinstance(form, inspect.NoneType))
    return Fault(pointer, "wrongType", f"{_called(pointer)} must be {' or '.join(expected)}, and is {_kind(value)}.")


def _text(value: str, form: inspect.StrType, pointer: str, extra: Mapping[str, object]) -> Iterator[Fault]:
    yield from _length(len(value), (form.min_length, form.max_length), pointer, "character")
    is_too_long = len(value) > max(form.max_length or len(value), _MOST_SEARCHED)
    if form.pattern is not None and not is_too_long and not re.search(form.pattern, value):
        yield Fault(pointer, str(extra["code"]), f"{_called(pointer)} {extra['sentence']}.")
    bytes_allowed = extra.get("bytes")
    # With more characters than that, it has been named already.
    if isinstance(bytes_allowed, int) and len(value) <= bytes_allowed and too_heavy(value, bytes_allowed):
        detail = f"{_called(pointer)} may have at most {bytes_allowed // 1024} KiB of text in UTF-8."
        yield Fault(pointer, "outOfBounds", detail)


def _id(value: str, pointer: str) -> Iterator[Fault]:
    # The decoder would take other ways to write one as well.
    if WRITTEN_ID.fullmatch(value) is None:
        yield Fault(pointer, "malformedId", f"{_called(pointer)} {ID_SENTENCE}.")


def _length(size: int, bounds: tuple[int | None, int | None], pointer: str, unit: str) -> Iterator[Fault]:
    least, most = bounds
    if most is not None and size > most:
        detail = f"{_called(pointer)} may have at most {_counted(most, unit)}, and has {size:,}."
        yield Fault(pointer, "outOfBounds", detail)
    if least is not None and size < least:
        yield Fault(pointer, "outOfBounds", f"{_called(pointer)} must have at least {_counted(least, unit)}.")


def _number(value: int, form: inspect.IntType, pointer: str) -> Iterator[Fault]:
    if form.ge is not None and value < form.ge:
        yield Fault(pointer, "outOfBounds", f"{_called(pointer)} must be at least {form.ge}.")
    if form.le is not None and value > form.le:
        yield Fault(pointer, "outOfBounds", f"{_called(pointer)} must be at most {form.le}.")


def _choice(value: object, form: inspect.EnumType | inspect.LiteralType, pointer: str) -> Iterator[Fault]:
    known = [member.value for member in form.cls] if isinstance(form, inspect.EnumType) else list(form.values)
    if value not in known:
        yield Fault(pointer, "unknownValue", f"{_called(pointer)} must be one of {', '.join(map(str, known))}.")


def _items(value: list[object], form: inspect.ListType | inspect.VarTupleType, pointer: str) -> Iterator[Fault]:
    yield from _length(len(value), (form.min_length, form.max_length), pointer, "item")
    # Those beyond the bound are too many, whatever they hold.
    passes = _quick_check(form.item_type)
    for index, item in enumerate(islice(value, form.max_length)):
        if not passes(item):
            yield from _faults(item, form.item_type, child(pointer, index), {})


def _entries(
    value: dict[str, object], form: inspect.DictType, pointer: str, extra: Mapping[str, object]
) -> Iterator[Fault]:
    yield from _length(len(value), (form.min_length, form.max_length), pointer, "key")
    bytes_allowed = extra.get("bytes")
    if isinstance(bytes_allowed, int) and too_heavy(value, bytes_allowed):
        yield Fault(pointer, "outOfBounds", f"{_called(pointer)} may have at most {bytes_allowed // 1024} KiB of JSON.")
    if "ids" in extra:
        for key in spelt_twice(value):
            detail = f"{_called(pointer)} may name a user once only, in upper or in lower case. Keep one of them."
            yield Fault(child(pointer, key), "sameUserTwice", detail)
    key_passes, entry_passes = _quick_check(form.key_type), _quick_check(form.value_type)
    for key, entry in islice(value.items(), form.max_length):
        if key_passes(key) and entry_passes(entry):
            continue
        place = child(pointer, key)
        for fault in _faults(key, form.key_type, place, {}):
            yield Fault(place, fault.code, f"As a key, {fault.detail}")
        yield from _faults(entry, form.value_type, place, {})


def _quick_check(form: inspect.Type) -> Callable[[object], bool]:
    """Return a check that passes values which certainly have no fault.

    It knows texts, ids and choices. A body with 10,000 ids and one fault takes a tenth of the time with it.
    """
    match form:
        case inspect.Metadata() if not beyond_decoder(form):
            return _quick_check(form.type)
        case inspect.StrType():
            least, most = form.min_length or 0, sys.maxsize if form.max_length is None else form.max_length
            search = re.compile(form.pattern or "").search
            return lambda value: isinstance(value, str) and least <= len(value) <= most and search(value) is not None
        case inspect.UUIDType():
            return lambda value: isinstance(value, str) and WRITTEN_ID.fullmatch(value) is not None
        case inspect.EnumType(cls=cls) if issubclass(cls, str):
            known = frozenset(member.value for member in cls)
            return lambda value: isinstance(value, str) and value in known
        case _:
            return lambda _: False


def _properties(value: dict[str, object], form: inspect.StructType, pointer: str) -> Iterator[Fault]:
    for field in form.fields:
        yield from _property(value, field, pointer)
    if not form.forbid_unknown_fields:
        return
    names = [*(field.encode_name for field in form.fields), *filter(None, (form.tag_field,))]
    for place, unknown in enumerate(name for name in value if name not in names):
        # Comparing names is dear; who has so many unknown ones has not misspelt them.
        advice = _advice(unknown, names if place < _MOST_COMPARED else [])
        detail = f"There is no property {_shortened(unknown)}. {advice}"
        yield Fault(child(pointer, unknown), "unknownProperty", detail)


def _property(value: dict[str, object], field: inspect.Field, pointer: str) -> Iterator[Fault]:
    place = child(pointer, field.encode_name)
    sent = value.get(field.encode_name, NODEFAULT)
    if field.required and _is_nothing(sent):
        yield Fault(place, "missingProperty", f"{field.encode_name} is required.")
    elif sent is None and not _has_default(field):
        yield Fault(place, "nullNotAllowed", f"{field.encode_name} may be left out, but it may not be null.")
    elif sent is not NODEFAULT and sent is not None:
        yield from _faults(sent, field.type, place, {})


def _is_nothing(sent: object) -> bool:
    return sent is NODEFAULT or sent is None or (isinstance(sent, str) and not sent.strip())


def _has_default(field: inspect.Field) -> bool:
    """Whether null can stand for the default. msgspec shows UNSET as a default that is not there."""
    return field.default is not NODEFAULT or field.default_factory is not NODEFAULT


def _advice(unknown: str, names: Sequence[str]) -> str:
    known = {name.lower(): name for name in names}
    near = difflib.get_close_matches(unknown.lower(), known, n=1) if len(unknown) <= _LONGEST_MISSPELLING else []
    return f"Did you mean {known[near[0]]}?" if near else "Leave it out."


def _called(pointer: str) -> str:
    """A place as a person would say it: the property, with where it lies in it when it is not on top."""
    return _shortened("/".join(parts(pointer))) or "This"


def _shortened(text: str) -> str:
    shown = text if len(text) <= _LONGEST_MISSPELLING else f"{text[:_LONGEST_MISSPELLING]}..."
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "\N{REPLACEMENT CHARACTER}", shown)


def _counted(count: int, unit: str) -> str:
    return f"{count:,} {unit}" if count == 1 else f"{count:,} {unit}s"
