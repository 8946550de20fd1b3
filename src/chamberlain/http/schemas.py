"""The schemas of the OpenAPI document, made from the types that bodies are read as and answers are written from."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import json

# A schema as the document has it; its type is the business of JSON Schema.
Schema = dict[str, Any]

_BEGINNING = "#/components/schemas/"
_NULL: Schema = {"type": "null"}


def reference_to(type_: type) -> Schema:
    """Where the schema of a type stands."""
    return {"$ref": f"{_BEGINNING}{type_.__name__}"}


def schemas_of(types: Iterable[type], *, bodies: Sequence[type]) -> dict[str, Schema]:
    """One schema for each of these types, and for each that they are made of.

    In `bodies` and in what those are made of, null may stand for a member that may be left out: it means "not sent".
    """
    _, schemas = json.schema_components(
        sorted(types, key=lambda type_: type_.__name__), ref_template=_BEGINNING + "{name}"
    )
    for name in _within([type_.__name__ for type_ in bodies], schemas):
        properties = schemas[name].get("properties", {})
        properties.update({member: _or_null(each) for member, each in properties.items() if "default" in each})
    return schemas


def _within(names: Iterable[str], schemas: dict[str, Schema]) -> set[str]:
    """These schemas and all that they refer to."""
    found: set[str] = set()
    ahead = list(names)
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += _referred_to(schemas[name])
    return found


def _referred_to(part: object) -> Iterable[str]:
    if isinstance(part, dict):
        if isinstance(reference := part.get("$ref"), str):
            yield reference.removeprefix(_BEGINNING)
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from _referred_to(each)


def _or_null(member: Schema) -> Schema:
    if _NULL in member.get("anyOf", ()):
        return member
    rest = {name: value for name, value in member.items() if name != "default"}
    return {"anyOf": [rest, _NULL], "default": member["default"]}
