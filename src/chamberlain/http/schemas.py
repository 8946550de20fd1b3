# SPDX-License-Identifier: Apache-2.0
"""Schemas, shared components and permissions of the OpenAPI document."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from msgspec import json

from chamberlain.auth.models import ActorType, Caller
from chamberlain.auth.permissions import Operation, ScopePrefixes, require
from chamberlain.core.errors import Forbidden
from chamberlain.core.ids import ClientId, TenantId

# A JSON Schema; the standard defines its type.
Schema = dict[str, Any]

_BEGINNING = "#/components/schemas/"
_NULL: Schema = {"type": "null"}


def reference_to(type_: type) -> Schema:
    """Return the reference to the schema of a type."""
    return {"$ref": f"{_BEGINNING}{type_.__name__}"}


def schemas_of(types: Iterable[type], *, bodies: Sequence[type]) -> dict[str, Schema]:
    """Generate the schemas of types and of their parts.

    In `bodies` and their parts, an optional member may be null, which means "not sent".
    """
    _, schemas = json.schema_components(
        sorted(types, key=lambda type_: type_.__name__), ref_template=_BEGINNING + "{name}"
    )
    for name in _within([type_.__name__ for type_ in bodies], schemas):
        properties = schemas[name].get("properties", {})
        properties.update({member: _or_null(each) for member, each in properties.items() if "default" in each})
    for schema in schemas.values():
        _drop_patterns_of_ids(schema)
        properties = schema.get("properties", {})
        properties.update({member: _describe_default(each) for member, each in properties.items()})
    return schemas


def _within(names: Iterable[str], schemas: dict[str, Schema]) -> set[str]:
    """Return these schemas and all that they refer to."""
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


def _drop_patterns_of_ids(part: object) -> None:
    """Remove the patterns of UUIDs.

    The format says the same. Client generators warn about a pattern beside it.
    """
    if isinstance(part, dict):
        if part.get("format") == "uuid":
            part.pop("pattern", None)
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            _drop_patterns_of_ids(each)


def _describe_default(member: Schema) -> Schema:
    """Move the default of a nullable object into the description.

    Client generators reject such defaults and drop the operation.
    """
    if "anyOf" not in member or not isinstance(default := member.get("default"), dict):
        return member
    rest = {name: value for name, value in member.items() if name != "default"}
    return {**rest, "description": f"Default: `{json.encode(default).decode()}`."}


# A JSON value of the document; the OpenAPI specification defines its type.
Json = dict[str, Any]


def with_shared_parts(document: Mapping[str, Any]) -> Json:
    """Return the same document with equal parts as components.

    The parts are responses and parameters. A part that occurs once stays where it is. The document that is passed in is
    not changed.
    """
    components: Json = dict(document["components"])
    responses = _Shared("responses", components.get("responses", {}), _responses(document))
    parameters = _Shared("parameters", components["parameters"], _parameters(document))
    paths: Json = {}
    for path, item in document["paths"].items():
        paths[path] = {}
        for method, operation in item.items():
            paths[path][method] = {
                **operation,
                "parameters": [
                    each if "$ref" in each else parameters.shared(each["name"], each)
                    for each in operation["parameters"]
                ],
                "responses": {
                    status: responses.shared(f"answer{status}", each) for status, each in operation["responses"].items()
                },
            }
    return {
        **document,
        "paths": paths,
        "components": {**components, "responses": responses.components, "parameters": parameters.components},
    }


class _Shared:
    """The components of one kind.

    Each part that occurs more than once is added.
    """

    def __init__(self, kind: str, known: Mapping[str, Any], parts: Iterable[Json]) -> None:
        self.components: Json = dict(known)
        self._kind = kind
        self._occurrences = Counter(map(_key, parts))
        self._names: dict[bytes, str] = {}

    def shared(self, name: str, part: Json) -> Json:
        """Return a reference to the part.

        A part that occurs once is returned itself.
        """
        key = _key(part)
        if self._occurrences[key] == 1:
            return part
        if key not in self._names:
            self._names[key] = self._free(name)
            self.components[self._names[key]] = part
        return {"$ref": f"#/components/{self._kind}/{self._names[key]}"}

    def _free(self, name: str) -> str:
        number = 2
        free = name
        while free in self.components:
            free = f"{name}-{number}"
            number += 1
        return free


def _responses(document: Mapping[str, Any]) -> Iterator[Json]:
    for operation in _operations(document):
        yield from operation["responses"].values()


def _parameters(document: Mapping[str, Any]) -> Iterator[Json]:
    for operation in _operations(document):
        yield from _in_place(operation["parameters"])


def _operations(document: Mapping[str, Any]) -> Iterator[Json]:
    for item in document["paths"].values():
        yield from item.values()


def _in_place(parameters: Iterable[Json]) -> Iterator[Json]:
    return (each for each in parameters if "$ref" not in each)


def _key(part: Json) -> bytes:
    return json.encode(part, order="deterministic")


def is_for_applications(operation: Operation) -> bool:
    """Whether applications may perform an operation at all."""
    return permission_names(operation, ActorType.APPLICATION, ScopePrefixes("", "")) is not None


def permission_names(operation: Operation, type_: ActorType, prefixes: ScopePrefixes) -> tuple[str, ...] | None:
    """Return the permissions of which one suffices; None if no permission does.

    There are none if any token is enough. It asks for a caller without permissions, so the document has the permissions
    of the refusal.
    """
    caller = Caller(
        TenantId(UUID(int=0)), type_, UUID(int=0), ClientId(""), frozenset(), datetime.max.replace(tzinfo=UTC)
    )
    try:
        require(caller, operation, prefixes)
    except Forbidden as refusal:
        return refusal.sufficient if refusal.code == "insufficientScope" else None
    return ()
