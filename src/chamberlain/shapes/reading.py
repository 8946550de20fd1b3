"""Reading a JSON value as a shape: either the struct, or every fault with its JSON Pointer, its code and its cure.

The decoder alone would stop at the first fault. So the value is first walked beside the shape's type, and decoded only
when nothing was found. What decides is the type alone; there is no second list of bounds here.
"""

import difflib
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar, cast

import msgspec
from msgspec import inspect

from chamberlain.rules.errors import BodyInvalid, Fault

T = TypeVar("T")

# The one way in which ids are written; the decoder would take others as well.
_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def read_shape(value: object, shape: type[T], *, pointer: str = "") -> T:
    """The value as this shape; `pointer` is where it stands in what was sent. Raises BodyInvalid with all faults."""
    cleaned = clean(value)
    faults = tuple(_faults(_type_of(cast("Hashable", shape)), cleaned, pointer))
    if faults:
        raise BodyInvalid(faults)
    return msgspec.convert(cleaned, shape)


def clean(value: object) -> object:
    """The value without members that are null, which means "not sent", and with 2.0 written as 2."""
    if isinstance(value, Mapping):
        return {name: clean(each) for name, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [clean(each) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def child(pointer: str, name: str | int) -> str:
    """The pointer of a member or an item (RFC 6901, 3: tilde and slash are escaped)."""
    return f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"


@lru_cache(maxsize=256)
def _type_of(shape: Hashable) -> inspect.Type:
    return inspect.type_info(shape)


def _faults(kind: inspect.Type, value: object, pointer: str, expected: str = "") -> Iterator[Fault]:
    """What is wrong with a value of this type; `expected` is the type's own description, if it has one."""
    match kind:
        case inspect.Metadata():
            yield from _faults(kind.type, value, pointer, str((kind.extra_json_schema or {}).get("description", "")))
        case inspect.StructType():
            yield from _struct_faults(kind, value, pointer)
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            yield from _list_faults(kind, value, pointer)
        case inspect.DictType():
            yield from _dict_faults(kind, value, pointer)
        case inspect.UnionType():
            yield from _union_faults(kind, value, pointer, expected)
        case _:
            yield from _leaf_faults(kind, value, pointer, expected)


def _struct_faults(kind: inspect.StructType, value: object, pointer: str) -> Iterator[Fault]:
    if not isinstance(value, Mapping):
        yield _wrong_type(value, "an object", pointer)
        return
    fields = {field.encode_name: field for field in kind.fields}
    known = {*fields, kind.tag_field} - {None}
    for name in value:
        if name not in known:
            yield Fault(child(pointer, name), "unknownProperty", _unknown(name, fields))
    for name, field in fields.items():
        if name in value:
            yield from _faults(field.type, value[name], child(pointer, name))
        elif field.required:
            yield Fault(child(pointer, name), "missingProperty", f'"{name}" is required.')


def _unknown(name: str, known: Mapping[str, object]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1)
    if nearest:
        return f'There is no property "{name}". Did you mean "{nearest[0]}"?'
    return f'There is no property "{name}". Leave it out; known are {", ".join(sorted(known))}.'


def _list_faults(kind: inspect.CollectionType, value: object, pointer: str) -> Iterator[Fault]:
    if not isinstance(value, list):
        yield _wrong_type(value, "a list", pointer)
        return
    yield from _size_faults(kind, value, pointer, "entries")
    for place, item in enumerate(value):
        yield from _faults(kind.item_type, item, child(pointer, place))


def _dict_faults(kind: inspect.DictType, value: object, pointer: str) -> Iterator[Fault]:
    if not isinstance(value, Mapping):
        yield _wrong_type(value, "an object", pointer)
        return
    yield from _size_faults(kind, value, pointer, "members")
    for name, item in value.items():
        yield from _faults(kind.key_type, name, child(pointer, name))
        yield from _faults(kind.value_type, item, child(pointer, name))


def _union_faults(kind: inspect.UnionType, value: object, pointer: str, expected: str) -> Iterator[Fault]:
    if value is None and kind.includes_none:
        return
    choices = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
    if len(choices) == 1:
        yield from _faults(choices[0], value, pointer, expected)
        return
    structs = {each.tag: each for each in choices if isinstance(each, inspect.StructType)}
    if structs and isinstance(value, Mapping):
        yield from _tagged_faults(structs, value, pointer)
    elif all(any(True for _ in _faults(each, value, pointer)) for each in choices):
        yield _wrong_type(value, expected or " or ".join(_described(each) for each in choices), pointer)


def _tagged_faults(
    structs: Mapping[str | int | None, inspect.StructType], value: Mapping[str, object], pointer: str
) -> Iterator[Fault]:
    """The one struct is meant whose tag stands in the value."""
    name = cast("str", next(iter(structs.values())).tag_field)
    tag = value.get(name)
    if name not in value:
        yield Fault(child(pointer, name), "missingProperty", f'"{name}" is required: {_one_of(structs)}.')
    elif isinstance(tag, str | int) and tag in structs:
        yield from _struct_faults(structs[tag], value, pointer)
    else:
        yield Fault(child(pointer, name), "unknownValue", f"{_shown(tag)} is not possible here: {_one_of(structs)}.")


def _leaf_faults(kind: inspect.Type, value: object, pointer: str, expected: str) -> Iterator[Fault]:
    match kind:
        case inspect.StrType():
            yield from _text_faults(kind, value, pointer, expected)
        case inspect.IntType():
            yield from _number_faults(kind, value, pointer)
        case inspect.UUIDType():
            if not isinstance(value, str) or _ID.fullmatch(value) is None:
                yield Fault(pointer, "malformedId", f"{_shown(value)} is no id: expected a UUID with its four dashes.")
        case inspect.LiteralType():
            yield from _choice_faults(kind.values, value, pointer)
        case inspect.EnumType():
            yield from _choice_faults([each.value for each in kind.cls], value, pointer)
        case inspect.BoolType():
            if not isinstance(value, bool):
                yield _wrong_type(value, "true or false", pointer)
        case inspect.AnyType():
            return
        case _:
            # A shape of a new kind was written and this file forgotten; tests of that shape find it at once.
            message = f"Shapes do not use {type(kind).__name__}."
            raise NotImplementedError(message)


def _choice_faults(choices: Sequence[object], value: object, pointer: str) -> Iterator[Fault]:
    # True equals 1 and is still no number.
    if isinstance(value, bool) or value not in choices:
        yield Fault(pointer, "unknownValue", f"{_shown(value)} is not possible here: {_one_of(choices)}.")


def _text_faults(kind: inspect.StrType, value: object, pointer: str, expected: str) -> Iterator[Fault]:
    if not isinstance(value, str):
        yield _wrong_type(value, expected or "a text", pointer)
        return
    yield from _size_faults(kind, value, pointer, "characters")
    if kind.pattern is not None and value and re.search(kind.pattern, value) is None:
        yield Fault(pointer, "invalidText", f"{_shown(value)} cannot be used: expected {expected or 'another text'}.")


def _number_faults(kind: inspect.IntType, value: object, pointer: str) -> Iterator[Fault]:
    if not isinstance(value, int) or isinstance(value, bool):
        yield _wrong_type(value, "a whole number", pointer)
    elif (kind.ge is not None and value < kind.ge) or (kind.le is not None and value > kind.le):
        detail = f"{value} is out of bounds: expected a whole number from {kind.ge} to {kind.le}."
        yield Fault(pointer, "outOfBounds", detail)


_Sized = inspect.StrType | inspect.CollectionType | inspect.DictType


def _size_faults(
    kind: _Sized, value: str | Sequence[object] | Mapping[str, object], pointer: str, unit: str
) -> Iterator[Fault]:
    least, most = kind.min_length or 0, kind.max_length
    if len(value) < least or (most is not None and len(value) > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        yield Fault(pointer, "outOfBounds", f"There are {len(value)} {unit} here: expected {bounds}.")


def _wrong_type(value: object, expected: str, pointer: str) -> Fault:
    return Fault(pointer, "wrongType", f"{_shown(value)} is of the wrong type: expected {expected}.")


def _described(kind: inspect.Type) -> str:
    match kind:
        case inspect.Metadata():
            return _described(kind.type)
        case inspect.StrType():
            return "a text"
        case inspect.BoolType():
            return "true or false"
        case _:
            return "an object"


def _one_of(values: Sequence[object] | Mapping[str | int | None, object]) -> str:
    return f"expected {' or '.join(str(each) for each in values)}"


def _shown(value: object) -> str:
    """The value as somebody will recognise it; a long one is named by what it is, since it may hold anything."""
    match value:
        case str() if len(value) <= 64:
            return msgspec.json.encode(value).decode()
        case bool() | int() | float() | None:
            return msgspec.json.encode(value).decode()
        case Mapping():
            return "An object"
        case list():
            return "A list"
        case _:
            return "The value"
