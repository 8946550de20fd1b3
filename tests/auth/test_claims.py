# SPDX-License-Identifier: Apache-2.0
"""Claims are texts that the service looks up and stores: none may hold a control character."""

import json
from base64 import urlsafe_b64encode

import msgspec
import pytest

from chamberlain.auth.tokens import Claims, read_roles, read_token
from chamberlain.core.errors import Unauthenticated

GOOD = {"iss": "https://issuer.example", "aud": "https://api.example", "exp": 1_800_000_000}
TEXTS = [
    field.encode_name
    for field in msgspec.structs.fields(Claims)
    if field.encode_name not in {"exp", "nbf", "roles", "sid", "uid", "preferred_username", "upn", "unique_name"}
]
LISTS = ["aud", "scp", "scope"]
FORMS = [*[(each, '"a{}b"') for each in TEXTS], *[(each, '["a{}b"]') for each in LISTS]]
BAD = ["\\u0000", "\\u0001", "\\u007f", "\\u0085", "\\ud800"]


def token(claims: str) -> str:
    parts = (json.dumps({"alg": "RS256"}), claims, "signature")
    return ".".join(urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)


def written(name: str, value: str) -> str:
    others = {each: text for each, text in GOOD.items() if each != name}
    return f'{{"{name}": {value}, {json.dumps(others)[1:]}'


@pytest.mark.parametrize("name", TEXTS)
def test_a_claim_is_read(name: str) -> None:
    _, claims = read_token(token(written(name, '"https://a.example"')))

    assert getattr(claims, name) == "https://a.example"


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(("name", "form"), FORMS)
def test_a_claim_with_a_control_character_is_refused(name: str, form: str, bad: str) -> None:
    with pytest.raises(Unauthenticated) as refused:
        read_token(token(written(name, form.format(bad))))

    assert refused.value.code == "tokenInvalid"


@pytest.mark.parametrize("bad", BAD)
def test_a_role_with_a_control_character_is_refused(bad: str) -> None:
    with pytest.raises(Unauthenticated):
        read_roles(read_token(token(written("roles", f'["a{bad}b"]')))[1])
