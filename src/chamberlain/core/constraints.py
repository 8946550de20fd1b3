"""The types that shapes are made of, and what is asked of values beyond them: what the strict decoder cannot check."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, inspect, json

from chamberlain.core.errors import Fault


def forms_within(form: inspect.Type) -> Iterator[inspect.Type]:
    """A type and all types that it is made of."""
    yield form
    for inner in _directly_within(form):
        yield from forms_within(inner)


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


def beyond_decoder(form: inspect.Type) -> bool:
    """Whether something is asked of a value that the strict decoder cannot check, and `breaks` can."""
    return isinstance(form, inspect.Metadata) and bool(_BEYOND_DECODER & (form.extra or {}).keys())


def breaks(value: object, extra: Mapping[str, object]) -> bool:
    """Whether a value does not meet what is asked of it beyond what the decoder checks."""
    bytes_allowed = extra.get("bytes")
    if isinstance(bytes_allowed, int) and too_heavy(value, bytes_allowed):
        return True
    return "ids" in extra and isinstance(value, dict) and next(spelt_twice(value), None) is not None


# How many bytes a text may have, or an object as JSON; and that the keys of an object are ids of users.
_BEYOND_DECODER = frozenset({"bytes", "ids"})


def too_heavy(value: object, bytes_allowed: int) -> bool:
    """Whether a value is larger than so many bytes of text, or of compact JSON."""
    return len(value.encode() if isinstance(value, str) else json.encode(value)) > bytes_allowed


def spelt_twice(value: Mapping[str, object]) -> Iterator[str]:
    """Keys that are ids which stand there before, in the other letter case."""
    seen: set[str] = set()
    for key in value:
        small = key.lower()
        if small in seen:
            yield key
        seen.add(small)


def child(pointer: str, name: str | int) -> str:
    """The pointer of a member or an item (RFC 6901, 3: tilde and slash are escaped)."""
    return f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"


def parts(pointer: str) -> list[str]:
    """The names and places that a pointer goes through, as they are written in the document."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def doubles(values: Iterable[Hashable], pointer: str, *, member: str | None = None) -> Iterator[Fault]:
    """A fault for each value that stands there before. `pointer` is the place of the list; `member` is where in an item
    the value is, if the item is more than that."""
    seen: dict[Hashable, int] = {}
    for place, value in enumerate(values):
        first = seen.setdefault(value, place)
        if first != place:
            here = child(pointer, place)
            detail = f"The same is there already, at place {first}, counted from 0. Leave one of the two out."
            yield Fault(here if member is None else child(here, member), "ruleInvalid", detail)


def doubled_words(words: Iterable[str], pointer: str) -> Iterator[Fault]:
    """The same for words that others read without regard to capitals."""
    return doubles([word.casefold() for word in words], pointer)


class Shape(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One JSON object: camelCase outside, snake_case inside, and a misspelt property is refused."""
