# SPDX-License-Identifier: Apache-2.0
"""Requests for objects in an open suite, over HTTP."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx2

from deploy.suite.folder import Suite
from tests.postgres import connected
from tests.services import ADA_MAIL, TLS, Service, look_up, wait_until
from tests.suite.suite_directory import SuiteDirectory

MAIL = "https://api.estate.example/mail/App.ReadWrite.All"
ADMINISTER = "https://api.estate.example/admin/Config.ReadWrite.All"
SHARED, EQUIPMENT, ROOM = (f"7e000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
DARA = "da7a0000-0000-4000-8000-000000000004"
# A team on a busy machine takes five seconds, measured by the prototype.
WITHIN = 90.0

# JSON documents, whose types are what is tested with them.
Json = dict[str, Any]


def unique(name: str) -> str:
    """The tests of a session share one directory, and names are taken for good."""
    return f"{name} {uuid4().hex[:8]}"


@dataclass(frozen=True, slots=True)
class SuiteRequests:
    """Sends requests as Ada, and waits for their end."""

    service: Service
    suite: Suite

    def mailbox(self, template: str, name: str, **properties: object) -> Json:
        """Create a mailbox, and return it as the API shows it."""
        body = {"name": unique(name), "displayName": name, "templateId": template, **properties}
        answer = self.send("POST", "/mail/v1/mailboxes/", body)
        assert answer.status_code in {201, 202}, answer.text
        found: Json = answer.json()
        self.service.wait_for_end(str(found["requestId"]), WITHIN)
        return self.read_mailbox(str(found["id"]))

    def read_mailbox(self, mailbox_id: str) -> Json:
        """A mailbox, as the API shows it."""
        found: Json = self.send("GET", f"/mail/v1/mailboxes/{mailbox_id}/").json()
        return found

    def group(self, template: str, name: str, **properties: object) -> Json:
        """Create a group or team, and return its id, its address and its request."""
        answer = self.service.post_group({"displayName": unique(name), "templateId": template, **properties})
        assert answer.status_code == 202, answer.text
        request_id = str(answer.json()["requestId"])
        self.service.wait_for_end(request_id, WITHIN)
        with SuiteDirectory(self.suite) as directory:
            entry = directory.one(f"(chamberlainRequestId={request_id})", "entryUUID", "mail")
        return {"id": entry["entryUUID"][0], "mail": entry["mail"][0], "requestId": request_id}

    def assign(self, group: Json, **assigned: str) -> Json:
        """Assign guest rules to a group, and wait for their effects."""
        path = f"/admin/collab/v1/manage/groups/{group['id']}/"
        found = self.administer("PATCH", path, assigned)
        self.service.wait_for_end(str(found["assignmentRequestId"]), WITHIN)
        return self.administer("GET", path)

    def guest_template(self, **properties: object) -> str:
        """Create a guest template, and return its id."""
        body = {"kind": "guest", "name": unique("Guests"), "sharingCapability": "disabled", **properties}
        return str(self.administer("POST", "/admin/collab/v1/templates/", body)["id"])

    def execute(self, *statements: str) -> None:
        """Change the database of the service, for what takes hours otherwise."""

        async def run() -> None:
            async with connected(self.service.embedded_addresses.owner) as owner:
                for each in statements:
                    await owner.execute(each)

        asyncio.run(run())

    def count(self, statement: str, *values: object) -> int:
        """A number in the database of the service."""
        found = look_up(self.service.embedded_addresses.owner, statement, *values)
        assert isinstance(found, int)
        return found

    def administer(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Json:
        """Call the administration as Ada."""
        answer = self.send(method, path, body, scope=ADMINISTER)
        assert answer.is_success, answer.text
        found: Json = answer.json() if answer.content else {}
        return found

    def find_drift(self, subject: Json, property_: str) -> Json:
        """Check the directory, and return the open finding of a property as soon as it is there."""
        self.administer("POST", "/admin/v1/drift/check/", {})
        return self.wait_for_finding(subject, property_)

    def read_changes(self) -> None:
        """Let the worker read the changes of the directory now, and not within half a minute."""
        self.execute("UPDATE chamberlain.job SET run_at = now() WHERE kind = 'subjectDiscover'")
        due = "SELECT count(*) FROM chamberlain.job WHERE kind = 'subjectDiscover' AND run_at <= now()"
        wait_until(lambda: self.count(due) == 0, WITHIN)

    def wait_for_finding(self, subject: Json, property_: str) -> Json:
        """The open finding of a property of a mailbox or group, as soon as it is there."""

        def found() -> list[Json]:
            items = self.administer("GET", "/admin/v1/findings/?state=open&limit=200")["items"]
            return [
                each for each in items if each["property"] == property_ and each["subject"]["id"] in subject.values()
            ]

        return wait_until(found, WITHIN)[0]

    def repair(self, finding: Json) -> None:
        """Repair a finding, and wait for its end."""
        self.administer("POST", f"/admin/v1/findings/{finding['id']}/repair/", {})

        def state() -> bool:
            items = self.administer("GET", "/admin/v1/findings/?state=repaired&limit=200")["items"]
            return any(each["id"] == finding["id"] for each in items)

        wait_until(state, WITHIN)

    def send(
        self, method: str, path: str, body: Mapping[str, object] | None = None, *, scope: str = MAIL
    ) -> httpx2.Response:
        """Call the service as Ada."""
        headers = self.service.headers(ADA_MAIL, scope)
        return httpx2.request(method, f"{self.service.url}{path}", json=body, headers=headers, timeout=60, verify=TLS)
