# SPDX-License-Identifier: Apache-2.0
"""Tokens, bodies and errors for tests that call the fake."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import httpx2

from tests.directory.sample_directory import TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import APP, SECRET

GRAPH: Final = "https://graph.microsoft.com/v1.0"
SCOPE: Final = "https://graph.microsoft.com/.default"


def token(fake: FakeMicrosoft365, *, tenant_id: str = str(TENANT), **more: str) -> str:
    """Get a token from the fake's endpoint; `more` replaces fields of the form."""
    form = {
        "grant_type": "client_credentials",
        "client_id": str(APP),
        "client_secret": SECRET,
        "scope": SCOPE,
        **more,
    }
    status, answer = fake.tokens.respond("POST", f"/{tenant_id}/oauth2/v2.0/token", urlencode(form).encode())
    assert status == 200, answer
    return str(answer["access_token"])


class FakeToken(httpx2.Auth):
    """Sends a token of the fake."""

    def __init__(self, fake: FakeMicrosoft365, **more: str) -> None:
        self._token = token(fake, **more)

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        request.headers["authorization"] = f"Bearer {self._token}"
        yield request


def reference(object_id: object, kind: str = "users") -> str:
    """Return the address of an object for a reference."""
    return f"{GRAPH}/{kind}/{object_id}"


def new_group(nickname: str = "golf", **more: Any) -> dict[str, Any]:  # noqa: ANN401  Properties of any type.
    """Return the body that creates a Microsoft 365 group."""
    return {
        "displayName": nickname.title(),
        "mailEnabled": True,
        "mailNickname": nickname,
        "securityEnabled": False,
        "groupTypes": ["Unified"],
        "visibility": "Private",
        **more,
    }


def batch(*parts: Mapping[str, Any]) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Return the body of a batch, with ids from 1 on."""
    return {"requests": [{"id": str(number), **each} for number, each in enumerate(parts, start=1)]}


def code(answer: httpx2.Response) -> tuple[int, str]:
    """Return the status and the code of an error."""
    return answer.status_code, answer.json()["error"]["code"]
