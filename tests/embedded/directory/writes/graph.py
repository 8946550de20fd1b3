# SPDX-License-Identifier: Apache-2.0
"""Calls that write over HTTP."""

from dataclasses import dataclass
from uuid import UUID, uuid4

import httpx2

from tests.embedded.directory.conftest import Served

EVERYTHING = (
    "Group.ReadWrite.All+User.ReadWrite.All+GroupSettings.ReadWrite.All+TeamMember.ReadWrite.All+Directory.Read.All"
)


@dataclass(frozen=True, slots=True)
class Graph:
    """A client with one token."""

    served: Served
    permissions: str = EVERYTHING

    async def send(self, method: str, path: str, body: object = None, *, prefer: str | None = None) -> httpx2.Response:
        headers = {"Authorization": f"Bearer only:{self.permissions}"}
        headers |= {} if prefer is None else {"Prefer": prefer}
        return await self.served.http.request(method, f"/graph/v1.0{path}", headers=headers, json=body)

    async def get(self, path: str) -> dict[str, object]:
        answer = await self.send("GET", path)
        assert answer.status_code == 200, answer.text
        shape: dict[str, object] = answer.json()
        return shape

    async def ids(self, path: str) -> list[str]:
        """List the ids of a relation."""
        listed = await self.get(path)
        entries = listed["value"]
        assert isinstance(entries, list)
        return [entry["id"] for entry in entries]

    def reference(self, object_id: UUID | str) -> dict[str, str]:
        return {"@odata.id": self.url(object_id)}

    def url(self, object_id: UUID | str) -> str:
        return f"{self.served.graph_url}/v1.0/directoryObjects/{object_id}"

    async def make_group(self, **more: object) -> str:
        """Create a group with a name of its own, and return its id."""
        answer = await self.send("POST", "/groups", {**group_body(), **more})
        assert answer.status_code == 201, answer.text
        group_id: str = answer.json()["id"]
        return group_id

    async def make_user(self, **more: object) -> str:
        """Create a user with an address of its own, and return its id."""
        answer = await self.send("POST", "/users", {**user_body(), **more})
        assert answer.status_code == 201, answer.text
        user_id: str = answer.json()["id"]
        return user_id


def group_body() -> dict[str, object]:
    return {
        "displayName": "Desk",
        "mailNickname": f"desk-{uuid4().hex}",
        "mailEnabled": True,
        "securityEnabled": False,
        "groupTypes": ["Unified"],
    }


def user_body() -> dict[str, object]:
    nickname = f"u{uuid4().hex}"
    return {
        "displayName": "Eve Duran",
        "mailNickname": nickname,
        "userPrincipalName": f"{nickname}@house.example",
        "accountEnabled": True,
        "passwordProfile": {"password": "a long secret", "forceChangePasswordNextSignIn": False},
    }


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]
