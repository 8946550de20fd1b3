# SPDX-License-Identifier: Apache-2.0
"""Wrong request bodies, drawn from Microsoft's description by a seed, for tests of the tests.

A mutation renames, drops or retypes a property, or puts an id in place of a name. MutatingTransport changes the
requests of an adapter, above the recorder. Its tests must then fail. To list the mutations of a seed:

    python -m tests.microsoft365.mutations SEED
"""

import json
import re
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

import httpx2

from tests.microsoft365.recorder import PUBLISHED, Exchange, description

# Parsed JSON of any form.
Json: TypeAlias = Any

_VERSION: Final = "/v1.0"
_SCHEMAS: Final = "#/components/schemas/"
# The pattern of bound relations, as the description writes it.
_BOUND: Final = re.compile(r"\^\(([\w|]+)\)@odata\.bind\$")
_ID: Final = str(uuid.UUID(int=0x1D0))
# Schema extensions of groups, which the description has as a pattern: here every property with this form.
EXTENSION: Final = "<extension>"


class Kind(Enum):
    """The change of a property."""

    RENAME = "rename"
    DROP = "drop"
    RETYPE = "retype"
    ID_FOR_NAME = "id for name"


@dataclass(frozen=True, slots=True)
class Place:
    """A property of a request body. `path` leads to it through objects; lists are passed through."""

    operation: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mutation:
    """A wrong property of an operation's body."""

    kind: Kind
    place: Place

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.place.operation} {'/'.join(self.place.path)}"

    def apply(self, operation: str, body: Json) -> Json:
        """Return the body with the change; the same body if it has no such property."""
        return _change(body, self.place.path, self.kind) if operation == self.place.operation else body


def _change(body: Json, path: Sequence[str], kind: Kind) -> Json:
    if isinstance(body, list):
        return [_change(each, path, kind) for each in body]
    if not isinstance(body, dict):
        return body
    changed = {}
    for name, value in body.items():
        if not _is_named(name, path[0]):
            changed[name] = value
        elif len(path) > 1:
            changed[name] = _change(value, path[1:], kind)
        elif kind is Kind.RENAME:
            changed[_renamed(name)] = value
        elif kind is Kind.RETYPE:
            changed[name] = _retyped(value)
        elif kind is Kind.ID_FOR_NAME:
            changed[name] = _identified(value)
    return changed


def _is_named(name: str, wanted: str) -> bool:
    return name == wanted or (wanted == EXTENSION and "_" in name and "@" not in name)


def _renamed(name: str) -> str:
    """Return another name: a capital letter, a relation without its annotation, or a plural."""
    if "@" not in name:
        return f"{name[0].upper()}{name[1:]}"
    relation, _, annotation = name.partition("@")
    return relation if relation and annotation == "odata.bind" else f"{name}s"


def _retyped(value: Json) -> Json:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return [value]
        case list():
            return value[0] if value else ""
        case dict():
            return json.dumps(value)
        case _:
            return str(value)


def _identified(value: Json) -> Json:
    """Return an id in place of a name, and the id alone in place of an address."""
    match value:
        case str() if "://" in value:
            return value.rstrip("/").rpartition("/")[2]
        case str():
            return _ID
        case list():
            return [_identified(each) for each in value]
        case _:
            return value


def described_places() -> list[Place]:
    """List the properties that the description has in request bodies."""
    document = json.loads((PUBLISHED / "graph-v1.0.openapi.json").read_text(encoding="utf-8"))
    schemas = document["components"]["schemas"]
    found = []
    for template, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            if content:
                schema = content["application/json"]["schema"]
                paths = _paths(schema, schemas, depth=2)
                found += [Place(f"{method.upper()} {template}", path) for path in paths]
    return found


def _paths(schema: Mapping[str, Json], schemas: Mapping[str, Json], depth: int) -> Iterator[tuple[str, ...]]:
    for each in _resolved(schema, schemas):
        for name, inner in each.get("properties", {}).items():
            yield (name,)
            if depth > 1:
                yield from ((name, *path) for path in _paths(inner, schemas, depth - 1))
        for pattern in each.get("patternProperties", {}):
            if relations := _BOUND.fullmatch(pattern):
                yield from ((f"{name}@odata.bind",) for name in relations[1].split("|"))
            if pattern.startswith("^([a-z]"):
                yield (EXTENSION,)


def _resolved(schema: Mapping[str, Json], schemas: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """Return the objects that a schema can be, through references, alternatives and lists."""
    if "$ref" in schema:
        yield from _resolved(schemas[schema["$ref"].removeprefix(_SCHEMAS)], schemas)
    for each in schema.get("anyOf", ()):
        yield from _resolved(each, schemas)
    if "items" in schema:
        yield from _resolved(schema["items"], schemas)
    if "properties" in schema:
        yield schema


def used_places(exchanges: Iterable[Exchange]) -> set[Place]:
    """List the properties that recorded requests have."""
    found: set[Place] = set()
    for each in exchanges:
        operation = description(is_strict=True).find(each.method, each.path)
        if operation is not None and each.sent is not None:
            key = f"{operation.method} {operation.template}"
            found |= {Place(key, path) for path in _used(each.sent, depth=2)}
    return found


def _used(body: Json, depth: int) -> Iterator[tuple[str, ...]]:
    for each in body if isinstance(body, list) else [body]:
        for name, value in each.items() if isinstance(each, dict) else ():
            shown = EXTENSION if "_" in name and "@" not in name else name
            yield (shown,)
            if depth > 1 and shown != EXTENSION:
                yield from ((shown, *path) for path in _used(value, depth - 1))


def draw(seed: int, count: int = 40, *, used: Iterable[Place] | None = None) -> list[Mutation]:
    """Draw mutations of properties that the description has, and that requests use if `used` is given."""
    chosen = None if used is None else set(used)
    places = [each for each in described_places() if chosen is None or each in chosen]
    possible = [Mutation(kind, place) for place in dict.fromkeys(places) for kind in Kind if _fits(kind, place)]
    # A seed makes the draw repeatable.
    return Random(seed).sample(possible, min(count, len(possible)))  # noqa: S311


def _fits(kind: Kind, place: Place) -> bool:
    """An id can be in place of a name or of an address."""
    last = place.path[-1]
    return kind is not Kind.ID_FOR_NAME or "ame" in last or "@odata." in last


class MutatingTransport(httpx2.AsyncBaseTransport):
    """Changes the bodies of an operation's requests, parts of batches too. `changed` counts them."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, mutation: Mutation) -> None:
        self._inner = inner
        self._mutation = mutation
        self.changed = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        path = unquote(urlsplit(str(request.url)).path)
        if path.startswith(f"{_VERSION}/") and request.content:
            body = json.loads(request.content)
            changed = self._changed(request.method, path.removeprefix(_VERSION), body)
            if changed != body:
                headers = {name: value for name, value in request.headers.items() if name != "content-length"}
                request = httpx2.Request(request.method, request.url, headers=headers, json=changed)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _changed(self, method: str, path: str, body: Json) -> Json:
        if path == "/$batch":
            return {**body, "requests": [self._part(each) for each in body["requests"]]}
        operation = description(is_strict=True).find(method, path)
        if operation is None:
            return body
        changed = self._mutation.apply(f"{operation.method} {operation.template}", body)
        self.changed += changed != body
        return changed

    def _part(self, part: Mapping[str, Json]) -> Mapping[str, Json]:
        if "body" not in part:
            return part
        path = unquote(urlsplit("/" + part["url"].lstrip("/")).path)
        return {**part, "body": self._changed(part["method"], path, part["body"])}


if __name__ == "__main__":
    sys.stdout.writelines(f"{each}\n" for each in draw(int(sys.argv[1])))
