# SPDX-License-Identifier: Apache-2.0
"""Validates resources, and selects the attributes of responses.

The rules are those of RFC 7643, section 2, and RFC 7644, section 3.9.
"""

import re
from collections.abc import Iterable, Sequence

from chamberlain.embedded.directory.scim.errors import ScimFault, invalid_value
from chamberlain.embedded.directory.scim.paths import Place, find_place
from chamberlain.embedded.directory.scim.schemas import Attribute, Json, ResourceKind

# Members that one call can name.
MOST_MEMBERS = 20_000
# Values of any other attribute. A filter compares each of them with each of its terms.
MOST_VALUES = 100

# The database stores neither a NUL nor a lone surrogate.
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def read_resource(body: object, kind: ResourceKind) -> Json:
    """Validate the body of POST or PUT.

    Read-only and unknown attributes are ignored, and null and empty lists are no values. Raises ScimFault.
    """
    if not isinstance(body, dict):
        raise ScimFault(400, "The body is no JSON object.", "invalidSyntax")
    named = body.get("schemas")
    if not isinstance(named, list) or kind.schema not in named:
        raise ScimFault(400, f"schemas must contain {kind.schema}.", "invalidSyntax")
    document: Json = {}
    for name, value in body.items():
        place = find_place(kind, name)
        if place is None or place.part is not None:
            continue
        if place.attribute is None:
            document |= _read_extension(kind, value)
        elif place.attribute.mutability != "readOnly":
            container = document if place.extension is None else document.setdefault(place.extension, {})
            put(container, place.attribute, value)
    return finish(document, kind)


def _read_extension(kind: ResourceKind, value: object) -> Json:
    if kind.extension is None or value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid_value(f"{kind.extension} must be a JSON object.")
    found: Json = {}
    for name, one in value.items():
        attribute = kind.extension_attribute(name)
        if attribute is not None:
            put(found, attribute, one)
    return {kind.extension: found}


def put(container: object, attribute: Attribute, value: object) -> None:
    """Set an attribute, or remove it if the value is none.

    Raises ScimFault.
    """
    if not isinstance(container, dict):
        raise invalid_value(f"{attribute.name} belongs to a JSON object.")
    cleaned = clean(attribute, value)
    if cleaned is None:
        container.pop(attribute.name, None)
    else:
        container[attribute.name] = cleaned


def clean(attribute: Attribute, value: object) -> object:
    """Validate a value of an attribute.

    Returns None for no value. Raises ScimFault.
    """
    if value is None:
        return None
    if not attribute.is_multiple:
        return _clean_one(attribute, value)
    values = value if isinstance(value, list) else [value]
    _require_few(attribute, values, MOST_MEMBERS if attribute.name == "members" else MOST_VALUES)
    cleaned = [_clean_one(attribute, one) for one in values if one is not None]
    return unique(one for one in cleaned if one is not None) or None


def _require_few(attribute: Attribute, values: Sequence[object], most: int) -> None:
    if len(values) > most:
        raise invalid_value(f"{attribute.name} has more than {most} values.")


def unique(values: Iterable[object]) -> list[object]:
    """Return the values without repeated ones, in their order."""
    seen: set[str] = set()
    found = []
    for value in values:
        key = repr(sorted(value.items())) if isinstance(value, dict) else repr(value)
        if key not in seen:
            seen.add(key)
            found.append(value)
    return found


def _clean_one(attribute: Attribute, value: object) -> object:
    match attribute.type:
        case "complex":
            return _clean_complex(attribute, value)
        case "boolean":
            return _clean_boolean(attribute, value)
        case "string" | "reference" | "dateTime":
            return _clean_text(attribute, value)


def _clean_complex(attribute: Attribute, value: object) -> object:
    if isinstance(value, str) and attribute.part("value") is not None:
        # Some clients send the id of a manager or member alone.
        value = {"value": value}
    if not isinstance(value, dict):
        raise invalid_value(f"{attribute.name} must be a JSON object.")
    found: Json = {}
    for name, one in value.items():
        part = attribute.part(name)
        if part is not None and part.mutability != "readOnly":
            put(found, part, one)
    return found or None


def _clean_boolean(attribute: Attribute, value: object) -> object:
    if isinstance(value, bool):
        return value
    # The provisioning service of Entra ID sends True and False as texts.
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise invalid_value(f"{attribute.name} must be true or false.")


def _clean_text(attribute: Attribute, value: object) -> object:
    if not isinstance(value, str):
        raise invalid_value(f"{attribute.name} must be a text.")
    if len(value) > attribute.most_characters:
        raise invalid_value(f"{attribute.name} has more than {attribute.most_characters} characters.")
    if _NOT_STORABLE.search(value):
        raise invalid_value(f"{attribute.name} has a character that cannot be stored.")
    return value or None


def finish(document: Json, kind: ResourceKind) -> Json:
    """Check the rules about the whole resource, and set its schemas.

    Raises ScimFault.
    """
    if kind.extension is not None and not document.get(kind.extension):
        document.pop(kind.extension, None)
    for attribute in kind.attributes:
        found = document.get(attribute.name)
        if isinstance(found, list) and attribute.name != "members":
            _require_few(attribute, found, MOST_VALUES)
        if attribute.is_required and attribute.name not in document:
            raise invalid_value(f"{attribute.name} is required.")
        if attribute.part("primary") is not None and len(primary_values(document, attribute)) > 1:
            raise invalid_value(f"{attribute.name} has more than one primary value.")
    document["schemas"] = [kind.schema, *([kind.extension] if kind.extension in document and kind.extension else [])]
    return document


def primary_values(document: Json, attribute: Attribute) -> list[Json]:
    """Return the values of an attribute that are primary."""
    found = document.get(attribute.name)
    values = found if isinstance(found, list) else []
    return [one for one in values if isinstance(one, dict) and one.get("primary") is True]


def select(resource: Json, kind: ResourceKind, wanted: Sequence[str], unwanted: Sequence[str]) -> Json:
    """Return the resource with the wanted attributes, or without the unwanted ones.

    Both empty means all attributes. `schemas` and `id` are always returned.
    """
    if wanted:
        shown: Json = {name: resource[name] for name in ("schemas", "id") if name in resource}
        for place in _places(kind, wanted):
            _copy(resource, shown, place)
        return shown
    shown = dict(resource)
    for place in _places(kind, unwanted):
        _drop(shown, place)
    return shown


def _places(kind: ResourceKind, names: Sequence[str]) -> list[Place]:
    return [place for name in names if (place := find_place(kind, name.strip())) is not None]


def _copy(resource: Json, shown: Json, place: Place) -> None:
    source, target = resource, shown
    if place.extension is not None:
        inner = resource.get(place.extension)
        if not isinstance(inner, dict):
            return
        if place.attribute is None:
            shown[place.extension] = inner
            return
        source = inner
        target = shown.setdefault(place.extension, {})  # type: ignore[assignment]
    if place.attribute is None or place.attribute.name not in source:
        return
    name, value = place.attribute.name, source[place.attribute.name]
    if place.part is None:
        target[name] = value
    elif isinstance(value, list):
        before = target.get(name, [{} for _ in value])
        target[name] = [old | _only(one, place.part) for old, one in zip(before, value, strict=True)]  # type: ignore[call-overload]
    else:
        target[name] = target.get(name, {}) | _only(value, place.part)  # type: ignore[operator]


def _only(value: object, part: Attribute) -> Json:
    return {part.name: value[part.name]} if isinstance(value, dict) and part.name in value else {}


def _drop(shown: Json, place: Place) -> None:
    if place.target is not None and place.target.returned == "always":
        return
    if place.extension is not None:
        inner = shown.get(place.extension)
        if place.attribute is None:
            shown.pop(place.extension, None)
        elif isinstance(inner, dict):
            shown[place.extension] = inner = dict(inner)
            _drop(inner, Place(None, place.attribute, place.part))
        return
    if place.attribute is None:
        return
    name, part = place.attribute.name, place.part
    if part is None:
        shown.pop(name, None)
    elif isinstance(values := shown.get(name), list):
        shown[name] = [_without(one, part) for one in values]
    elif isinstance(values, dict):
        shown[name] = _without(values, part)


def _without(value: object, part: Attribute) -> object:
    return {name: one for name, one in value.items() if name != part.name} if isinstance(value, dict) else value
