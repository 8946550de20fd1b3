# SPDX-License-Identifier: Apache-2.0
"""Times, numbers, durations and lists in both languages."""

from datetime import datetime, timedelta, timezone

import pytest

from chamberlain.console.formats import (
    phrase,
    write_alternatives,
    write_day,
    write_deadline,
    write_duration,
    write_list,
    write_number,
    write_relative,
    write_time,
)
from chamberlain.console.words import NN_
from tests.console.times import AT

pytestmark = pytest.mark.pure
LANGUAGES = ("en", "de")


def test_it_works_for_times() -> None:
    assert [write_time(each, AT) for each in LANGUAGES] == ["20 Nov 2026, 09:30 UTC", "20.11.2026, 09:30 UTC"]


def test_times_are_written_in_utc() -> None:
    early = datetime(2027, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))

    assert [write_time(each, early) for each in LANGUAGES] == ["31 Dec 2026, 23:30 UTC", "31.12.2026, 23:30 UTC"]
    assert write_day("de", datetime(2027, 1, 5, tzinfo=AT.tzinfo)) == "05.01.2027"


@pytest.mark.parametrize(
    ("number", "english", "german"),
    [
        (0, "0", "0"),
        (999, "999", "999"),
        (1000, "1,000", "1.000"),
        (2_147_483_647, "2,147,483,647", "2.147.483.647"),
        (-1234, "-1,234", "-1.234"),
        (4.25, "4.2", "4,2"),
        (1234.5, "1,234.5", "1.234,5"),
    ],
)
def test_numbers_have_the_marks_of_the_language(number: float, english: str, german: str) -> None:
    assert [write_number(each, number) for each in LANGUAGES] == [english, german]


@pytest.mark.parametrize(
    ("seconds", "english", "german"),
    [
        (-1, "0 ms", "0 ms"),
        (0.04, "40 ms", "40 ms"),
        (0.9999, "999 ms", "999 ms"),
        (4.23, "4.2 s", "4,2 s"),
        (59.9, "59 s", "59 s"),
        (60, "1 min", "1 min"),
        (7199, "119 min", "119 min"),
        (7200, "2 h", "2 h"),
        (2 * 86400 - 1, "47 h", "47 h"),
        (2 * 86400, "2 days", "2 Tage"),
    ],
)
def test_durations_have_one_unit(seconds: float, english: str, german: str) -> None:
    assert [write_duration(each, timedelta(seconds=seconds)) for each in LANGUAGES] == [english, german]


@pytest.mark.parametrize(
    ("seconds", "english", "german"),
    [
        (59, "in less than a minute", "in weniger als einer Minute"),
        (-59, "just now", "gerade eben"),
        (60, "in 1 minute", "in 1 Minute"),
        (-7200, "2 hours ago", "vor 2 Stunden"),
        (86400, "in 24 hours", "in 24 Stunden"),
        (2 * 86400 - 1, "in 47 hours", "in 47 Stunden"),
        (3 * 86400, "in 3 days", "in 3 Tagen"),
        (-2 * 86400, "2 days ago", "vor 2 Tagen"),
    ],
)
def test_relative_times_are_rounded_down(seconds: float, english: str, german: str) -> None:
    assert [write_relative(each, AT + timedelta(seconds=seconds), AT) for each in LANGUAGES] == [english, german]


def test_a_deadline_that_has_passed_is_due() -> None:
    deadlines = (AT - timedelta(days=1), AT, AT + timedelta(hours=1))

    assert [write_deadline("en", each, AT) for each in deadlines] == ["due now", "in less than a minute", "in 1 hour"]


def test_lists_end_with_a_word() -> None:
    assert [write_list(each, ["A", "B", "C"]) for each in LANGUAGES] == ["A, B and C", "A, B und C"]
    assert [write_alternatives(each, ["A", "B"]) for each in LANGUAGES] == ["A or B", "A oder B"]
    assert [write_list("en", each) for each in ([], ["A"])] == ["", "A"]


def test_long_lists_end_with_the_number_of_the_others() -> None:
    written = write_list("de", [f"P{number}" for number in range(200)])

    assert written.endswith("P19 und 180 weitere")
    assert "P20" not in written


def test_a_phrase_writes_its_values_as_the_language_does() -> None:
    message = NN_("%(number)s day", "%(number)s days", "number")

    assert [phrase(each, message, number=1) for each in LANGUAGES] == ["1 day", "1 Tag"]
    assert [phrase(each, message, number=1500) for each in LANGUAGES] == ["1,500 days", "1.500 Tage"]


def test_a_percent_sign_in_a_value_stays() -> None:
    assert phrase("de", "Approved by %(name)s", name="100 % %(name)s") == "Genehmigt von 100 % %(name)s"
