from datetime import timedelta

import pytest

from chamberlain.rules.errors import Rejected, TryAgain
from chamberlain.rules.lines import one_line


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
