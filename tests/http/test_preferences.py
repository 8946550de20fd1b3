# SPDX-License-Identifier: Apache-2.0
from datetime import timedelta

import pytest

from chamberlain.http.request import wait_of


def test_it_works() -> None:
    assert wait_of([(b"accept", b"*/*"), (b"prefer", b"wait=10")]) == timedelta(seconds=10)


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [
        ([b"respond-async, wait=5"], 5),
        ([b"WAIT = 5 ; foo=bar"], 5),
        ([b"respond-async", b"wait=5"], 5),
        ([b'foo="a, wait=7", wait=5'], 5),
        ([b'foo="a\\", wait=7", wait=5'], 5),
        ([b",, wait=5 ,"], 5),
        ([b'wait="5"'], 5),
        ([b'wait = "\\5" ; foo="bar"'], 5),
        # The first of one kind counts.
        ([b"wait=5, wait=7"], 5),
        ([b"wait=5", b"wait=x"], 5),
        ([b"wait=30"], 30),
        ([b"wait=31"], 30),
        ([b"wait=" + b"9" * 5000], 30),
    ],
)
def test_it_reads_what_the_standard_allows(sent: list[bytes], seconds: int) -> None:
    assert wait_of([(b"prefer", value) for value in sent]) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "sent",
    [
        [], [b""], [b"wait"], [b"wait="], [b"wait=0"], [b"wait=-1"], [b"wait=1.5"], [b"wait=x"], [b"wait=5s"],
        [b'wait="x"'], [b'wait="5'], [b'wait=""'], [b'wait=" 5"'],
        [b"waiting=5"], [b"respond-async"], [b'foo="wait=5'], [b"wait=x, wait=5"], [b"foo; wait=5"],
        [b"wait=\xb2"],
    ],
)  # fmt: skip
def test_it_ignores_everything_else(sent: list[bytes]) -> None:
    assert wait_of([(b"prefer", value) for value in sent]) is None


def test_it_handles_what_was_made_to_take_long() -> None:
    assert wait_of([(b"prefer", b'"\\' * 30_000 + b"wait =" + b" " * 30_000)]) is None
