# SPDX-License-Identifier: Apache-2.0
"""Days that users choose in forms."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from chamberlain.console.days import read_day, start_of_day, zone_named

pytestmark = pytest.mark.pure


def test_it_works() -> None:
    day = read_day("2026-03-29")

    assert day == date(2026, 3, 29)
    assert start_of_day(day, zone_named("Europe/Zurich")) == datetime(2026, 3, 28, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "20260329",
        "2026-W13-1",
        "2026-02-30",
        "2026-3-1",
        " 2026-03-01",
        "0001-01-01",
        "9999-12-31",
        "٢٠٢٦-03-01",
    ],
)
def test_other_texts_are_no_day(text: str) -> None:
    assert read_day(text) is None


@pytest.mark.parametrize("name", ["", "x" * 65, "Mars/Olympus", "../../etc/passwd", "/etc/passwd", "a\0b"])
def test_an_unknown_zone_is_that_of_the_server(name: str) -> None:
    assert zone_named(name) is UTC


@pytest.mark.parametrize("text", ["1970-01-01", "2999-12-31"])
def test_the_first_and_the_last_day_have_a_beginning(text: str) -> None:
    day = read_day(text)

    assert day is not None
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        assert start_of_day(day, ZoneInfo(zone)).tzinfo is UTC
