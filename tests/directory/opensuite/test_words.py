# SPDX-License-Identifier: Apache-2.0
"""Words that find people."""

import pytest

from chamberlain.directory.opensuite.people import words_of

pytestmark = pytest.mark.pure


def test_it_works() -> None:
    words = words_of("Ada Achterberg-Ülker", ["Ada.A@estate.example", "ada"])

    assert words == {"ada", "achterberg-ülker", "achterberg", "ülker", "a", "ada.a@estate.example"}


@pytest.mark.parametrize(
    ("name", "addresses", "expected"),
    [
        ("", [], set()),
        ("", [""], set()),
        # Composed and decomposed letters are the same.
        ("U\u0308", [], {"\u00fc"}),
        ("O'Neil", ["o_neil"], {"o'neil", "o", "neil", "o_neil"}),
    ],
)
def test_it_splits_names(name: str, addresses: list[str], expected: set[str]) -> None:
    assert words_of(name, addresses) == expected
