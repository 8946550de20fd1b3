# SPDX-License-Identifier: Apache-2.0
"""People of a form: found by typed names, removed, and named.

Without scripts a user types a name and sends the form. One match is chosen. Several are offered as choices. A list of
addresses, as mail programs copy it, is several names.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from chamberlain.auth.models import Caller
from chamberlain.console.fields import MOST_PEOPLE, Field, Widget
from chamberlain.console.forms import Pairs
from chamberlain.console.words import N_
from chamberlain.core.errors import LimitReached, Malformed, Refusal, Unavailable
from chamberlain.core.ids import WRITTEN_ID, UserId
from chamberlain.directory.models import Person
from chamberlain.people.service import PeopleService

# Beginning of the name of the control for a typed name. The pointer of the field follows it.
FIND: Final = "find:"
# The level of a person who was added to a list of permissions.
FULL_ACCESS: Final = "FullAccess"
NOBODY: Final = N_("No person has this name. Check the spelling, or enter fewer letters.")
SEVERAL: Final = N_("Several people have this name. Choose one of them.")
TOO_SHORT: Final = N_("Enter at least two letters of the name.")


@dataclass(frozen=True, slots=True)
class ChosenPeople:
    """The values of a form after typed names were resolved.

    By pointer: `offered` people to choose from, `typed` names without a match, and the `messages` about both. `refusal`
    stopped the search.
    """

    pairs: Pairs
    added: int = 0
    offered: Mapping[str, Sequence[Person]] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)
    messages: Mapping[str, str] = field(default_factory=dict)
    refusal: Refusal | None = None

    @property
    def is_settled(self) -> bool:
        """Return whether the user has seen all people of the form."""
        return not (self.added or self.messages or self.refusal)


async def choose_people(
    people: PeopleService, caller: Caller, fields: Iterable[Field], sent: Pairs, pairs: Pairs
) -> ChosenPeople:
    """Resolve the typed names of a form.

    `pairs` are its values without them.
    """
    chosen, added = list(pairs), 0
    offered: dict[str, Sequence[Person]] = {}
    typed: dict[str, str] = {}
    messages: dict[str, str] = {}
    refusal: Refusal | None = None
    for each, name in _typed_of(fields, dict(sent)):
        found: Sequence[Person] = ()
        message = NOBODY
        try:
            found = () if refusal else await people.find(caller, name)
        except Malformed:
            message = TOO_SHORT
        except (LimitReached, Unavailable) as error:
            refusal = error
        if (match := _match(found, name)) is not None:
            chosen, added = add_person(chosen, each, match.id), added + 1
        elif found and each.pointer not in offered:
            messages[each.pointer], offered[each.pointer] = SEVERAL, found
        else:
            typed[each.pointer] = "; ".join(filter(None, (typed.get(each.pointer), name)))
            if refusal is None:
                messages.setdefault(each.pointer, message)
    return ChosenPeople(chosen, added, offered, typed, messages, refusal)


def _typed_of(fields: Iterable[Field], texts: Mapping[str, str]) -> Iterator[tuple[Field, str]]:
    for each in fields:
        text = texts.get(f"{FIND}{each.pointer}", "").strip() if each.holds_people else ""
        for name in [text] if each.widget is Widget.PERSON else typed_names(text):
            if name:
                yield each, name


def typed_names(text: str) -> Sequence[str]:
    """Split a typed text into names and addresses.

    A comma ends an address, but belongs to a name.
    """
    names = re.split(r"[;\n]", re.sub(r"(@[^\s,;]+),", r"\1;", text))
    addresses = (re.search(r"<(.+@.+)>", each) for each in names)
    found = (name if address is None else address[1] for name, address in zip(names, addresses, strict=True))
    return [each.strip() for each in found if each.strip()]


def add_person(pairs: Pairs, to: Field, user: UserId) -> list[tuple[str, str]]:
    """Add a person to a field.

    A field for one person loses the earlier one.
    """
    match to.widget:
        case Widget.LEVELS:
            name, value = f"{to.pointer}/{user}", FULL_ACCESS
            return list(pairs) if any(name == each for each, _ in pairs) else [*pairs, (name, value)]
        case Widget.PERSON:
            return [*((name, value) for name, value in pairs if name != to.name), (to.name, str(user))]
        case _:
            pair = (to.name, str(user))
            return list(pairs) if pair in pairs else [*pairs, pair]


def remove_person(pairs: Pairs, removed: str) -> Pairs:
    """Remove a person from a field.

    The button has the name of the control, a space and the id.
    """
    name, _, user = removed.rpartition(" ")
    return [(each, value) for each, value in pairs if (each, value) != (name, user) and each != f"{name}/{user}"]


def people_in(fields: Iterable[Field], pairs: Pairs) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the people of each field, by pointer: id and level.

    The level is empty but for permissions.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for each in fields:
        if each.widget is Widget.LEVELS:
            start = f"{each.pointer}/"
            levels = {name.removeprefix(start): value for name, value in pairs if name.startswith(start)}
            found[each.pointer] = list(levels.items())
        elif each.holds_people:
            values = [value for name, value in pairs if name == each.name and value]
            values = values[-1:] if each.widget is Widget.PERSON else list(dict.fromkeys(values))
            found[each.pointer] = [(value, "") for value in values]
    return found


async def names_of(
    people: PeopleService, caller: Caller, chosen: Mapping[str, Sequence[tuple[str, str]]]
) -> Mapping[str, str]:
    """Return the names of the people that a form shows, by id.

    People without a name have their id.
    """
    texts = {text for values in chosen.values() for text, _ in values[:MOST_PEOPLE]}
    ids = {text: UserId(UUID(text)) for text in texts if WRITTEN_ID.fullmatch(text)}
    try:
        known = await people.names(caller, ids.values())
    except Unavailable:
        known = {}
    return {text: known.get(ids[text], text) if text in ids else text for text in texts}


def _match(found: Sequence[Person], text: str) -> Person | None:
    """Return the only person, or the only exact match."""
    exact = [each for each in found if text.casefold() in (each.display_name.casefold(), (each.mail or "").casefold())]
    if len(exact) == 1:
        return exact[0]
    return found[0] if len(found) == 1 else None
