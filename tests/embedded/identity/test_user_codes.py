# SPDX-License-Identifier: Apache-2.0
import pytest

from chamberlain.embedded.identity.device_authorization import format_user_code, new_user_code, parse_user_code


def test_it_works() -> None:
    code = new_user_code()

    written = format_user_code(code)

    assert len(written) == 9
    assert written[4] == "-"
    assert parse_user_code(written) == code
    assert not set(code) & set("AEIOUY01")


@pytest.mark.parametrize("typed", ["WDJB-MJHT", "wdjbmjht", "wdjb mjht", " WDJB-mjht ", "W-D-J-B-M-J-H-T"])
def test_it_parses_other_spellings(typed: str) -> None:
    assert parse_user_code(typed) == "WDJBMJHT"


@pytest.mark.parametrize(
    "typed", ["", "-", "WDJB-MJH", "WDJB-MJHTT", "WDJB-MJHA", "WDJB-MJH1", "WDJB\x00MJHT", "WDJB_MJHT", "ß" * 4, "%"]
)
def test_it_rejects_an_invalid_code(typed: str) -> None:
    assert parse_user_code(typed) is None


def test_codes_differ() -> None:
    assert len({new_user_code() for _ in range(1000)}) == 1000
