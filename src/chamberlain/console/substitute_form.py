# SPDX-License-Identifier: Apache-2.0
"""The form that names a substitute until a day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from chamberlain.console.visit import Visit
from chamberlain.console.words import N_
from chamberlain.core.errors import Malformed, NotPossible
from chamberlain.core.ids import WRITTEN_ID, UserId
from chamberlain.directory.models import Person
from chamberlain.people.rules import LONGEST_TEXT
from chamberlain.people.service import PeopleService
from chamberlain.substitutes.models import LONGEST, Naming, OwnSubstitutions
from chamberlain.substitutes.service import SubstituteService

USER: Final = "/userId"
TYPED: Final = "person"
LAST_DAY: Final = "/until"
ZONE: Final = "zone"
# The proposed end. An absence is two weeks more often than two months.
_PROPOSED: Final = timedelta(days=14)
_END_OF_DAY: Final = time(23, 59)
_LONGEST_ZONE: Final = 64

NO_PERSON: Final = N_("Enter the name of the person.")
TOO_SHORT: Final = N_("Enter at least two letters of the name.")
UNKNOWN: Final = N_("No person has this name. Check the spelling, or enter fewer letters.")
SEVERAL: Final = N_("Several people have this name. Choose one of them.")
NOT_FOUND: Final = N_("This person cannot be your substitute. Choose another one.")
OWN: Final = N_("You cannot be your own substitute. Choose another person.")
NO_DAY: Final = N_("Choose the last day.")
WRONG_DAY: Final = N_("Choose a day from today on, at most 60 days away.")


@dataclass(slots=True)
class SubstituteForm:
    """The sent or the empty form.

    `offered` are the people with the typed name.
    """

    typed: str
    last_day: str
    first: date
    latest: date
    offered: Sequence[Person] = ()
    chosen: str = ""
    faults: dict[str, str] = field(default_factory=dict)


def empty_form(visit: Visit) -> SubstituteForm:
    """Return the form with the proposed day."""
    today = visit.console.sessions.now().date()
    return SubstituteForm("", (today + _PROPOSED).isoformat(), today, today + LONGEST)


async def send(visit: Visit) -> SubstituteForm | OwnSubstitutions:
    """Name the substitute of the form.

    Returns the form if it has faults.
    """
    now = visit.console.sessions.now()
    zone = _zone(visit.value(ZONE))
    form = empty_form(visit)
    form.typed, form.last_day = visit.value(TYPED).strip()[:LONGEST_TEXT], visit.value(LAST_DAY)
    until = _until(form, now, zone)
    user = await _find(visit, form)
    if until is None or user is None:
        return form
    try:
        return await visit.service(SubstituteService).name(visit.caller, Naming(user, until), visit.edit())
    except NotPossible as refusal:
        form.faults |= _faults(refusal, is_own=user == visit.caller.id)
        return form


def _until(form: SubstituteForm, now: datetime, zone: tzinfo) -> datetime | None:
    """Return the end of the last day, clamped to 60 days."""
    try:
        day = date.fromisoformat(form.last_day)
    except ValueError:
        form.faults[LAST_DAY] = NO_DAY
        return None
    today = now.astimezone(zone).date()
    if not today <= day <= today + LONGEST:
        form.faults[LAST_DAY] = WRONG_DAY
        return None
    return min(datetime.combine(day, _END_OF_DAY, zone).astimezone(UTC), now + LONGEST)


async def _find(visit: Visit, form: SubstituteForm) -> UserId | None:
    """Return the chosen person, else the only one with the typed name."""
    form.chosen = visit.value(USER)
    if WRITTEN_ID.fullmatch(form.chosen):
        return UserId(UUID(form.chosen))
    if not form.typed:
        form.faults[USER] = NO_PERSON
        return None
    try:
        found = await visit.service(PeopleService).find(visit.caller, form.typed)
    except Malformed:
        form.faults[USER] = TOO_SHORT
        return None
    typed = form.typed.casefold()
    exact = [each for each in found if typed in (each.display_name.casefold(), (each.mail or "").casefold())]
    match exact or found:
        case []:
            form.faults[USER] = UNKNOWN
        case [person]:
            return person.id
        case several:
            form.offered, form.faults[USER] = several, SEVERAL
    return None


def _faults(refusal: NotPossible, *, is_own: bool) -> Mapping[str, str]:
    texts = {LAST_DAY: WRONG_DAY, USER: OWN if is_own else NOT_FOUND}
    return {each.pointer: texts.get(each.pointer, NOT_FOUND) for each in refusal.faults}


def _zone(name: str) -> tzinfo:
    """Return the time zone of the browser, UTC without scripts."""
    if not 0 < len(name) <= _LONGEST_ZONE:
        return UTC
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        # Unknown, a path, or no time zones on this machine.
        return UTC
