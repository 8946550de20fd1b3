# SPDX-License-Identifier: Apache-2.0
"""Submitted values of requests as people read them.

The labels are by property of the bodies of the API. Every property has a label here, or is omitted with a reason. A
page with several requests names all their people by one lookup.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final
from uuid import UUID

from msgspec import json

from chamberlain.console.fields import LABELS, LABELS_OF_KINDS, MEMBER_SHIP_TYPES
from chamberlain.console.visit import Visit
from chamberlain.console.words import N_
from chamberlain.core.errors import Unavailable
from chamberlain.core.ids import WRITTEN_ID, UserId
from chamberlain.core.values import Json
from chamberlain.people.service import PeopleService
from chamberlain.requests.models import RequestKind
from chamberlain.requests.rules import RequestView

# A page names the first people of a list, and counts the others.
MOST_NAMED: Final = 200

MAILBOX_KINDS: Final = frozenset({RequestKind.ROOM, RequestKind.EQUIPMENT, RequestKind.SHARED})
GROUP_KINDS: Final = frozenset({RequestKind.GROUP, RequestKind.TEAM})

# In the order of a page.
_MAILBOX_PROPERTIES: Final = (
    "displayName", "name", "alias", "domain", "reason", "primaryOwner", "secondaryOwner", "permissions", "capacity",
    "isWheelChairAccessible", "roomMailboxMetadata", "audioDeviceName", "displayDeviceName", "videoDeviceName", "tags",
    "officeLocation", "streetAddress", "postalCode", "city", "state", "country", "companyName", "department", "phone",
    "businessPhones", "automaticReply", "isAllowAutomaticReplyOverride", "hideFromGAL", "autoMapping", "notes",
)  # fmt: skip
_GROUP_PROPERTIES: Final = ("displayName", "description", "memberShipType", "labelId", "owners", "members")
_ROOM: Final = "roomMailboxMetadata"
# The parts of a room are the texts of one row.
_LABELS: Final = {**LABELS, f"/{_ROOM}": N_("Equipment of the room")}

# Labels by property, shared with the forms.
MAILBOX_LABELS: Final[Mapping[str, str]] = {name: _LABELS[f"/{name}"] for name in _MAILBOX_PROPERTIES}
GROUP_LABELS: Final[Mapping[str, str]] = {name: _LABELS[f"/{name}"] for name in _GROUP_PROPERTIES}
ROOM_LABELS: Final[Mapping[str, str]] = {
    name: _LABELS[f"/{_ROOM}/{name}"] for name in ("hasConferencePhone", "hasWhiteboard", "hasVideoConferencing")
}
# Properties without a row, with the reason.
OMITTED: Final[Mapping[str, str]] = {
    "templateId": "The head of the page has the name of the template.",
    "metadata": "Its values follow with the labels of the custom fields.",
}

_MEMBER_SHIPS: Final = tuple(each.label for each in MEMBER_SHIP_TYPES)
_LEVELS: Final[Mapping[str, str]] = {
    "None": N_("%(name)s: no access"),
    "SendAs": N_("%(name)s: send as the mailbox"),
    "FullAccess": N_("%(name)s: full access"),
}
_TRUTHS: Final = {True: N_("Yes"), False: N_("No")}


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A submitted value: its translated label, and its texts.

    `more` counts the texts of a long list that are left out.
    """

    label: str
    texts: tuple[str, ...]
    more: int = 0


async def show_values(visit: Visit, views: Sequence[RequestView]) -> Sequence[Sequence[ShownValue]]:
    """Return the submitted values of requests, in the order of a page.

    Ids replace names while the directory does not answer.
    """
    bodies = [_body(view) for view in views]
    users = frozenset(chain.from_iterable(map(_users, bodies)))
    people = visit.service(PeopleService)
    try:
        names = await people.names(visit.caller, users)
        has_label = any(body.get("labelId") for body in bodies)
        labels = {each.id: each.display_name for each in await people.labels(visit.caller)} if has_label else {}
    except Unavailable:
        names, labels = {}, {}
    return [values_of(view, visit.translate, names, labels) for view in views]


def values_of(
    view: RequestView, translate: Callable[[str], str], names: Mapping[UserId, str], labels: Mapping[str, str]
) -> Sequence[ShownValue]:
    """Return the submitted values of a request.

    `labels` are the names of sensitivity labels by id.
    """
    return _Shown(translate, names, labels).rows(view, _body(view))


def _body(view: RequestView) -> Mapping[str, Json]:
    body: Mapping[str, Json] = json.decode(view.record.body)
    return body


@dataclass(frozen=True, slots=True)
class _Shown:
    """Turns a body into rows, in one language."""

    translate: Callable[[str], str]
    names: Mapping[UserId, str]
    labels: Mapping[str, str]

    def rows(self, view: RequestView, body: Mapping[str, Json]) -> Sequence[ShownValue]:
        """Return the rows of all properties with a value."""
        kind = view.record.kind
        if kind in MAILBOX_KINDS:
            rows = [*self._properties(MAILBOX_LABELS, body, kind), *self._fields(view, body)]
        elif kind in GROUP_KINDS:
            rows = [*self._properties(GROUP_LABELS, body, kind), *self._fields(view, body)]
        else:
            # The head of an assignment or a repair says all.
            rows = []
        return [row for row in rows if row.texts]

    def _properties(
        self, labels: Mapping[str, str], body: Mapping[str, Json], kind: RequestKind
    ) -> Iterator[ShownValue]:
        for name, label in labels.items():
            if (value := body.get(name)) in (None, "", [], {}):
                continue
            texts, more = self._texts(name, value)
            yield ShownValue(self.translate(LABELS_OF_KINDS.get((kind, f"/{name}"), label)), texts, more)

    def _fields(self, view: RequestView, body: Mapping[str, Json]) -> Iterator[ShownValue]:
        """Return the custom fields, then further metadata by their keys."""
        for each in view.fields:
            yield ShownValue(each.label, (self._text(each.value),))
        known, metadata = {each.key for each in view.fields}, body.get("metadata")
        for key, value in metadata.items() if isinstance(metadata, dict) else ():
            if key not in known and value != "":
                label = LABELS.get(f"/metadata/{key}")
                yield ShownValue(key if label is None else self.translate(label), (self._text(value),))

    def _texts(self, name: str, value: Json) -> tuple[tuple[str, ...], int]:
        match value:
            case list():
                return tuple(map(self._text, value[:MOST_NAMED])), max(len(value) - MOST_NAMED, 0)
            case dict() if name == "permissions":
                named = [self._permission(*each) for each in list(value.items())[:MOST_NAMED]]
                return tuple(named), max(len(value) - MOST_NAMED, 0)
            case dict():
                # A room without one of them is not worth a line.
                return tuple(self.translate(ROOM_LABELS[key]) for key in ROOM_LABELS if value.get(key) is True), 0
            case int() if name == "memberShipType" and value in range(len(_MEMBER_SHIPS)):
                return (self.translate(_MEMBER_SHIPS[value]),), 0
            case str() if name == "labelId":
                return (self.labels.get(value) or value,), 0
            case _:
                return (self._text(value),), 0

    def _text(self, value: Json) -> str:
        match value:
            case bool():
                return self.translate(_TRUTHS[value])
            case str() if (user := _user(value)) is not None:
                return self.names.get(user) or value
            case _:
                return str(value)

    def _permission(self, user: str, level: Json) -> str:
        name = self._text(user)
        text = _LEVELS.get(str(level))
        return name if text is None else self.translate(text) % {"name": name}


def _users(body: Mapping[str, Json]) -> Iterator[UserId]:
    """Return the users of a body that a page names."""
    for name in ("primaryOwner", "secondaryOwner", "owners", "members", "permissions"):
        for each in _first(body.get(name)):
            if isinstance(each, str) and (user := _user(each)) is not None:
                yield user


def _first(value: Json) -> Iterable[Json]:
    match value:
        case str():
            return (value,)
        case list():
            return value[:MOST_NAMED]
        case dict():
            return list(value)[:MOST_NAMED]
        case _:
            return ()


def _user(text: str) -> UserId | None:
    return UserId(UUID(text)) if WRITTEN_ID.fullmatch(text) else None
