"""The types that shapes are made of, and what is asked of values beyond them: what the strict decoder cannot check."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import inspect, json


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
