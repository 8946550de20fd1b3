# SPDX-License-Identifier: Apache-2.0
"""Applies the operations of PATCH to a resource (RFC 7644, 3.5.2)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import groupby, starmap

from chamberlain.core.expressions import AllOf
from chamberlain.embedded.directory.scim.documents import clean, finish, primary_values, put, unique
from chamberlain.embedded.directory.scim.errors import ScimFault, invalid_value
from chamberlain.embedded.directory.scim.filters import Compare, Filter, count_terms, matches, read_value_filter
from chamberlain.embedded.directory.scim.paths import Place, find_place
from chamberlain.embedded.directory.scim.schemas import Attribute, Json, ResourceKind

PATCH_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
# As many as clients send at once; each may have many values.
MOST_OPERATIONS = 1000
# Comparisons of all operations of a call together: about a second of a processor.
MOST_STEPS = 250_000
# The cost of reading an operation, in comparisons.
_STEPS_OF_OPERATION = 50

_VALUE_PATH = re.compile(r"(?P<attribute>[^\[\]]+)\[(?P<filter>.*)\](?:\.(?P<part>[A-Za-z$]+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """The target of an operation.

    The filter selects values of an attribute with several.
    """

    place: Place
    filter: Filter | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """An operation: add, replace or remove. `target` None means the resource."""

    operation: str
    target: Target | None
    value: object


def read_patch(body: object, kind: ResourceKind) -> list[Change]:
    """Validate the body of PATCH. Raises ScimFault."""
    members = {name.lower(): value for name, value in body.items()} if isinstance(body, dict) else {}
    named, operations = members.get("schemas"), members.get("operations")
    if not isinstance(named, list) or PATCH_SCHEMA not in named:
        raise ScimFault(400, f"schemas must contain {PATCH_SCHEMA}.", "invalidSyntax")
    if not isinstance(operations, list) or not 1 <= len(operations) <= MOST_OPERATIONS:
        raise ScimFault(400, f"Operations must be a list of 1 to {MOST_OPERATIONS} operations.", "invalidSyntax")
    return [_read_change(one, kind) for one in operations]


def _read_change(written: object, kind: ResourceKind) -> Change:
    members = {name.lower(): value for name, value in written.items()} if isinstance(written, dict) else {}
    operation, path = members.get("op"), members.get("path")
    if not isinstance(operation, str) or operation.lower() not in ("add", "replace", "remove"):
        raise ScimFault(400, "op must be add, replace or remove.", "invalidSyntax")
    if path is not None and not isinstance(path, str):
        raise ScimFault(400, "path must be a text.", "invalidPath")
    target = None if not path else read_target(path, kind)
    if target is None and operation.lower() == "remove":
        raise ScimFault(400, "remove needs a path.", "noTarget")
    if "value" not in members and operation.lower() != "remove":
        raise invalid_value(f"{operation} needs a value.")
    return Change(operation.lower(), target, members.get("value"))


def read_target(path: str, kind: ResourceKind) -> Target:
    """Parse a path, such as `emails[type eq "work"].value`. Raises ScimFault."""
    found = _VALUE_PATH.fullmatch(path)
    place = find_place(kind, path if found is None else found["attribute"])
    if place is None:
        raise ScimFault(400, f"The path {path} names no attribute of this resource.", "invalidPath")
    if found is None:
        return Target(place)
    attribute = place.attribute
    if attribute is None or place.part is not None or not attribute.parts or not attribute.is_multiple:
        raise ScimFault(400, "A path with a filter names an attribute with several values.", "invalidPath")
    part = attribute.part(found["part"]) if found["part"] else None
    if found["part"] and part is None:
        raise ScimFault(400, f"{attribute.name} has no sub-attribute {found['part']}.", "invalidPath")
    return Target(Place(place.extension, attribute, part), read_value_filter(found["filter"], kind, attribute))


def apply_patch(document: Json, changes: Sequence[Change], kind: ResourceKind) -> Json:
    """Return the changed resource. The document is not changed. Raises ScimFault."""
    patched, steps = deepcopy(document), 0
    for change, target in _joined_members(_with_targets(changes, kind)):
        steps += _steps(patched, target)
        if steps > MOST_STEPS:
            raise ScimFault(413, "The operations compare too many values. Send fewer in one call.")
        _apply(patched, change, target, kind)
    return finish(patched, kind)


def _with_targets(changes: Sequence[Change], kind: ResourceKind) -> Iterator[tuple[Change, Target]]:
    """Split operations without a path into one for each attribute."""
    for change in changes:
        if change.target is not None:
            yield change, change.target
            continue
        if not isinstance(change.value, dict):
            raise invalid_value("An operation without a path needs a JSON object as its value.")
        for path, value in change.value.items():
            if path.lower() != "schemas":
                yield Change(change.operation, None, value), read_target(path, kind)


def _joined_members(changes: Iterable[tuple[Change, Target]]) -> Iterator[tuple[Change, Target]]:
    """Join consecutive operations that add members, and those that remove them.

    Clients send one operation for each member, and each operation looks at all members of the group.
    """
    for (operation, target, is_joinable), group in groupby(starmap(_by_value, changes), _joins):
        found = [change for change, _ in group]
        if not is_joinable:
            yield from ((change, target) for change in found)
            continue
        yield Change(operation, target, [one for change in found for one in _values(change.value)]), target


def _by_value(change: Change, target: Target) -> tuple[Change, Target]:
    """Write the removal of `members[value eq "1"]` as that of `members` with a value."""
    match target:
        case Target(
            Place(None, Attribute(name="members") as attribute, None), Compare(Place(_, part), "eq", str() as value)
        ) if change.operation == "remove" and part is not None and part.name == "value":
            plain = Target(Place(None, attribute))
            return Change("remove", plain, [{"value": value}]), plain
    return change, target


def _joins(one: tuple[Change, Target]) -> tuple[str, Target, bool]:
    change, target = one
    attribute = target.place.attribute
    is_of_members = attribute is not None and attribute.name == "members" and target.place.part is None
    is_joinable = is_of_members and target.filter is None and change.value is not None
    return change.operation, target, is_joinable and change.operation != "replace"


def _values(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _steps(document: Json, target: Target) -> int:
    """Count the comparisons of an operation.

    It compares every value of its attribute with each term of its filter.
    """
    attribute = target.place.attribute
    found = None if attribute is None else document.get(attribute.name)
    terms = 1 if target.filter is None else count_terms(target.filter)
    return _STEPS_OF_OPERATION + terms * (len(found) if isinstance(found, list) else 1)


def _apply(document: Json, change: Change, target: Target, kind: ResourceKind) -> None:
    place = target.place
    if place.attribute is None:
        _apply_extension(document, change, kind)
        return
    _require_writable(place, change)
    container = document
    if place.extension is not None:
        inner = document.setdefault(place.extension, {})
        container = inner if isinstance(inner, dict) else {}
    has_primary = place.attribute.part("primary") is not None
    before = {id(one) for one in primary_values(container, place.attribute)} if has_primary else set()
    if target.filter is not None:
        _apply_to_values(container, change, place.attribute, target)
    elif place.part is not None:
        _apply_to_part(container, change, place.attribute, place.part)
    elif change.operation == "remove":
        _remove(container, place.attribute, change.value)
    else:
        _set(container, place.attribute, change)
    if has_primary:
        _keep_one_primary(container, place.attribute, before)


def _require_writable(place: Place, change: Change) -> None:
    for one in (place.attribute, place.part):
        if one is not None and one.mutability == "readOnly":
            raise ScimFault(400, f"{one.name} is read-only.", "mutability")
    attribute, part = place.attribute, place.part
    if part is not None and part.mutability == "immutable":
        raise ScimFault(400, f"{part.name} of an existing value cannot change.", "mutability")
    if change.operation == "remove" and part is None and attribute is not None and attribute.is_required:
        raise ScimFault(400, f"{attribute.name} is required.", "mutability")


def _apply_extension(document: Json, change: Change, kind: ResourceKind) -> None:
    urn = str(kind.extension)
    if change.operation == "remove":
        document.pop(urn, None)
        return
    if not isinstance(change.value, dict):
        raise invalid_value(f"{urn} must be a JSON object.")
    inner = document.setdefault(urn, {})
    for name, value in change.value.items():
        attribute = kind.extension_attribute(name)
        if attribute is not None and isinstance(inner, dict):
            _set(inner, attribute, Change(change.operation, None, value))


def _set(container: Json, attribute: Attribute, change: Change) -> None:
    cleaned = clean(attribute, change.value)
    before = container.get(attribute.name)
    if cleaned is None:
        if change.operation == "replace":
            container.pop(attribute.name, None)
    elif attribute.is_multiple and change.operation == "add" and isinstance(before, list):
        added = cleaned if isinstance(cleaned, list) else [cleaned]
        container[attribute.name] = _joined(attribute, before, added)
    elif attribute.type == "complex" and not attribute.is_multiple and isinstance(before, dict):
        container[attribute.name] = before | cleaned  # type: ignore[operator]
    else:
        container[attribute.name] = cleaned


def _joined(attribute: Attribute, before: list[object], added: list[object]) -> list[object]:
    """Add values.

    A value with the same reference as a present one is the same.
    """
    if attribute.name != "members":
        return unique([*before, *added])
    present = {str(one.get("value")).lower() for one in before if isinstance(one, dict)}
    new = [one for one in added if isinstance(one, dict) and str(one.get("value")).lower() not in present]
    return [*before, *new]


def _remove(container: Json, attribute: Attribute, value: object) -> None:
    """Remove an attribute, or the given values of it."""
    if value is None or not attribute.is_multiple:
        container.pop(attribute.name, None)
        return
    cleaned, before = clean(attribute, value), container.get(attribute.name)
    gone = [one for one in (cleaned if isinstance(cleaned, list) else []) if isinstance(one, dict)]
    keys = {str(one.get("value")).lower() for one in gone}
    values = before if isinstance(before, list) else []
    left = [one for one in values if not (isinstance(one, dict) and str(one.get("value")).lower() in keys)]
    if left:
        container[attribute.name] = left
    else:
        container.pop(attribute.name, None)


def _apply_to_part(container: Json, change: Change, attribute: Attribute, part: Attribute) -> None:
    """Change a part of all values of an attribute."""
    found = container.get(attribute.name)
    if attribute.is_multiple and not isinstance(found, list):
        if change.operation == "remove":
            return
        raise ScimFault(400, f"{attribute.name} has no value to change.", "noTarget")
    values = found if isinstance(found, list) else [found if isinstance(found, dict) else {}]
    for value in values:
        if isinstance(value, dict):
            put(value, part, None if change.operation == "remove" else change.value)
    if not isinstance(found, list):
        container[attribute.name] = values[0]
    _drop_empty(container, attribute)


def _apply_to_values(container: Json, change: Change, attribute: Attribute, target: Target) -> None:
    found = container.get(attribute.name)
    values: list[object] = found if isinstance(found, list) else []
    filter_, part = target.filter, target.place.part
    chosen = [one for one in values if filter_ is not None and isinstance(one, dict) and matches(filter_, one)]
    if change.operation == "remove":
        # Values that are gone already are no error, so that a repeated call succeeds.
        for one in chosen:
            if part is not None:
                one.pop(part.name, None)
        gone = {id(one) for one in chosen}
        kept = values if part is not None else [one for one in values if id(one) not in gone]
        container[attribute.name] = kept
        _drop_empty(container, attribute)
        return
    if not chosen:
        if change.operation == "replace" or filter_ is None:
            raise ScimFault(400, f"No value of {attribute.name} matches the filter.", "noTarget")
        chosen = [_new_value(filter_)]
        container[attribute.name] = values = [*values, *chosen]
    for one in chosen:
        if part is not None:
            put(one, part, change.value)
            continue
        cleaned = clean(attribute, [change.value])
        if not isinstance(cleaned, list) or not isinstance(cleaned[0], dict):
            raise invalid_value(f"A value of {attribute.name} must be a JSON object.")
        if change.operation == "replace":
            one.clear()
        one.update(cleaned[0])


def _new_value(filter_: Filter) -> Json:
    """Build a value that meets the equations of a filter.

    Clients that add by a filter expect it.
    """
    parts = filter_.parts if isinstance(filter_, AllOf) else (filter_,)
    value: Json = {}
    for part in parts:
        if not isinstance(part, Compare) or part.operator != "eq" or part.place.attribute is None:
            raise ScimFault(400, "No value matches the filter, and a new one cannot be made of it.", "noTarget")
        put(value, part.place.attribute, part.value)
    return value


def _drop_empty(container: Json, attribute: Attribute) -> None:
    found = container.get(attribute.name)
    if isinstance(found, list):
        found = [one for one in found if one]
        container[attribute.name] = found
    if not found:
        container.pop(attribute.name, None)


def _keep_one_primary(container: Json, attribute: Attribute, before: set[int]) -> None:
    """Make the other values secondary if a value has become primary."""
    primary = primary_values(container, attribute)
    new = [one for one in primary if id(one) not in before]
    if len(primary) > 1 and len(new) == 1:
        for one in primary:
            if one is not new[0]:
                one["primary"] = False
