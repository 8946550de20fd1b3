# SPDX-License-Identifier: Apache-2.0
"""Matrix clients of the people of a suite, over the Client-Server API."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote
from uuid import uuid4

import httpx2

from deploy.suite.folder import DOMAIN, Suite
from deploy.suite.people import password_of

Json = dict[str, Any]
# A user has 10 invitations at once and one in 3.3 s, and few sign-ins (`rc_invites` and `rc_login` of Synapse).
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class MatrixClient:
    """A signed-in user."""

    url: str
    name: str
    token: str

    @classmethod
    def sign_in(cls, suite: Suite, name: str) -> Self:
        """Sign a person in with the password of the directory."""
        answer = _login(suite, name)
        assert answer.status_code == 200, answer.text
        return cls(suite.url("MATRIX"), name, answer.json()["access_token"])

    @classmethod
    def may_sign_in(cls, suite: Suite, name: str) -> bool:
        """Return whether the server accepts a person with the password of the directory."""
        answer = _login(suite, name)
        assert answer.status_code in {200, 403}, answer.text
        return answer.status_code == 200

    def call(self, method: str, path: str, body: Json | None = None) -> httpx2.Response:
        """Call the server as the user, and again when it asks to slow down."""
        headers = {"Authorization": f"Bearer {self.token}"}
        address = f"{self.url}/_matrix/client{path}"
        return _patiently(lambda: httpx2.request(method, address, json=body, headers=headers, timeout=30))

    def rooms(self) -> set[str]:
        """The ids of rooms that the user is in."""
        return set(self.call("GET", "/v3/joined_rooms").json()["joined_rooms"])

    def hierarchy(self, space: str) -> dict[str, str]:
        """The names of a space and its rooms by their ids."""
        answer = self.call("GET", f"/v1/rooms/{quote(space, safe='')}/hierarchy")
        assert answer.status_code == 200, answer.text
        return {room["room_id"]: room.get("name", "") for room in answer.json()["rooms"]}

    def say(self, room: str, text: str) -> int:
        """Write to a room, and return the status."""
        path = f"/v3/rooms/{quote(room, safe='')}/send/m.room.message/{uuid4().hex}"
        return self.call("PUT", path, {"msgtype": "m.text", "body": text}).status_code

    def invite(self, room: str, name: str) -> httpx2.Response:
        """Invite another user to a room."""
        return self.call("POST", f"/v3/rooms/{quote(room, safe='')}/invite", {"user_id": f"@{name}:{DOMAIN}"})

    def power(self, room: str, name: str) -> int:
        """The power level of a user in a room."""
        levels = self.call("GET", f"/v3/rooms/{quote(room, safe='')}/state/m.room.power_levels/").json()
        return int(levels["users"].get(f"@{name}:{DOMAIN}", levels.get("users_default", 0)))


def _login(suite: Suite, name: str) -> httpx2.Response:
    identifier = {"type": "m.id.user", "user": name}
    body = {"type": "m.login.password", "identifier": identifier, "password": password_of(name)}
    address = f"{suite.url('MATRIX')}/_matrix/client/v3/login"
    return _patiently(lambda: httpx2.post(address, json=body, timeout=30))


def _patiently(send: Callable[[], httpx2.Response]) -> httpx2.Response:
    """Send a call, and again when the server asks to slow down."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        answer = send()
        if answer.status_code != 429 or time.monotonic() > until:
            return answer
        time.sleep(answer.json().get("retry_after_ms", 1000) / 1000)
