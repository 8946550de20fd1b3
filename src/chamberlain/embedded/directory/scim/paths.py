# SPDX-License-Identifier: Apache-2.0
"""Attribute paths: `name.familyName`, `urn:...:User:department`, `emails[type eq "work"].value` (RFC 7644, 3.10)."""

from dataclasses import dataclass

from chamberlain.embedded.directory.scim.schemas import Attribute, Json, ResourceKind


@dataclass(frozen=True, slots=True)
class Place:
    """An attribute or sub-attribute of a resource or its extension.

    `attribute` None means the whole extension.
    """

    extension: str | None
    attribute: Attribute | None
    part: Attribute | None = None

    @property
    def target(self) -> Attribute | None:
        """Return the sub-attribute or the attribute; None for the whole extension."""
        return self.part or self.attribute


def find_place(kind: ResourceKind, text: str) -> Place | None:
    """Resolve a path without a filter. Returns None for an unknown attribute."""
    extension, rest = _split(kind, text)
    if not rest:
        return None if extension is None else Place(extension, None)
    name, _, part_name = rest.partition(".")
    attribute = kind.attribute(name) if extension is None else kind.extension_attribute(name)
    if attribute is None:
        return None
    part = attribute.part(part_name) if part_name else None
    return None if part_name and part is None else Place(extension, attribute, part)


def _split(kind: ResourceKind, text: str) -> tuple[str | None, str]:
    """Cut off the URN of a schema.

    Returns the extension, if it is one, and the rest.
    """
    lowered = text.lower()
    for urn in (kind.extension, kind.schema):
        if urn is None:
            continue
        extension = urn if urn == kind.extension else None
        if lowered == urn.lower():
            return extension, ""
        if lowered.startswith(f"{urn.lower()}:"):
            return extension, text[len(urn) + 1 :]
    return None, text


def values_at(document: Json, place: Place) -> list[object]:
    """Return the values at a place.

    Of a complex attribute with several values they are the `value` parts, unless the place has a part.
    """
    container = document if place.extension is None else document.get(place.extension)
    if not isinstance(container, dict) or place.attribute is None:
        return [] if container is None else [container]
    found = container.get(place.attribute.name)
    if found is None:
        return []
    values = found if isinstance(found, list) else [found]
    part = place.part
    if part is None and place.attribute.is_multiple:
        part = place.attribute.part("value")
    if part is None:
        return values
    return [one[part.name] for one in values if isinstance(one, dict) and one.get(part.name) is not None]
