# SPDX-License-Identifier: Apache-2.0
"""The form that names a substitute until a day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from uuid import UUID

from chamberlain.console.chosen_people import ChosenPeople, choose_people, names_of, people_in, remove_person
from chamberlain.console.days import zone_named
from chamberlain.console.fields import Field, Widget
from chamberlain.console.refusals import refusal_text
from chamberlain.console.visit import Visit
from chamberlain.console.words import N_
from chamberlain.core.errors import NotPossible
from chamberlain.core.ids import WRITTEN_ID, UserId
from chamberlain.people.service import PeopleService
from chamberlain.substitutes.models import LONGEST, Naming, OwnSubstitutions
from chamberlain.substitutes.service import SubstituteService

USER: Final = "/userId"
LAST_DAY: Final = "/until"
ZONE: Final = "zone"
PERSON: Final = Field(USER, N_("Name of the person"), Widget.PERSON)
# The proposed end. An absence is two weeks more often than two months.
_PROPOSED: Final = timedelta(days=14)
_END_OF_DAY: Final = time(23, 59)

NO_PERSON: Final = N_("Enter the name of the person.")
CHECK: Final = N_("Check that this is the right person, and save again.")
NOT_FOUND: Final = N_("This person cannot be your substitute. Choose another one.")
OWN: Final = N_("Neither you nor a guest can be your substitute. Choose another person.")
NO_DAY: Final = N_("Choose the last day.")
WRONG_DAY: Final = N_("Choose a day from today on, at most 60 days away.")


@dataclass(slots=True)
class SubstituteForm:
    """The sent or the empty form.

    It has what the controls of fields.html need. `errors` are texts by the pointer of the field.
    """

    last_day: str
    first: date
    latest: date
    chosen: ChosenPeople
    people: Mapping[str, Sequence[tuple[str, str]]]
    names: Mapping[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    person: Field = PERSON
    is_sent: bool = False


def empty_form(visit: Visit) -> SubstituteForm:
    """Return the form with the proposed day."""
    today = visit.console.sessions.now().date()
    chosen = ChosenPeople(())
    last_day = (today + _PROPOSED).isoformat()
    return SubstituteForm(last_day, today, today + LONGEST, chosen, people_in((PERSON,), ()))


async def send(visit: Visit) -> SubstituteForm | OwnSubstitutions:
    """Name the substitute of the form.

    Returns the form if it has errors, or if a person was added or removed.
    """
    form, user = await fill(visit)
    if visit.value("do") == "add" or visit.value("remove"):
        return form
    now = visit.console.sessions.now()
    until = _until(visit, form, now)
    if until is None or user is None or form.errors:
        return form
    try:
        return await visit.service(SubstituteService).name(visit.caller, Naming(user, until), visit.edit())
    except NotPossible as refusal:
        for each in refusal.faults:
            # The only rule of the person is that it is neither the user nor a guest.
            text = WRONG_DAY if each.pointer == LAST_DAY else OWN if each.code == "ruleInvalid" else NOT_FOUND
            form.errors[each.pointer] = visit.translate(text)
        return form


async def fill(visit: Visit) -> tuple[SubstituteForm, UserId | None]:
    """Return the sent form, and the person in it."""
    form = empty_form(visit)
    form.last_day, form.is_sent = visit.value(LAST_DAY), True
    return form, await _find(visit, form)


async def _find(visit: Visit, form: SubstituteForm) -> UserId | None:
    """Return the chosen person, or the one with the typed name.

    A person whose whole name was not typed is shown first: a substitute has the rights of the user.
    """
    people = visit.service(PeopleService)
    pairs = remove_person([each for each in visit.form if each[0] == USER], visit.value("remove"))
    chosen = await choose_people(people, visit.caller, (PERSON,), visit.form, pairs)
    form.chosen, form.people = chosen, people_in((PERSON,), chosen.pairs)
    form.names = await names_of(people, visit.caller, form.people)
    ids = [text for text, _ in form.people[USER] if WRITTEN_ID.fullmatch(text)]
    typed = visit.value(f"find:{USER}").strip().casefold()
    if chosen.refusal is not None:
        form.errors[USER] = refusal_text(visit.language, chosen.refusal)
    elif message := chosen.messages.get(USER):
        form.errors[USER] = visit.translate(message)
    elif not ids:
        form.errors[USER] = visit.translate(NO_PERSON)
    elif chosen.added and form.names[ids[0]].casefold() != typed:
        form.errors[USER] = visit.translate(CHECK)
    return UserId(UUID(ids[0])) if ids else None


def _until(visit: Visit, form: SubstituteForm, now: datetime) -> datetime | None:
    """Return the end of the last day, clamped to 60 days."""
    zone = zone_named(visit.value(ZONE))
    try:
        day = date.fromisoformat(form.last_day)
    except ValueError:
        form.errors[LAST_DAY] = visit.translate(NO_DAY)
        return None
    today = now.astimezone(zone).date()
    if not today <= day <= today + LONGEST:
        form.errors[LAST_DAY] = visit.translate(WRONG_DAY)
        return None
    return min(datetime.combine(day, _END_OF_DAY, zone).astimezone(UTC), now + LONGEST)
