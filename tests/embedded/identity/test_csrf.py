# SPDX-License-Identifier: Apache-2.0
import pytest
from starlette.datastructures import Headers

from chamberlain.embedded.identity.session import TOKEN_FIELD, is_same_origin, is_valid_token, token_for

ORIGIN = "https://localhost:8366"


def test_it_works() -> None:
    form = {TOKEN_FIELD: token_for("key", "sign-in")}

    assert is_valid_token(form, "key", "sign-in")
    assert not is_valid_token(form, "key", "sign-out")
    assert not is_valid_token(form, "other", "sign-in")
    assert not is_valid_token(form, None, "sign-in")
    assert not is_valid_token({}, "key", "sign-in")


@pytest.mark.parametrize(
    ("site", "origin", "expected"),
    [
        ("same-origin", ORIGIN, True),
        ("same-origin", "null", True),
        ("same-origin", None, True),
        (None, ORIGIN, True),
        (None, None, False),
        (None, "null", False),
        (None, "https://localhost:8367", False),
        (None, "http://localhost:8366", False),
        (None, "https://localhost:8366.evil.example", False),
        ("same-site", ORIGIN, False),
        ("cross-site", "null", False),
        ("none", None, False),
        ("same-origin", "https://evil.example", False),
    ],
)
def test_it_checks_the_reported_origin(site: str | None, origin: str | None, *, expected: bool) -> None:
    headers = {"sec-fetch-site": site, "origin": origin}

    assert is_same_origin(Headers({name: value for name, value in headers.items() if value}), ORIGIN) == expected
