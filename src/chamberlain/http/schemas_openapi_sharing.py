"""Sharing the repeated parts of an OpenAPI document by references, which makes it half as large."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import json

# A JSON value of the document; the OpenAPI specification defines its type.
Json = dict[str, Any]


def with_shared_parts(document: Mapping[str, Any]) -> Json:
    """Return the same document, in which equal responses and equal parameters are components.

    A part that occurs once stays where it is. The document that is passed in is not changed.
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
    """The components of one kind, to which each part is added that occurs more than once."""

    def __init__(self, kind: str, known: Mapping[str, Any], parts: Iterable[Json]) -> None:
        self.components: Json = dict(known)
        self._kind = kind
        self._occurrences = Counter(map(_key, parts))
        self._names: dict[bytes, str] = {}

    def shared(self, name: str, part: Json) -> Json:
        """Return a reference to the part, or the part itself when it occurs once."""
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
