# SPDX-License-Identifier: Apache-2.0
"""Two installations: one provisions into the embedded directory of the other, as into Microsoft 365.

Tokens are those of the other one's identity platform, by msal. A proxy between them holds every exchange against
Microsoft's published description.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.folders import data_folder
from tests.microsoft365.recording_proxy import RecordingProxy, recording_proxy
from tests.service.estate import ESTATE
from tests.services import (
    ADA,
    ADA_MAIL,
    API,
    BEN,
    CLEO,
    DYNAMIC_TEMPLATE,
    GRAPH,
    GROUP_TEMPLATE,
    TEAM_TEMPLATE,
    TLS,
    Service,
    look_up,
    restarted_service,
    start_service,
    wait_until,
)

# Two services.
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]

CONFIG = f"{API}/admin/Config.ReadWrite.All"
CONNECTIONS = "/admin/v1/connections/"
MANAGED = "/admin/collab/v1/manage/groups/"
# From the example estate.
AUTOMATION = "c11e0000-0000-4000-8000-000000000002"
NO_GUESTS, NINETY_DAYS = "7e000000-0000-4000-8000-000000000021", "90110000-0000-4000-8000-000000000001"
NONE = "00000000-0000-0000-0000-000000000000"
UPSERT = "PATCH /groups(uniqueName='{uniqueName}')"

# JSON documents, whose types are under test.
Json = Any


@dataclass(frozen=True)
class Installations:
    """`one` has the connection, `other` has the directory. `secret_file` is that of the connection."""

    one: Service
    other: Service
    proxy: RecordingProxy
    secret_file: Path

    def administer(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Json:
        """Call `one` as an administrator of the tenant."""
        headers = self.one.headers(ADA_MAIL, CONFIG)
        answer = httpx2.request(method, f"{self.one.url}{path}", json=body, headers=headers, timeout=60, verify=TLS)
        assert answer.is_success, (answer.text, self.proxy.problems)
        return answer.json()

    def check(self) -> str:
        """Check the connection. Returns its state."""
        [connection] = self.administer("GET", CONNECTIONS)["items"]
        return str(self.administer("POST", f"{CONNECTIONS}{connection['id']}/check/")["state"])

    def request(self, **body: object) -> str:
        """Request a group of `one`. Returns the id of the request."""
        answer = self.one.post_group(body)
        assert answer.status_code == 202, (answer.text, self.proxy.problems)
        return str(answer.json()["requestId"])

    def provision(self, **body: object) -> Json:
        """Request a group of `one`, and find it in the directory of `other`."""
        request_id = self.request(**body)
        self.one.wait_for_end(request_id, 60)
        [found] = self.other.find_group(request_id)
        return found

    def directory(self, method: str, path: str, body: object = None) -> Json:
        """Call the directory of `other`, as another program does."""
        headers = self.other.headers("automation", f"{GRAPH}/.default")
        url = f"{self.other.url}/graph/v1.0{path}"
        answer = httpx2.request(method, url, json=body, headers=headers, timeout=30, verify=TLS)
        assert answer.is_success, answer.text
        return answer.json()

    def ids(self, path: str) -> set[str]:
        """List the ids of objects in the directory of `other`."""
        return {each["id"] for each in self.directory("GET", path)["value"]}


@pytest.fixture(scope="module")
def connected() -> Iterator[Installations]:
    with recording_proxy() as proxy, data_folder() as folder:
        settings = {
            "CHAMBERLAIN_FAULT_SURFACE": "true",
            "CHAMBERLAIN_GRAPH_STRICT": "true",
            "CHAMBERLAIN_GRAPH_URL": proxy.url,
        }
        with restarted_service(environment=settings) as other:
            proxy.directory.port = other.port
            with restarted_service(environment=write_files(folder, other, proxy)) as one:
                found = Installations(one, other, proxy, folder / ESTATE / "secret")
                body = {
                    "adapter": "microsoft365",
                    "address": f"{proxy.url}/{ESTATE}",
                    "credentialFile": "microsoft365.toml",
                }
                found.administer("POST", f"{CONNECTIONS}?force=true", body)
                assert found.check() == "ready"
                yield found


def write_files(folder: Path, other: Service, proxy: RecordingProxy) -> Mapping[str, str]:
    """Write the files of the connection, and return the settings of its service."""
    credentials = folder / ESTATE
    credentials.mkdir()
    (credentials / "secret").write_text(secret_of(other), encoding="utf-8")
    (credentials / "microsoft365.toml").write_text(
        f'client_id = "{AUTOMATION}"\n'
        f'login = "https://localhost:{other.port + 1}/identity"\n'
        f'resource = "{GRAPH}"\n'
        '[secret]\nsecret_file = "secret"\n',
        encoding="utf-8",
    )
    authorities = folder / "authorities.pem"
    authorities.write_text((other.data_dir / "ca.pem").read_text("ascii") + proxy.authority_pem, "ascii")
    return {
        "CHAMBERLAIN_CONNECTION_FILES": str(folder),
        "CHAMBERLAIN_CONNECTION_HOSTS": f"localhost:{proxy.port}",
        "SSL_CERT_FILE": str(authorities),
    }


def secret_of(service: Service) -> str:
    return (service.data_dir / "automation.secret").read_text("utf-8")


@pytest.fixture
def installations(connected: Installations) -> Iterator[Installations]:
    """The installations. Each exchange of a test is as published."""
    yield connected
    assert connected.proxy.problems == []


def test_it_works(installations: Installations) -> None:
    group = installations.provision(displayName="Elsewhere", templateId=GROUP_TEMPLATE, members=[BEN, CLEO])

    assert (group["displayName"], group["mail"]) == ("Elsewhere", "elsewhere@estate.example")
    assert installations.ids(f"/groups/{group['id']}/owners") == {ADA}
    assert installations.ids(f"/groups/{group['id']}/members") == {ADA, BEN, CLEO}
    # Clients of the first one find it below its own address too.
    assert installations.one.graph(f"/groups/{group['id']}").json()["mail"] == group["mail"]
    own = installations.one.embedded_addresses.worker
    assert look_up(own, "SELECT count(*) FROM directory.groups WHERE display_name = 'Elsewhere'") == 0


def test_a_team_has_its_owners_members_and_channels(installations: Installations) -> None:
    team = installations.provision(displayName="Crew", templateId=TEAM_TEMPLATE, owners=[BEN], members=[CLEO])

    channels = installations.directory("GET", f"/teams/{team['id']}/channels")["value"]
    members = installations.directory("GET", f"/teams/{team['id']}/members")["value"]
    assert [each["displayName"] for each in channels] == ["General", "Planning"]
    assert {each["userId"]: each["roles"] for each in members} == {ADA: ["owner"], BEN: ["owner"], CLEO: []}


def test_a_rule_selects_the_members_of_a_dynamic_group(installations: Installations) -> None:
    group = installations.provision(displayName="All sellers", templateId=DYNAMIC_TEMPLATE)

    assert group["membershipRule"] == 'user.department -eq "Sales"'
    assert installations.ids(f"/groups/{group['id']}/members") == {BEN, CLEO}


def test_guest_rules_are_assigned_and_removed(installations: Installations) -> None:
    group = installations.provision(displayName="Guesthouse", templateId=GROUP_TEMPLATE)
    managed, there = f"{MANAGED}{group['id']}/", f"/groups/{group['id']}"

    installations.administer("PATCH", managed, {"templateId": NO_GUESTS, "policyId": NINETY_DAYS})
    wait_for_effects(installations, managed)
    assigned = installations.directory("GET", f"{there}?$select=id,chamberlain_group")["chamberlain_group"]
    [settings] = installations.directory("GET", f"{there}/settings")["value"]
    installations.administer("PATCH", managed, {"templateId": NONE, "policyId": NONE})
    wait_for_effects(installations, managed)

    assert (assigned["templateId"], assigned["policyId"]) == (NO_GUESTS, NINETY_DAYS)
    assert settings["values"] == [{"name": "AllowToAddGuests", "value": "false"}]
    assert installations.directory("GET", f"{there}/settings")["value"] == []
    left = installations.directory("GET", f"{there}?$select=id,chamberlain_group")["chamberlain_group"]
    assert left.keys() == {"requestId"}


def wait_for_effects(installations: Installations, path: str) -> None:
    def are_done() -> bool:
        effects = installations.administer("GET", path)["effects"]
        return all(each["state"] == "succeeded" for each in effects)

    wait_until(are_done, 60, lambda: str(installations.administer("GET", path)))


def test_people_are_found_by_words(installations: Installations) -> None:
    found = installations.one.get("/directory/v1/people/?q=achter").json()["items"]

    assert [each["id"] for each in found] == [ADA]


def test_groups_of_the_directory_are_discovered(installations: Installations) -> None:
    nickname = f"g{uuid4().hex}"
    body = {
        "displayName": nickname,
        "mailNickname": nickname,
        "mailEnabled": True,
        "securityEnabled": False,
        "groupTypes": ["Unified"],
        "owners@odata.bind": [f"{GRAPH}/v1.0/users/{ADA}"],
    }

    made = installations.directory("POST", "/groups", body)

    def find() -> list[Json]:
        listed = installations.administer("GET", f"{MANAGED}?q={nickname}")["items"]
        return [each for each in listed if each["displayName"] == nickname]

    # The service asks every 30 seconds.
    [found] = wait_until(find, 90)
    assert (found["id"], found["mail"]) == (made["id"], f"{nickname}@estate.example")


def test_throttling_and_lost_answers_leave_one_group_for_each_request(installations: Installations) -> None:
    for fault in (
        {"operation": "graph.read", "kind": "throttled", "afterCalls": 3, "times": 5},
        {"operation": "graph.write", "kind": "lostResponse", "afterCalls": 1, "times": 3},
        {"operation": "graph.write", "kind": "throttled", "afterCalls": 6, "times": 4},
    ):
        set_fault(installations, fault)

    requests = request_teams(installations, "Many")
    for request_id in requests:
        installations.one.wait_for_end(request_id, 120)

    seen = emulator(installations, "GET", "")["faults"]
    emulator(installations, "DELETE", "")
    assert all(each["calls"] > each["afterCalls"] for each in seen)
    assert_each_once(installations, requests)


def test_a_killed_service_leaves_one_team_for_each_request(installations: Installations) -> None:
    one, operations = installations.one, installations.proxy.recorder.operations
    earlier = operations[UPSERT]

    requests = request_teams(installations, "Killed")
    wait_until(lambda: operations[UPSERT] >= earlier + 5, 60)
    one.kill()
    again = start_service(one.data_dir, port=one.port, environment=one.environment)
    one.process = again.process
    one.wait_until_ready()
    for request_id in requests:
        one.wait_for_end(request_id, 120)

    assert_each_once(installations, requests)
    for request_id in requests:
        [team] = installations.other.find_group(request_id)
        channels = installations.directory("GET", f"/teams/{team['id']}/channels")["value"]
        assert [each["displayName"] for each in channels] == ["General", "Planning"]


def request_teams(installations: Installations, name: str) -> list[str]:
    """Request ten teams. Returns the ids of the requests."""
    return [
        installations.request(displayName=f"{name} {number}", templateId=TEAM_TEMPLATE, members=[BEN])
        for number in range(10)
    ]


def assert_each_once(installations: Installations, requests: Sequence[str]) -> None:
    provisioned = installations.other.provisioned()
    assert {request_id: provisioned[request_id] for request_id in requests} == dict.fromkeys(requests, 1)


def set_fault(installations: Installations, fault: Mapping[str, object]) -> None:
    emulator(installations, "POST", "", {"seconds": 600, **fault})


def emulator(installations: Installations, method: str, path: str, body: object = None) -> Json:
    """Call the faults of `other`."""
    headers = installations.other.headers("automation", f"{API}/.default")
    url = f"{installations.other.url}/emulator/faults{path}"
    answer = httpx2.request(method, url, json=body, headers=headers, timeout=30, verify=TLS)
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


def test_a_wrong_secret_breaks_the_connection(installations: Installations) -> None:
    installations.secret_file.write_text("wrong", encoding="utf-8")
    broken = installations.check()
    installations.secret_file.write_text(secret_of(installations.other), encoding="utf-8")

    assert (broken, installations.check()) == ("broken", "ready")
