# SPDX-License-Identifier: Apache-2.0
"""One installation, two tenants, two directories; and a credential that lapses while requests wait."""

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from chamberlain.embedded import postgres
from chamberlain.embedded.postgres import roles
from tests.folders import data_folder
from tests.postgres import connected, make_database, named_programs
from tests.service.estate import HOUSE_TEMPLATE, furnish
from tests.services import (
    ADA_MAIL,
    API,
    GRAPH,
    GROUP_TEMPLATE,
    TLS,
    ZOE_MAIL,
    Outside,
    Service,
    filled,
    look_up,
    wait_until,
)

# Two databases, and processes of a service.
pytestmark = pytest.mark.heavy

ADMINISTER = f"{API}/admin/Config.ReadWrite.All"
PATH = "/admin/v1/connections/"
REQUESTS = 1_000
FIRST, SECOND = "the-first-password", "the-second-password"


@dataclass
class Directories:
    """The database of a service, and another directory with a password."""

    own: Outside
    server: postgres.Server
    other: str
    address: str

    def execute(self, *statements: str) -> None:
        async def run() -> None:
            async with connected(self.server.set_up_address) as connection:
                for statement in statements:
                    await connection.execute(statement)

        asyncio.run(run())


@pytest.fixture
def directories() -> Iterator[Directories]:
    with data_folder() as folder, ExitStack() as stack:
        access = folder / "access.conf"
        socket = folder / "postgres" / "data"
        peers = "peer map=chamberlain\n"
        access.write_text(
            "local all directory_reader scram-sha-256\n"
            f"local all {','.join(roles.ALL)} {peers}local replication {roles.SET_UP} {peers}",
            encoding="utf-8",
        )
        access.chmod(0o644)
        server = asyncio.run(
            postgres.start(
                folder / "postgres",
                programs=named_programs(),
                run_as=None,
                extra_settings={"hba_file": str(access), "fsync": "off"},
            )
        )
        stack.callback(lambda: asyncio.run(server.stop()))
        asyncio.run(make_database(server, "other"))
        elsewhere = server.addresses_of("other")
        with filled(elsewhere, _folder(folder / "other")), filled(server.addresses, _folder(folder / "own")) as own:
            own.environment = {**own.environment, "CHAMBERLAIN_CONNECTION_HOSTS": str(socket)}
            address = f"postgresql://directory_reader@/other?host={socket}&port=5432"
            found = Directories(own, server, elsewhere.worker, address)
            found.execute(f"CREATE ROLE directory_reader LOGIN PASSWORD '{FIRST}' IN ROLE chamberlain_worker")
            yield found


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def administer(
    service: Service, method: str, path: str = "", body: Mapping[str, object] | None = None
) -> httpx2.Response:
    answer = httpx2.request(
        method,
        f"{service.url}{PATH}{path}",
        json=body,
        headers=service.headers(ADA_MAIL, ADMINISTER),
        timeout=30,
        verify=TLS,
    )
    assert answer.is_success, answer.text
    return answer


def connect(service: Service, address: str) -> str:
    body = {"adapter": "embedded", "address": address, "credential": FIRST}
    added = administer(service, "POST", "?force=true", body).json()
    checked = administer(service, "POST", f"{added['id']}/check/").json()
    assert checked["state"] == "ready", checked
    return str(added["id"])


def groups_in(address: str, name: str) -> object:
    return look_up(address, "SELECT count(*) FROM directory.groups WHERE display_name = $1", name)


def test_two_tenants_use_two_directories(directories: Directories) -> None:
    furnish(directories.own.addresses.worker)
    service = directories.own.ready_service()
    connect(service, directories.address)

    ours = service.post_group({"displayName": "Elsewhere", "templateId": GROUP_TEMPLATE}).json()["requestId"]
    theirs = service.post_group({"displayName": "At home", "templateId": HOUSE_TEMPLATE}, ZOE_MAIL).json()["requestId"]
    there = service.wait_for_group(ours)
    here = service.wait_for_group(theirs, who=ZOE_MAIL)

    assert (groups_in(directories.other, "Elsewhere"), groups_in(directories.own.addresses.worker, "Elsewhere")) == (
        1,
        0,
    )
    assert (groups_in(directories.other, "At home"), groups_in(directories.own.addresses.worker, "At home")) == (0, 1)
    assert there.keys() == here.keys()
    for path in ("", "/owners", "/members"):
        one = service.graph(f"/groups/{there['id']}{path}")
        other = service.graph(f"/groups/{here['id']}{path}", ZOE_MAIL)
        assert (one.status_code, other.status_code) == (200, 200)
        assert one.json().keys() == other.json().keys()
    # Each tenant finds its own group only, and the rest of Graph is elsewhere.
    assert service.graph(f"/groups/{here['id']}").status_code == 404
    assert service.graph("/groups?$top=1").status_code == 404
    assert service.graph("/groups?$top=1").json()["error"]["code"] == "Request_ResourceNotFound"
    assert service.graph("/groups?$top=1", ZOE_MAIL).status_code == 200
    assert service.get("/graph/v1.0/users", ADA_MAIL, f"{GRAPH}/User.Read.All").status_code == 404


@pytest.mark.timeout(600)
def test_a_lapsed_credential_parks_requests_until_it_is_replaced(directories: Directories) -> None:
    service = directories.own.ready_service("--no-worker")
    connection_id = connect(service, directories.address)
    with (
        httpx2.Client(headers=service.headers(), timeout=60, verify=TLS) as client,
        ThreadPoolExecutor(16) as threads,
    ):

        def post(number: int) -> int:
            body = {"displayName": f"Parked {number}", "templateId": GROUP_TEMPLATE}
            return client.post(service.groups_url, json=body).status_code

        assert set(threads.map(post, range(REQUESTS))) == {202}

    directories.execute(
        f"ALTER ROLE directory_reader PASSWORD '{SECOND}'",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'directory_reader'",
    )
    directories.own.start_worker()
    wait_until(lambda: administer(service, "GET", connection_id + "/").json()["state"] == "broken", 30)
    broken = administer(service, "GET", connection_id + "/").json()["stateReason"]
    waiting = counted(directories.own)
    # The process that answers is notified of the state.
    wait_until(lambda: service.get("/requests/v1/?limit=1").json()["items"][0]["waiting"], 60)
    shown = service.get("/requests/v1/?limit=1").json()["items"][0]
    read = service.get(f"/requests/v1/{shown['requestId']}/").json()
    # Nothing but the credential is touched.
    administer(service, "PATCH", connection_id + "/", {"credential": SECOND})
    ready = administer(service, "POST", f"{connection_id}/check/").json()
    wait_until(lambda: counted(directories.own)["succeeded"] == REQUESTS, 240, lambda: str(counted(directories.own)))

    assert broken["code"] == "passwordRefused"
    for each in (shown, read):
        assert each["waiting"]["reasonCode"] == "connectionBroken"
        assert each["waiting"]["reasonValues"] == {"problem": broken["detail"]}
    assert ready["state"] == "ready"
    assert (waiting["succeeded"], waiting["failed"], waiting["attempts"]) == (0, 0, 0)
    assert counted(directories.own)["failed"] == 0
    made = look_up(directories.other, "SELECT count(*) FROM directory.groups WHERE display_name LIKE 'Parked %'")
    assert made == REQUESTS
    events = "SELECT string_agg(type, ' ' ORDER BY sequence) FROM chamberlain.event WHERE type LIKE 'connection.%'"
    assert directories.own.value(events) == "connection.ready connection.broken connection.ready"
    logs = "".join(path.read_text(errors="replace") for path in directories.own.folder.rglob("log*") if path.is_file())
    assert FIRST not in logs
    assert SECOND not in logs


def counted(outside: Outside) -> dict[str, int]:
    """Count the requests by their ends, and the attempts of their jobs."""
    ends = "SELECT count(*) FROM chamberlain.request WHERE display_name LIKE 'Parked %' AND state = $1"
    attempts = "SELECT coalesce(max(attempts), 0) FROM chamberlain.job WHERE kind = 'groupProvision'"
    found = {state: outside.value(ends, state) for state in ("succeeded", "failed")}
    return {name: int(str(number)) for name, number in {**found, "attempts": outside.value(attempts)}.items()}
