# SPDX-License-Identifier: Apache-2.0
"""The audit trail of a running service: over HTTP, as lines, and at a shell, where it is verified and emptied."""

import asyncio
import json
import os
import pwd
import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx2
import pytest

from tests.commands import run_here
from tests.postgres import connected
from tests.service.estate import ESTATE, HOUSE_TEMPLATE, NOBODY, OTHER_HOUSE, ZOE, furnish
from tests.services import (
    ADA,
    ADA_MAIL,
    API,
    APPROVED_TEMPLATE,
    BEN,
    COLLAB,
    GROUP_TEMPLATE,
    TLS,
    ZOE_MAIL,
    Service,
    run_command,
    running_service,
    wait_until,
)

pytestmark = pytest.mark.heavy

PATH = "/admin/v1/audit/"
CONFIG = f"{API}/admin/Config.ReadWrite.All"
LINES = {"accept": "application/x-ndjson"}
CLI = {"id": "c11e0000-0000-4000-8000-000000000001", "displayName": "chamberlain-cli"}
ALL_STAFF = "94000000-0000-4000-8000-000000000001"
NO_GUESTS = "7e000000-0000-4000-8000-000000000021"
BEN_MAIL = "ben@estate.example"
# JSON documents, whose types are what is tested here.
Row = dict[str, Any]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """One of its own, since rows of its trail are changed."""
    with running_service() as running:
        furnish(running.embedded_addresses.worker)
        yield running


def page(service: Service, query: str = "", who: str = ADA_MAIL) -> list[Row]:
    """The newest rows."""
    answer = service.get(f"{PATH}?limit=200&{query}", who, CONFIG)
    assert answer.status_code == 200, answer.text
    items: list[Row] = answer.json()["items"]
    return items


def execute(service: Service, statement: str, *values: object) -> None:
    """As who owns the tables, or with the powers of one."""

    async def run() -> None:
        async with connected(service.embedded_addresses.owner) as owner:
            await owner.execute(statement, *values)

    asyncio.run(run())


def wait_for_seals(service: Service, who: str = ADA_MAIL) -> None:
    """Let the worker look at once, and wait until it has."""
    execute(service, "UPDATE chamberlain.job SET run_at = now() WHERE kind IN ('auditSeal', 'auditSealBegin')")
    wait_until(lambda: all(row["seal"] for row in page(service, who=who)), 20, service.said)


def command(service: Service, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return run_here(*arguments, "--data-dir", str(service.data_dir), environment=service.environment, typed=typed)


def ask_for(service: Service, name: str, who: str = ADA_MAIL, template: str = GROUP_TEMPLATE) -> str:
    """Ask for a group; gives the id of the request."""
    answer = service.post_group({"displayName": name, "templateId": template}, who)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["requestId"])


def test_it_works(service: Service) -> None:
    request_id = ask_for(service, "Audited")
    wait_for_seals(service)

    (row,) = page(service, f"subjectId={request_id}")

    assert {name: row[name] for name in ("tenantId", "action", "actor", "client", "subject", "requestId")} == {
        "tenantId": ESTATE,
        "action": "group.create",
        "actor": {"type": "user", "id": ADA, "displayName": "Ada Achterberg"},
        "client": CLI,
        "subject": {"type": "request", "id": request_id, "displayName": "Audited"},
        "requestId": request_id,
    }
    assert row["before"] is None
    assert row["after"] == {"displayName": "Audited", "templateId": GROUP_TEMPLATE}
    assert row["seal"].keys() == {"previous", "digest"}
    assert row["seal"]["digest"].startswith("sha256:")


def change(service: Service, method: str, path: str, body: Mapping[str, object] | None = None) -> Row:
    """As an administrator."""
    headers = service.headers(ADA_MAIL, CONFIG)
    answer = httpx2.request(method, f"{service.url}{path}", headers=headers, json=body, timeout=30, verify=TLS)
    assert answer.status_code < 300, answer.text
    changed: Row = answer.json() if answer.content else {}
    return changed


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/admin/mail/v1/templates/", {"kind": "shared", "name": "Recorded"}),
        ("/admin/collab/v1/templates/", {"kind": "group", "name": "Recorded"}),
        ("/admin/collab/v1/policies/", {"name": "Recorded"}),
    ],
)
def test_what_is_made_changed_and_removed_is_on_record(service: Service, path: str, body: Mapping[str, object]) -> None:
    made = change(service, "POST", path, body)
    change(service, "PUT", f"{path}{made['id']}/", {**body, "name": "Renamed"})
    change(service, "PUT", f"{path}{made['id']}/", {**body, "name": "Renamed"})
    change(service, "DELETE", f"{path}{made['id']}/")

    removed, renamed, created = page(service, f"subjectId={made['id']}")

    assert [row["action"].split(".")[1] for row in (created, renamed, removed)] == ["create", "replace", "delete"]
    for row in (created, renamed, removed):
        assert row["actor"] == {"type": "user", "id": ADA, "displayName": "Ada Achterberg"}
        assert (row["client"], row["clientAddress"]) == (CLI, "127.0.0.1")
    assert (created["before"], created["after"]["name"]) == (None, "Recorded")
    assert (renamed["before"], renamed["after"]) == ({"name": "Recorded"}, {"name": "Renamed"})
    assert (removed["before"]["name"], removed["after"]) == ("Renamed", None)


def test_an_assignment_is_on_record(service: Service) -> None:
    group = f"/admin/collab/v1/manage/groups/{ALL_STAFF}/"
    change(service, "PATCH", group, {"templateId": NO_GUESTS})
    change(service, "PATCH", group, {"templateId": NO_GUESTS})
    change(service, "PATCH", group, {"templateId": str(UUID(int=0))})

    cleared, assigned = page(service, f"subjectId={ALL_STAFF}")

    assert [row["action"] for row in (assigned, cleared)] == ["group.assign", "group.assign"]
    assert (assigned["before"]["templateId"], assigned["after"]["templateId"]) == (None, NO_GUESTS)
    assert (cleared["before"]["templateId"], cleared["after"]["templateId"]) == (NO_GUESTS, None)
    assert (assigned["client"], assigned["clientAddress"]) == (CLI, "127.0.0.1")


def test_what_becomes_of_a_request_is_on_record(service: Service) -> None:
    request_id = ask_for(service, "Never mind", template=APPROVED_TEMPLATE)
    answer = httpx2.post(
        f"{service.url}/requests/v1/{request_id}/cancel/",
        json={"comment": "Not needed."},
        headers=service.headers(),
        timeout=30,
        verify=TLS,
    )
    assert answer.status_code == 200

    row = page(service, f"subjectId={request_id}")[0]

    assert (row["action"], row["before"]) == ("request.cancel", {"state": "pendingApproval"})
    assert row["after"] == {"state": "cancelled", "comment": "Not needed."}
    assert (row["actor"]["id"], row["client"]) == (ADA, CLI)


def test_a_token_of_a_program_is_on_record(service: Service) -> None:
    service.token("automation", f"{API}/.default")

    row = next(row for row in page(service, "action=token.issue") if row["subject"]["type"] == "application")

    assert row["client"]["displayName"] == "automation"
    assert row["actor"] == {"type": "system", "id": None, "displayName": "chamberlain token"}
    assert row["clientAddress"] is None
    assert "resource" in row["after"]


def test_every_seal_follows_another_one(service: Service) -> None:
    ask_for(service, "Sealed")
    wait_for_seals(service)

    seals = [row["seal"] for row in page(service)]

    digests = {seal["digest"] for seal in seals}
    assert len(digests) == len(seals)
    assert len([seal for seal in seals if seal["previous"] not in digests]) == 1


def test_filters_name_what_is_shown(service: Service) -> None:
    begun = datetime.now(UTC).isoformat()
    mine, bens = ask_for(service, "Mine"), ask_for(service, "Of Ben", BEN_MAIL)

    assert {row["requestId"] for row in page(service, f"actorId={BEN}")} >= {bens}
    assert mine not in {row["requestId"] for row in page(service, f"actorId={BEN}")}
    assert {row["action"] for row in page(service, "action=group.create")} == {"group.create"}
    since = page(service, f"action=group.create&from={quote(begun)}")
    assert [row["requestId"] for row in since] == [bens, mine]
    assert mine not in {row["requestId"] for row in page(service, f"to={quote(begun)}")}
    assert page(service, f"subjectId={NOBODY}") == []


def test_pages_follow_each_other(service: Service) -> None:
    everything = [row["sequence"] for row in page(service)]
    found: list[int] = []
    cursor = ""
    while len(found) <= len(everything):
        answer = service.get(f"{PATH}?limit=3{cursor}", ADA_MAIL, CONFIG).json()
        found += [row["sequence"] for row in answer["items"]]
        if answer["nextCursor"] is None:
            break
        cursor = f"&cursor={answer['nextCursor']}"

    assert found == everything


def test_lines_are_all_of_it_in_its_order(service: Service) -> None:
    ask_for(service, "In lines")
    newest = [row["sequence"] for row in page(service)]

    # As curl does it: bytes as they come, with no more of HTTP/1.1 than is needed.
    with httpx2.stream(
        "GET", f"{service.url}{PATH}", headers={**service.headers(ADA_MAIL, CONFIG), **LINES}, timeout=30, verify=TLS
    ) as answer:
        got = b"".join(answer.iter_raw())

    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["transfer-encoding"] == "chunked"
    rows = [json.loads(line) for line in got.splitlines()]
    assert [row["sequence"] for row in rows][-len(newest) :] == newest[::-1]
    assert {row["tenantId"] for row in rows} == {ESTATE}


def test_many_lines_come_in_parts(service: Service) -> None:
    """More than one part is read, and each line is there once."""
    execute(
        service,
        "INSERT INTO chamberlain.audit (tenant_id, action, trace_id, payload) "
        "SELECT $1, 'test.fill', '', '{}' FROM generate_series(1, 2500)",
        OTHER_HOUSE,
    )

    answer = httpx2.get(
        f"{service.url}{PATH}?action=test.fill",
        headers={**service.headers(ZOE_MAIL, CONFIG), **LINES},
        timeout=30,
        verify=TLS,
    )

    sequences = [json.loads(line)["sequence"] for line in answer.text.splitlines()]
    assert len(sequences) == 2500
    assert sequences == sorted(set(sequences))


def test_the_second_tenant_sees_its_own(service: Service) -> None:
    ours, theirs = ask_for(service, "Ours"), ask_for(service, "Theirs", ZOE_MAIL, HOUSE_TEMPLATE)

    by_page = {row["requestId"] for row in page(service, "action=group.create", ZOE_MAIL)}
    lines = httpx2.get(
        f"{service.url}{PATH}", headers={**service.headers(ZOE_MAIL, CONFIG), **LINES}, timeout=30, verify=TLS
    )

    assert theirs in by_page
    assert ours not in by_page
    assert ours not in lines.text
    assert ESTATE not in lines.text
    for query in (f"subjectId={ours}", f"actorId={ADA}"):
        assert page(service, query, ZOE_MAIL) == []


@pytest.mark.parametrize(
    ("who", "scope", "code"),
    [(ADA_MAIL, COLLAB, "insufficientScope"), (BEN_MAIL, CONFIG, "notAdministrator")],
)
def test_it_rejects_who_does_not_administer(service: Service, who: str, scope: str, code: str) -> None:
    for accept in ({}, LINES):
        answer = httpx2.get(
            f"{service.url}{PATH}", headers={**service.headers(who, scope), **accept}, timeout=30, verify=TLS
        )

        assert (answer.status_code, answer.json()["code"]) == (403, code)


def test_the_head_is_logged(service: Service) -> None:
    ask_for(service, "Logged")
    wait_for_seals(service)

    (head, *_) = logged_heads(service)

    done = command(service, "audit", "verify", "--tenant", ESTATE, "--head", head)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_trail_that_is_well_is_reported_so(service: Service) -> None:
    wait_for_seals(service)

    done = run_command("audit", "verify", "--tenant", ESTATE, "--data-dir", str(service.data_dir))

    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"well      {ESTATE}  ")
    assert " rows sealed, 0 erased, " in line
    assert ", head " in line


def test_what_somebody_did_to_it_is_found(service: Service) -> None:
    changed, removed = ask_for(service, "To be changed"), ask_for(service, "To be removed")
    wait_for_seals(service)
    rows = {row["requestId"]: row["sequence"] for row in page(service, "action=group.create")}
    execute(service, "CREATE TABLE chamberlain.kept AS SELECT * FROM chamberlain.audit")
    try:
        execute(service, "UPDATE chamberlain.audit SET action = 'group.delete' WHERE sequence = $1", rows[changed])
        execute(service, "DELETE FROM chamberlain.audit WHERE sequence = $1", rows[removed])
        execute(
            service,
            "INSERT INTO chamberlain.audit (sequence, tenant_id, action, trace_id, payload) OVERRIDING SYSTEM VALUE "
            "SELECT 0, tenant_id, action, trace_id, payload FROM chamberlain.audit WHERE sequence = $1",
            rows[changed],
        )
        done = command(service, "audit", "verify", "--tenant", ESTATE)
    finally:
        execute(service, "DELETE FROM chamberlain.audit WHERE tenant_id = $1", ESTATE)
        execute(
            service,
            "INSERT INTO chamberlain.audit OVERRIDING SYSTEM VALUE SELECT * FROM chamberlain.kept WHERE tenant_id = $1",
            ESTATE,
        )
        execute(service, "DROP TABLE chamberlain.kept")

    *faults, verdict = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (1, "")
    assert verdict.startswith(f"3 faults  {ESTATE}  ")
    assert sorted(line.split()[0] for line in faults) == ["changed", "inserted", "missing"]
    assert f"Row {rows[changed]} " in next(line for line in faults if line.startswith("changed"))
    assert f"Row {rows[removed]} " in next(line for line in faults if line.startswith("missing"))
    assert "Row 0 " in next(line for line in faults if line.startswith("inserted"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--tenant", NOBODY), f"There is no tenant {NOBODY}."),
        (("--tenant", "estate"), "--tenant: There is no tenant 'estate'."),
        (("--head", f"1:sha256:{'0' * 64}"), "A head belongs to the chain of one tenant: name its --tenant."),
        (("--tenant", ESTATE, "--head", "1:sha256:00"), "1:sha256:00 is no head."),
    ],
)
def test_it_rejects_to_verify_what_is_not_there(service: Service, arguments: tuple[str, ...], says: str) -> None:
    done = command(service, "audit", "verify", *arguments)

    assert done.returncode in {1, 4}
    assert done.stdout == ""
    assert done.stderr.startswith(says)


def test_a_user_is_forgotten(service: Service) -> None:
    request_id = ask_for(service, "Of somebody", BEN_MAIL)
    service.wait_for_group(request_id)
    wait_until(lambda: service.request(request_id, BEN_MAIL)["state"] == "succeeded", 20, service.said)

    asked = command(service, "erase", "--user", BEN, "--tenant", ESTATE, typed="no\n")
    untouched = page(service, f"subjectId={request_id}")
    done = command(service, "erase", "--user", BEN, "--tenant", ESTATE, typed="yes\n")
    again = command(service, "erase", "--user", BEN, "--yes")
    wait_for_seals(service)
    verified = command(service, "audit", "verify", "--tenant", ESTATE)

    assert (asked.returncode, asked.stderr) == (1, "Nothing was erased.\n")
    assert untouched[0]["actor"]["displayName"] == "Ben Okafor"
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Tenant {ESTATE}: " in done.stdout
    assert again.stdout == f"Nothing is kept of user {BEN}.\n"
    assert page(service, f"actorId={BEN}") == []
    (row,) = [row for row in page(service) if row["requestId"] == request_id]
    assert (row["erased"], row["actor"], row["subject"], row["after"]) == (True, None, None, None)
    (record,) = page(service, "action=user.erase")
    assert record["actor"] == {
        "type": "system",
        "id": None,
        "displayName": f"Command line ({pwd.getpwuid(os.getuid()).pw_name})",
    }
    assert record["subject"] == {"type": "user", "id": BEN, "displayName": ""}
    request = service.request(request_id, BEN_MAIL)
    assert (request["body"], request["createdBy"]) == ({}, {"type": "user", "id": BEN, "displayName": ""})
    assert verified.returncode == 0, verified.stdout
    assert f" rows sealed, {record['after']['auditRows']} erased, " in verified.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--user", "ben"), "ben is no id of a user."),
        (("--user", ZOE, "--tenant", NOBODY, "--yes"), f"There is no tenant {NOBODY}."),
        (("--user", ZOE), "Nothing was erased."),
    ],
)
def test_it_rejects_to_erase_nobody_knows_whom(service: Service, arguments: tuple[str, ...], says: str) -> None:
    done = command(service, "erase", *arguments)

    assert done.returncode == 1
    assert done.stderr.startswith(says)


def logged_heads(service: Service) -> list[str]:
    """The heads of the first tenant, as the log has them."""

    def found() -> list[str]:
        lines: list[Mapping[str, str]] = [json.loads(line) for line in service.said().splitlines() if line[:1] == "{"]
        return [line["head"] for line in lines if "head" in line and line["tenantId"] == ESTATE]

    return wait_until(found, 20, service.said)
