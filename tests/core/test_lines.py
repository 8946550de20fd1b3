# SPDX-License-Identifier: Apache-2.0
from datetime import timedelta

import pytest

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.text import clean_line, clean_lines, find_unreadable, one_line, replace_unreadable

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Zürich 🏠 ok", "Zürich 🏠 ok"),
        ("a\r\nb\tc\u2028d\u2029e\x85f", "a b c d e f"),
        ("abc\u202edef\u2066", "abcdef"),
        ("no\x00thing, \ud800half\udfff", "nothing, half"),
        ("", ""),
    ],
)
def test_it_works_in_one_line(text: str, expected: str) -> None:
    assert one_line(text) == expected


# Neither PostgreSQL nor a line between servers takes a NUL or half of a surrogate pair, which outsiders may send.
def test_it_works_to_keep_what_outsiders_say() -> None:
    said = "The name\x00 is\r\ntaken.\ud83c"

    rejected, later = Rejected("nameTaken", said), TryAgain(timedelta(seconds=1), said)

    assert [rejected.detail, str(rejected), later.reason, str(later)] == ["The name is taken."] * 4


@pytest.mark.parametrize(
    ("text", "unreadable", "line", "lines", "replaced"),
    [
        ("Zürich", None, "Zürich", "Zürich", "Zürich"),
        ("a\tb\r\nc", None, "a b c", "a\tb\r\nc", "a\tb\r\nc"),
        ("a\x00b\x1fc", "\x00", "abc", "abc", "a\ufffdb\ufffdc"),
        ("a\x85b", "\x85", "a b", "ab", "a\ufffdb"),
        ("\ud83cb", "\ud83c", "b", "b", "\ufffdb"),
        ("\u202ea", "\u202e", "\u202ea", "\u202ea", "\u202ea"),
        ("a\u2028b\u2029", None, "a\u2028b\u2029", "a\u2028b\u2029", "a\u2028b\u2029"),
        ("", None, "", "", ""),
    ],
)
def test_it_finds_and_cleans_control_characters(
    text: str, unreadable: str | None, line: str, lines: str, replaced: str
) -> None:
    assert find_unreadable(text) == unreadable
    assert clean_line(text) == line
    assert clean_lines(text) == lines
    assert replace_unreadable(text) == replaced
