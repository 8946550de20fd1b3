# SPDX-License-Identifier: Apache-2.0
"""Times, numbers, durations and lists as people write them in each language.

A table of our own: Babel has 10 MB for the data of all languages, and two languages need these few lines. The module of
the pages writes times by Intl, which has the same formats.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from chamberlain.console.words import ENGLISH, N_, NN_, Message, Plural, load_catalogue
from chamberlain.core.sentences import Word

_SECOND, _MINUTE = timedelta(seconds=1), timedelta(minutes=1)
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
# Longer lists end with the number of the others.
_MOST_LISTED = 20

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class _Marks:
    """The marks of numbers in a language."""

    thousands: str
    decimal: str


_ENGLISH_MARKS: Final = _Marks(",", ".")
_MARKS: Final = {ENGLISH: _ENGLISH_MARKS, "de": _Marks(".", ",")}


def phrase(language: str, message: Message, /, **values: Word) -> str:
    """Translate a message, and fill in values as the language writes them.

    A message has its values as `%(name)s`.
    """
    catalogue = load_catalogue(language)
    if isinstance(message, Plural):
        number = values[message.number]
        text = catalogue.ngettext(message.one, message.many, number if isinstance(number, int) else 2)
    else:
        text = catalogue.gettext(message)
    return text % {name: write_word(language, each) for name, each in values.items()} if values else text


def write_word(language: str, word: Word) -> str:
    """Write a value of a sentence: a number, a text, or alternatives."""
    match word:
        case int():
            return write_number(language, word)
        case str():
            return word
        case tuple():
            return write_alternatives(language, word)


def write_number(language: str, number: float) -> str:
    """Write a number, a fraction with one digit."""
    marks = _MARKS.get(language, _ENGLISH_MARKS)
    whole, _, fraction = (f"{number:,}" if isinstance(number, int) else f"{number:,.1f}").partition(".")
    return whole.replace(",", marks.thousands) + (f"{marks.decimal}{fraction}" if fraction else "")


def write_time(language: str, moment: datetime) -> str:
    """Write a time in UTC.

    The module of the pages replaces it by local time.
    """
    return f"{write_day(language, moment)}, {moment.astimezone(UTC):%H:%M} UTC"


def write_day(language: str, moment: datetime) -> str:
    """Write the day of a time in UTC."""
    at = moment.astimezone(UTC)
    if language == "de":
        return f"{at.day:02}.{at.month:02}.{at.year}"
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}"


def write_duration(language: str, duration: timedelta) -> str:
    """Write a duration in one unit, rounded down.

    Examples are `4.2 s` and `3 days`.
    """
    duration = max(duration, timedelta(0))
    if duration < _SECOND:
        return phrase(language, N_("%(number)s ms"), number=duration // timedelta(milliseconds=1))
    if duration < 10 * _SECOND:
        tenths = duration // timedelta(milliseconds=100)
        return phrase(language, N_("%(number)s s"), number=write_number(language, tenths / 10))
    if duration < _MINUTE:
        return phrase(language, N_("%(number)s s"), number=duration // _SECOND)
    if duration < 2 * _HOUR:
        return phrase(language, N_("%(number)s min"), number=duration // _MINUTE)
    if duration < 2 * _DAY:
        return phrase(language, N_("%(number)s h"), number=duration // _HOUR)
    return phrase(language, _DAYS, number=duration.days)


_DAYS: Final = NN_("%(number)s day", "%(number)s days", "number")


def write_relative(language: str, moment: datetime, now: datetime) -> str:
    """Write a time from now on, as in `in 3 days` or `2 hours ago`.

    It is rounded down, so that no deadline seems later than it is. Up to two days are written in hours, because "in 30
    hours" says more than "in 1 day".
    """
    distance = abs(moment - now)
    is_past = moment < now
    for least, unit, ahead, ago in _UNITS:
        if distance >= least:
            return phrase(language, ago if is_past else ahead, number=distance // unit)
    return phrase(language, N_("just now") if is_past else N_("in less than a minute"))


def write_deadline(language: str, deadline: datetime, now: datetime) -> str:
    """Write the time that is left until a deadline."""
    return phrase(language, N_("due now")) if deadline < now else write_relative(language, deadline, now)


# The least distance, and its unit.
_UNITS: Final = (
    (
        2 * _DAY,
        _DAY,
        NN_("in %(number)s day", "in %(number)s days", "number"),
        NN_("%(number)s day ago", "%(number)s days ago", "number"),
    ),
    (
        _HOUR,
        _HOUR,
        NN_("in %(number)s hour", "in %(number)s hours", "number"),
        NN_("%(number)s hour ago", "%(number)s hours ago", "number"),
    ),
    (
        _MINUTE,
        _MINUTE,
        NN_("in %(number)s minute", "in %(number)s minutes", "number"),
        NN_("%(number)s minute ago", "%(number)s minutes ago", "number"),
    ),
)


def write_alternatives(language: str, words: Sequence[str]) -> str:
    """Write words with "or" before the last."""
    return _joined(language, words, N_("%(first)s or %(last)s"))


def write_list(language: str, words: Sequence[str]) -> str:
    """Write words with "and" before the last."""
    return _joined(language, words, N_("%(first)s and %(last)s"))


def _joined(language: str, words: Sequence[str], pair: str) -> str:
    more = len(words) - _MOST_LISTED
    if more > 0:
        others = phrase(language, NN_("%(number)s other", "%(number)s others", "number"), number=more)
        words = (*words[:_MOST_LISTED], others)
    if len(words) < 2:
        return "".join(words)
    return phrase(language, pair, first=", ".join(words[:-1]), last=words[-1])
