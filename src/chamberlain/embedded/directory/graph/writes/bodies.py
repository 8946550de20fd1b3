# SPDX-License-Identifier: Apache-2.0
"""Decode request bodies, and refuse what the directory cannot write."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import UUID

import msgspec

from chamberlain.embedded.directory.errors import WriteRefused
from chamberlain.embedded.directory.graph.calls import Call
from chamberlain.embedded.directory.writes.groups import MOST_REFERENCES, Extensions

Fields = TypeVar("Fields", bound=msgspec.Struct)

# Characters of a value of a schema extension, from the published limits of Graph.
MOST_EXTENSION: Final = 256

# The parser and the driver refuse lone surrogates, and the database a NUL.
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")
# The names are in an index of the database; those of applications are much shorter.
_EXTENSION_NAME = re.compile(r"(?=.{1,128}\Z)[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]+")
_ID = r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
# https://graph.microsoft.com/v1.0/users/{id}, .../users('{id}') and the same of directoryObjects and groups. Graph does
# not compare the host either.
_REFERENCE = re.compile(rf"https?://[^/]+/(?:[^?#]+/)?(?:directoryObjects|users|groups)(?:/({_ID})|\('({_ID})'\))/?")


@dataclass(frozen=True, slots=True)
class Body:
    """A decoded body: properties, extension attributes, and references of `<name>@odata.bind`."""

    properties: Mapping[str, object]
    extensions: Extensions
    references: Mapping[str, Sequence[UUID]]


def read_body(call: Call, *, bound: Sequence[str] = (), extends: bool = False) -> Body:
    """Decode a JSON object.

    `bound` are the names that may have references, and `extends` allows extension attributes. Annotations of OData are
    ignored, as in Graph. Raises WriteRefused.
    """
    properties: dict[str, object] = {}
    extensions: dict[str, Mapping[str, str | None] | None] = {}
    references: dict[str, Sequence[UUID]] = {}
    for name, value in read_object(call).items():
        if name.endswith("@odata.bind"):
            references[_bound_name(name, bound)] = _references(name, value)
        elif "@" in name:
            continue
        elif extends and _EXTENSION_NAME.fullmatch(name):
            extensions[name] = _members(name, value)
        else:
            properties[name] = value
    if sum(map(len, references.values())) > MOST_REFERENCES:
        message = f"The request has more than {MOST_REFERENCES} references."
        raise WriteRefused("valueInvalid", message)
    return Body(properties, extensions, references)


def read_object(call: Call) -> dict[str, object]:
    """Decode a JSON object whose texts can be stored. Raises WriteRefused."""
    try:
        decoded = msgspec.json.decode(call.body)
        _check_storable(decoded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # Both walk down recursively, so that a body of brackets only ends here.
        raise _not_json() from error
    if not isinstance(decoded, dict):
        raise _not_json()
    return decoded


def convert(properties: Mapping[str, object], fields: type[Fields], resource: str) -> Fields:
    """Validate the properties of a resource, such as `User`.

    Raises WriteRefused with the property.
    """
    known = [field.encode_name for field in msgspec.structs.fields(fields)]
    for name in properties:
        if name not in known:
            message = f"Invalid property '{name}'. These can be written here: {', '.join(sorted(known))}."
            raise WriteRefused("valueInvalid", message, name)
    try:
        return msgspec.convert(properties, fields)
    except msgspec.ValidationError as error:
        found = re.search(r"at `\$\.(\w+)", str(error)) or re.search(r"required field `(\w+)`", str(error))
        name = "" if found is None else found[1]
        message = f"Invalid value specified for property '{name}' of resource '{resource}'. {error}."
        raise WriteRefused("valueInvalid", message, name) from error


def require(properties: Mapping[str, object], names: Sequence[str], resource: str) -> None:
    """Raise WriteRefused for the first name without a value."""
    for name in names:
        if properties.get(name) is None:
            message = f"A value is required for property '{name}' of resource '{resource}'."
            raise WriteRefused("valueMissing", message, name)


def read_reference(call: Call) -> UUID:
    """Read the object of a body `{"@odata.id": "https://.../directoryObjects/{id}"}`. Raises WriteRefused."""
    body = read_object(call)
    if set(body) != {"@odata.id"}:
        raise WriteRefused("valueInvalid", "The body of a reference has the member '@odata.id' only.", "@odata.id")
    return parse_reference("@odata.id", body["@odata.id"])


def parse_reference(name: str, url: object) -> UUID:
    """Return the id at the end of the URL of an object.

    Raises WriteRefused.
    """
    found = _REFERENCE.fullmatch(url) if isinstance(url, str) else None
    if found is None:
        message = f"Invalid URL for '{name}': the URL of a directory object ends with /directoryObjects/ and its id."
        raise WriteRefused("valueInvalid", message, name)
    return UUID(found[1] or found[2])


def _not_json() -> WriteRefused:
    message = (
        "Unable to read JSON request payload. Please ensure Content-Type header is set and payload is of valid JSON "
        "format."
    )
    return WriteRefused("valueInvalid", message)


def _check_storable(value: object) -> None:
    match value:
        case str():
            if _NOT_STORABLE.search(value):
                message = "A text contains a character that the directory cannot store: a NUL or a lone surrogate."
                raise WriteRefused("valueInvalid", message)
        case dict():
            for name, each in value.items():
                _check_storable(name)
                _check_storable(each)
        case list():
            for each in value:
                _check_storable(each)
        case _:
            pass


def _bound_name(name: str, bound: Sequence[str]) -> str:
    plain = name.removesuffix("@odata.bind")
    if plain not in bound:
        raise WriteRefused("valueInvalid", f"Invalid property '{name}'.", name)
    return plain


def _references(name: str, value: object) -> Sequence[UUID]:
    if not isinstance(value, list):
        raise WriteRefused("valueInvalid", f"Invalid value specified for property '{name}': a list of URLs.", name)
    return list(dict.fromkeys(parse_reference(name, each) for each in value))


def _members(name: str, value: object) -> Mapping[str, str | None] | None:
    try:
        members = msgspec.convert(value, dict[str, str | None] | None)
    except msgspec.ValidationError as error:
        message = f"Invalid value specified for property '{name}': an object of strings. {error}."
        raise WriteRefused("valueInvalid", message, name) from error
    for member, text in (members or {}).items():
        if not re.fullmatch(r"[A-Za-z]\w{0,127}", member, re.ASCII) or len(text or "") > MOST_EXTENSION:
            message = f"Invalid value specified for property '{name}/{member}': at most {MOST_EXTENSION} characters."
            raise WriteRefused("valueInvalid", message, name)
    return members
