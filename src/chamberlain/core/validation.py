# SPDX-License-Identifier: Apache-2.0
"""Validate values against types.

Each fault has pointer, code and fix. The type alone decides; there is no second list of bounds. `X | None = None`
accepts null as absent, as any property with a default does. An optional property without a default (`X | UnsetType =
UNSET`, for a PATCH) rejects null.
"""

import difflib
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Generic, TypeVar, cast

import msgspec
from msgspec import NODEFAULT, inspect, json, structs

from chamberlain.core.errors import BodyInvalid, Fault, first_faults
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.core.json import parse_object
from chamberlain.core.sentences import Word
from chamberlain.core.text import DIRECTIONS, has_hidden, is_blank


def walk_types(form: inspect.Type) -> Iterator[inspect.Type]:
    """List a type and all types it contains."""
    yield form
    for inner in _directly_within(form):
        yield from walk_types(inner)


def _directly_within(form: inspect.Type) -> Sequence[inspect.Type]:
    match form:
        case inspect.Metadata():
            return (form.type,)
        case inspect.UnionType():
            return form.types
        case inspect.ListType() | inspect.VarTupleType():
            return (form.item_type,)
        case inspect.DictType():
            return (form.key_type, form.value_type)
        case inspect.StructType():
            return [field.type for field in form.fields]
        case _:
            return ()


def has_extra_constraint(form: inspect.Type) -> bool:
    """Return whether a type has a constraint that only `violates` can validate."""
    return isinstance(form, inspect.Metadata) and bool(_BEYOND_DECODER & (form.extra or {}).keys())


def violates(value: object, extra: Mapping[str, object]) -> bool:
    """Return whether a value violates the constraints beyond the decoder's."""
    bytes_allowed = extra.get("bytes")
    if isinstance(bytes_allowed, int) and exceeds_bytes(value, bytes_allowed):
        return True
    return "ids" in extra and isinstance(value, dict) and next(duplicate_ids(value), None) is not None


# Most bytes of a text, or of an object as JSON; object keys that are ids of users.
_BEYOND_DECODER = frozenset({"bytes", "ids"})


def exceeds_bytes(value: object, bytes_allowed: int) -> bool:
    """Return whether a text, or a value as JSON, is too large."""
    return len(value.encode() if isinstance(value, str) else json.encode(value)) > bytes_allowed


def duplicate_ids(value: Mapping[str, object]) -> Iterator[str]:
    """List keys that repeat an earlier id in another letter case."""
    seen: set[str] = set()
    for key in value:
        small = key.lower()
        if small in seen:
            yield key
        seen.add(small)


def join_pointer(pointer: str, name: str | int) -> str:
    """Append an escaped name or index to a pointer (RFC 6901, 3)."""
    return f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"


def split_pointer(pointer: str) -> list[str]:
    """Split a pointer into unescaped names and indexes."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def duplicate_faults(values: Iterable[Hashable], pointer: str, *, member: str | None = None) -> Iterator[Fault]:
    """Report duplicate items of the list at `pointer`.

    `member` is the path of the value in an item.
    """
    seen: dict[Hashable, int] = {}
    for place, value in enumerate(values):
        first = seen.setdefault(value, place)
        if first != place:
            here = join_pointer(pointer, place)
            place_of_fault = here if member is None else join_pointer(here, member)
            sentence = "The same is there already, at place {first}, counted from 0. Leave one of the two out."
            yield Fault.build(place_of_fault, "ruleInvalid", sentence, first=first)


def duplicate_word_faults(words: Iterable[str], pointer: str) -> Iterator[Fault]:
    """Report duplicate words without regard to letter case."""
    return duplicate_faults([word.casefold() for word in words], pointer)


# Names of JSON types in messages.
_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (str, "a string"),
    (int, "a whole number"),
    (float, "a number"),
    (list, "an array"),
    (dict, "an object"),
)
# No property has a longer name.
_LONGEST_MISSPELLING = 64
_MOST_COMPARED = 20
# Longer texts are not matched against patterns. Half a megabyte takes some patterns 40 ms.
_MOST_SEARCHED = 16_384

# For ids of type text and of type UUID.
ID_SENTENCE = "must be a UUID such as e57a7e00-0000-4000-8000-000000000001"


def list_faults(value: object, form: inspect.Type, pointer: str = "") -> Sequence[Fault]:
    """List the faults of a decoded value, in its type's order.

    The search ends one fault after those that a response lists, so that the caller sees that there are more. `pointer`
    is the place of the value in the body. Sentences name places relative to the value.
    """
    faults = first_faults(_faults(value, form, "", {}))
    return tuple(replace(fault, pointer=pointer + fault.pointer) for fault in faults)


def require_known(form: inspect.Type) -> None:
    """Raise TypeError for a type without a validation rule."""
    said: Mapping[str, object] = {}
    for part in walk_types(form):
        match part:
            case inspect.StrType(pattern=str()) if not {"code", "sentence"} <= set(said):
                raise TypeError(f"Nothing is said about texts that do not meet {part}.")
            case inspect.IntType(gt=None, lt=None, multiple_of=None) | inspect.Metadata() | inspect.UnionType():
                pass  # Their parts are validated on their own.
            case inspect.IntType():
                raise TypeError(f"Only ge and le are explained of {part}.")
            case _:
                _expected(part)
        # The type of a Metadata follows it.
        said = (isinstance(part, inspect.Metadata) and part.extra) or {}


def _faults(value: object, form: inspect.Type, pointer: str, extra: Mapping[str, object]) -> Iterator[Fault]:
    # msgspec defines the kinds of types, so the last case is for values that need no more validation.
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
    """List the faults of a scalar."""
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
            pass  # Valid by its JSON type.


def _fits(value: object, form: inspect.Type) -> bool:
    """Return whether the JSON type of a value matches.

    Bounds are validated later.
    """
    match form:
        case inspect.Metadata():
            return _fits(value, form.type)
        case _:
            return _kind(value) == _expected(form)


def _kind(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        # Clients may write 2.0 for 2.
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
    """Validate an object of a tagged union."""
    tag = value.get(name)
    place = join_pointer(pointer, name)
    if _is_nothing(tag):
        sentence = "{property} is required: one of {choices}."
        yield Fault.build(place, "missingProperty", sentence, property=name, choices=_words(forms))
    elif _kind(tag) != "a string":
        yield _wrong_type(tag, (inspect.StrType(),), place)
    elif tag not in forms:
        yield _unknown_value(place, forms)
    else:
        yield from _properties(value, forms[cast("str", tag)], pointer)


def _wrong_type(value: object, forms: Sequence[inspect.Type], pointer: str) -> Fault:
    sentence = "{property} must be {expected}, and is {actual}."
    wanted = " or ".join(dict.fromkeys(_expected(form) for form in forms if not isinstance(form, inspect.NoneType)))
    fault = Fault.build(pointer, "wrongType", sentence, property=_called(pointer), expected=wanted, actual=_kind(value))
    number = next((part for form in forms for part in walk_types(form) if isinstance(part, inspect.IntType)), None)
    return fault if number is None else replace(fault, hints=_bounds(number))


def _unknown_value(pointer: str, known: Iterable[object]) -> Fault:
    sentence = "{property} must be one of {choices}."
    return Fault.build(pointer, "unknownValue", sentence, property=_called(pointer), choices=_words(known))


def _words(known: Iterable[object]) -> tuple[str, ...]:
    return tuple(map(str, known))


def _text(value: str, form: inspect.StrType, pointer: str, extra: Mapping[str, object]) -> Iterator[Fault]:
    yield from _length(len(value), (form.min_length, form.max_length), pointer, "character")
    is_too_long = len(value) > max(form.max_length or len(value), _MOST_SEARCHED)
    if form.pattern is not None and not is_too_long and not re.search(form.pattern, value):
        sentence = f"{{property}} {extra['sentence']}."
        fault = Fault.build(pointer, str(extra["code"]), sentence, property=_called(pointer))
        yield replace(fault, hints={"rule": str(extra["rule"])}) if "rule" in extra else fault
    bytes_allowed = extra.get("bytes")
    # A text with more characters has a fault already.
    if isinstance(bytes_allowed, int) and len(value) <= bytes_allowed and exceeds_bytes(value, bytes_allowed):
        sentence = "{property} may have at most {max} {unit} of text in UTF-8."
        yield _out_of_bounds(pointer, sentence, max=bytes_allowed // 1024, unit="KiB")


def _id(value: str, pointer: str) -> Iterator[Fault]:
    # The decoder accepts other forms as well.
    if WRITTEN_ID.fullmatch(value) is None:
        yield Fault.build(pointer, "malformedId", f"{{property}} {ID_SENTENCE}.", property=_called(pointer))


def _length(size: int, bounds: tuple[int | None, int | None], pointer: str, unit: str) -> Iterator[Fault]:
    least, most = bounds
    if most is not None and size > most:
        sentence = "{property} may have at most {max:,} {unit}, and has {actual:,}."
        yield _out_of_bounds(pointer, sentence, max=most, unit=_plural(most, unit), actual=size)
    if least is not None and size < least:
        sentence = "{property} must have at least {min:,} {unit}."
        yield _out_of_bounds(pointer, sentence, min=least, unit=_plural(least, unit))


def _number(value: int, form: inspect.IntType, pointer: str) -> Iterator[Fault]:
    if form.ge is not None and value < form.ge:
        fault = _out_of_bounds(pointer, "{property} must be at least {min}.", min=form.ge)
        yield replace(fault, hints=_bounds(form))
    if form.le is not None and value > form.le:
        fault = _out_of_bounds(pointer, "{property} must be at most {max}.", max=form.le)
        yield replace(fault, hints=_bounds(form))


def _bounds(form: inspect.IntType) -> Mapping[str, int]:
    bounds = {"min": form.ge, "max": form.le}
    return {name: int(each) for name, each in bounds.items() if each is not None}


def _out_of_bounds(pointer: str, sentence: str, **values: Word) -> Fault:
    return Fault.build(pointer, "outOfBounds", sentence, property=_called(pointer), **values)


def _choice(value: object, form: inspect.EnumType | inspect.LiteralType, pointer: str) -> Iterator[Fault]:
    known = [member.value for member in form.cls] if isinstance(form, inspect.EnumType) else list(form.values)
    if value not in known:
        yield _unknown_value(pointer, known)


def _items(value: list[object], form: inspect.ListType | inspect.VarTupleType, pointer: str) -> Iterator[Fault]:
    yield from _length(len(value), (form.min_length, form.max_length), pointer, "item")
    # Items beyond the bound are too many, whatever their content.
    passes = _quick_check(form.item_type)
    for index, item in enumerate(islice(value, form.max_length)):
        if not passes(item):
            yield from _faults(item, form.item_type, join_pointer(pointer, index), {})


def _entries(
    value: dict[str, object], form: inspect.DictType, pointer: str, extra: Mapping[str, object]
) -> Iterator[Fault]:
    yield from _length(len(value), (form.min_length, form.max_length), pointer, "key")
    bytes_allowed = extra.get("bytes")
    if isinstance(bytes_allowed, int) and exceeds_bytes(value, bytes_allowed):
        sentence = "{property} may have at most {max} {unit} of JSON."
        yield _out_of_bounds(pointer, sentence, max=bytes_allowed // 1024, unit="KiB")
    if "ids" in extra:
        for key in duplicate_ids(value):
            sentence = "{property} may name a user once only, in upper or in lower case. Keep one of them."
            yield Fault.build(join_pointer(pointer, key), "sameUserTwice", sentence, property=_called(pointer))
    key_passes, entry_passes = _quick_check(form.key_type), _quick_check(form.value_type)
    for key, entry in islice(value.items(), form.max_length):
        if key_passes(key) and entry_passes(entry):
            continue
        place = join_pointer(pointer, key)
        for fault in _faults(key, form.key_type, place, {}):
            yield replace(fault, pointer=place, detail=f"As a key, {fault.detail}")
        yield from _faults(entry, form.value_type, place, {})


def _quick_check(form: inspect.Type) -> Callable[[object], bool]:
    """Return a check that passes values without faults.

    It knows texts, ids and choices. A body with 10,000 ids and one fault takes a tenth of the time with it.
    """
    match form:
        case inspect.Metadata() if not has_extra_constraint(form):
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
        # Comparing names is slow, and a body with many unknown ones has no typing errors.
        yield _unknown_property(join_pointer(pointer, unknown), unknown, names if place < _MOST_COMPARED else [])


def _property(value: dict[str, object], field: inspect.Field, pointer: str) -> Iterator[Fault]:
    place = join_pointer(pointer, field.encode_name)
    sent = value.get(field.encode_name, NODEFAULT)
    if field.required and _is_nothing(sent):
        sentence = "{property} needs visible text." if isinstance(sent, str) else "{property} is required."
        yield Fault.build(place, "missingProperty", sentence, property=field.encode_name)
    elif sent is None and not _has_default(field):
        sentence = "{property} may be left out, but it may not be null."
        yield Fault.build(place, "nullNotAllowed", sentence, property=field.encode_name)
    elif sent is not NODEFAULT and sent is not None:
        yield from _faults(sent, field.type, place, {})


def _is_nothing(sent: object) -> bool:
    return sent is NODEFAULT or sent is None or (isinstance(sent, str) and is_blank(sent))


def _has_default(field: inspect.Field) -> bool:
    """Return whether null may replace the default.

    msgspec shows UNSET as a missing default.
    """
    return field.default is not NODEFAULT or field.default_factory is not NODEFAULT


def _unknown_property(pointer: str, unknown: str, names: Sequence[str]) -> Fault:
    known = {name.lower(): name for name in names}
    near = difflib.get_close_matches(unknown.lower(), known, n=1) if len(unknown) <= _LONGEST_MISSPELLING else []
    shown = _shortened(unknown)
    if near:
        sentence = "There is no property {property}. Did you mean {nearest}?"
        return Fault.build(pointer, "unknownProperty", sentence, property=shown, nearest=known[near[0]])
    sentence = "There is no property {property}. Leave it out."
    return Fault.build(pointer, "unknownProperty", sentence, property=shown)


def _called(pointer: str) -> str:
    """Return the place for a sentence: the path of the property."""
    return _shortened("/".join(split_pointer(pointer))) or "This"


def _shortened(text: str) -> str:
    shown = text if len(text) <= _LONGEST_MISSPELLING else f"{text[:_LONGEST_MISSPELLING]}..."
    return re.sub(rf"[\x00-\x1f\x7f-\x9f{DIRECTIONS}]", "\N{REPLACEMENT CHARACTER}", shown)


def _plural(count: int, unit: str) -> str:
    return unit if count == 1 else f"{unit}s"


Value = TypeVar("Value")


class Reader(Generic[Value]):
    """Validate and decode one type.

    The constructor raises TypeError for a type without a validation rule. Most bodies are valid, and one strict decode
    proves it. Otherwise the body is validated field by field. It may still be valid: the strict decoder does not accept
    2.0 as an integer.
    """

    # The accepted types, for the API description.
    types: tuple[type, ...]

    def __init__(self, type_: type[Value]) -> None:
        self.type = type_
        self.types = (type_,)
        self._decode = msgspec.json.Decoder(type_).decode
        self._form = cast("inspect.StructType", inspect.type_info(type_))
        self._strict_form = strict_form(self._form)
        self._refuses_empty = any("least" in _extra(part) for part in walk_types(self._form))
        require_known(self._form)
        self._demands = _demands(self._form)
        self._decoder_suffices = _decoder_suffices(self._form, len(self._demands))

    def read(self, raw: bytes) -> Value:
        """Decode a body.

        Raises BodyInvalid with all faults, or Malformed if it is not a JSON object.
        """
        needs_strict_form = _may_hide(raw) or (self._refuses_empty and b'""' in raw)
        if self._decoder_suffices and not needs_strict_form and (body := self._decoded(raw)) is not None:
            return body
        return self.read_value(parse_object(raw))

    def read_value(self, value: object, pointer: str = "") -> Value:
        """Validate a decoded value at this place of the body."""
        return self._valid(value, self._strict_form, pointer)

    def read_stored(self, raw: bytes) -> Value:
        """Decode a stored body, or one of an object of the directory.

        It may have invisible texts of earlier versions, which `read` refuses. Raises BodyInvalid.
        """
        if self._decoder_suffices and (body := self._decoded(raw)) is not None:
            return body
        return self._valid(parse_object(raw), self._form, "")

    def _decoded(self, raw: bytes) -> Value | None:
        """Decode a body that the decoder alone proves valid."""
        try:
            body = self._decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        for attribute, extra in self._demands:
            if (value := getattr(body, attribute)) and violates(value, extra):
                return None
        return body

    def _valid(self, value: object, form: inspect.StructType, pointer: str) -> Value:
        faults = list_faults(value, form, pointer)
        if faults:
            raise BodyInvalid(faults)
        return msgspec.convert(_as_decoded(value), self.type)


# Escapes of invisible characters, and of all characters beyond the Basic Multilingual Plane.
_ESCAPED = re.compile(
    rb"\\u(?:00ad|034f|061c|115f|1160|17b[45]|180[b-f]|20[0-6][0-9a-f]|2800|3164|fe0[0-9a-f]|feff|ffa0|fff[0-9a-b]|d[89ab])",
    re.IGNORECASE,
)


def _may_hide(raw: bytes) -> bool:
    """Return whether a body may have texts with invisible characters."""
    if b"\\" in raw and _ESCAPED.search(raw) is not None:
        return True
    return not raw.isascii() and has_hidden(raw.decode(errors="replace"))


def _extra(form: inspect.Type) -> Mapping[str, object]:
    return (isinstance(form, inspect.Metadata) and form.extra) or {}


def strict_form(form: inspect.StructType) -> inspect.StructType:
    """Return the form with the strict patterns and lengths of texts."""
    return cast("inspect.StructType", _with_strict_texts(form, {}))


def _with_strict_texts(form: inspect.Type, extra: Mapping[str, object]) -> inspect.Type:
    match form:
        case inspect.Metadata():
            return structs.replace(form, type=_with_strict_texts(form.type, {**extra, **(form.extra or {})}))
        case inspect.StrType():
            least = extra.get("least", form.min_length)
            return structs.replace(form, pattern=extra.get("strict", form.pattern), min_length=least)
        case inspect.UnionType():
            return structs.replace(form, types=tuple(_with_strict_texts(each, {}) for each in form.types))
        case inspect.ListType() | inspect.VarTupleType():
            return structs.replace(form, item_type=_with_strict_texts(form.item_type, {}))
        case inspect.DictType():
            key, value = (_with_strict_texts(each, {}) for each in (form.key_type, form.value_type))
            return structs.replace(form, key_type=key, value_type=value)
        case inspect.StructType():
            fields = [structs.replace(each, type=_with_strict_texts(each.type, {})) for each in form.fields]
            return structs.replace(form, fields=tuple(fields))
        case _:
            return form


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
    """List the fields with constraints that only `violates` can validate."""
    return tuple(
        (field.name, option.extra or {})
        for field in form.fields
        for option in (field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,))
        if isinstance(option, inspect.Metadata) and has_extra_constraint(option)
    )


def _decoder_suffices(form: inspect.StructType, demands: int) -> bool:
    """Return whether the decoder proves all but these fields valid.

    It accepts UUIDs without dashes, and ignores further constraints of nested types.
    """
    found = 0
    for part in walk_types(form):
        if isinstance(part, inspect.UUIDType):
            return False
        found += has_extra_constraint(part)
    return found == demands
