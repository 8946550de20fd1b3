# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of the OpenAPI document in the words of the reference: the type of a property, and its bound."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

# A part of the OpenAPI document.
Json = Mapping[str, Any]


def properties(document: Json, name: str) -> Iterator[tuple[str, Json]]:
    """The properties of a schema by their names, those of an object in it too, behind a dot."""
    for each, schema in document["components"]["schemas"][name]["properties"].items():
        here = resolved(document, schema)
        yield each, here
        for inner, within in here.get("properties", {}).items():
            yield f"{each}.{inner}", resolved(document, within)


def resolved(document: Json, schema: Json) -> Json:
    """The schema itself, in place of a reference to it or of a choice between it and null."""
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        return resolved(document, options[0])
    if "$ref" in schema:
        found: Json = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return found
    return schema


def type_of(document: Json, schema: Json) -> str:
    """The type of a value."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("format") == "uuid":
        return "UUID"
    if "anyOf" in schema:
        return " or ".join(type_of(document, each) for each in schema["anyOf"])
    match schema["type"]:
        case "array":
            return f"array of {type_of(document, resolved(document, schema['items']))}"
        case "object" if schema.get("additionalProperties"):
            key = "UUID" if schema["propertyNames"].get("format") == "uuid" else "string"
            return f"object: {key} to {type_of(document, resolved(document, schema['additionalProperties']))}"
        case other:
            return str(other)


def bound_of(document: Json, schema: Json) -> str:
    """The bound of a size; a bound in bytes is in the description."""
    bytes_ = re.search(r"\d+ KiB in (?:UTF-8|all)", schema.get("description", ""))
    match schema.get("type"):
        case "string" if "format" not in schema and "enum" not in schema:
            return f"up to {bytes_[0]}" if bytes_ else _length(schema)
        case "integer":
            return f"{schema['minimum']} to {schema['maximum']}"
        case "array" if "maxItems" in schema:
            items = bound_of(document, resolved(document, schema["items"]))
            return f"up to {schema['maxItems']}" + (f", each {items}" if items else "")
        case "object" if "maxProperties" in schema:
            return ", ".join(_of_entries(document, schema)) + (f", {bytes_[0]}" if bytes_ else "")
        case _:
            return ""


def _of_entries(document: Json, schema: Json) -> Iterator[str]:
    yield f"up to {schema['maxProperties']} keys"
    if "maxLength" in schema["propertyNames"]:
        yield f"keys {_length(schema['propertyNames'])}"
    value = resolved(document, schema["additionalProperties"])
    bounds = [bound for each in value.get("anyOf", (value,)) if (bound := bound_of(document, each))]
    if bounds:
        yield f"values {bounds[0]}"


def _length(schema: Json) -> str:
    if "maxLength" not in schema:
        return ""
    # A pattern may ask for a character where no length does.
    is_empty_possible = not schema.get("minLength") and re.search(schema.get("pattern", ""), "")
    least = "up to " if is_empty_possible else f"{schema.get('minLength', 1)} to "
    return f"{least}{schema['maxLength']} characters"
