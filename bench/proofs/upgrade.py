# SPDX-License-Identifier: Apache-2.0
"""Upgrade from an older commit: a database with requests in every state, and processes of both versions under load.

    python3 dev.py prove upgrade --tree FOLDER [--seconds N]

FOLDER is a checkout of the older commit with its own .venv (`python3 dev.py setup` makes it). Two API processes and a
worker of the older commit run on one database. The proof brings requests into every state, then starts processes of
this commit beside them under load: `migrate --before`, new processes, stop of the old ones, `migrate`. Both versions
continue what the other has written: mailboxes, assignments, approvals and lists. No call may fail or be lost.
Afterwards each request continues from its state. A data folder of the older commit starts with this one.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from uuid import UUID

import asyncpg
import httpx2

from tests import services
from tests.faults.load import Load
from tests.folders import data_folder
from tests.services import (
    ADA_MAIL,
    API,
    APPROVED_TEMPLATE,
    GROUP_TEMPLATE,
    TLS,
    Outside,
    Process,
    Service,
    look_up,
    outside_database,
    run_command,
    wait_until,
)

DARA_MAIL = "dara@estate.example"
MAIL = f"{API}/mail/App.ReadWrite.All"
ADMINISTRATION = f"{API}/admin/Config.ReadWrite.All"
ALL_STAFF = "94000000-0000-4000-8000-000000000001"
NO_GUESTS = "7e000000-0000-4000-8000-000000000021"
NO_ID = UUID(int=0)
LISTS = (
    "/requests/v1/", "/mail/v1/mailboxes/", "/admin/v1/findings/", "/admin/v1/events/", "/admin/v1/audit/",
    "/admin/v1/jobs/", "/admin/collab/v1/manage/groups/",
)  # fmt: skip
STRANGER = "00000000-0000-4000-8000-0000000000ff"
# The directory is away for all but a second of each hour.
AWAY = {"CHAMBERLAIN_FAULT_UNAVAILABLE": "3599/3600"}
# The directory is away for 29 of 30 seconds, so a waiting request continues soon.
SOON = {"CHAMBERLAIN_FAULT_UNAVAILABLE": "29/30"}
STATES = ["pendingApproval", "rejected", "cancelled", "expired", "failed", "succeeded", "waiting", "running", "queued"]
Requests = dict[str, str]

PAST_DEADLINE = r"""
UPDATE chamberlain.request
SET approvals = regexp_replace(approvals::text, '("deadline": ?")\d{4}', '\12020')::json WHERE request_id = $1
"""


def main() -> int:
    """Run both parts. The exit code is 0 if nothing failed."""
    parser = argparse.ArgumentParser(prog="python3 dev.py prove upgrade", description=__doc__)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    old = str(options.tree.absolute() / ".venv" / "bin" / "python")
    with commands_of(old), outside_database() as outside:
        upgrade_under_load(outside, old, options.seconds)
    upgrade_data_folder(old)
    return 0


@contextmanager
def commands_of(python: str) -> Iterator[None]:
    """Start processes and commands with this Python."""
    before = services.COMMAND
    services.COMMAND = (python, "-m", "chamberlain")
    try:
        yield
    finally:
        services.COMMAND = before


def upgrade_under_load(outside: Outside, old: str, seconds: float) -> None:
    """Replace all processes under load, and compare every state before and after."""
    with commands_of(old):
        services_before = [outside.ready_service("--no-worker") for _ in range(2)]
        requests = requests_in_every_state(outside, services_before[0])
        states = {name: state_of(services_before[0], each) for name, each in requests.items()}
        cursor = services_before[0].get("/requests/v1/?limit=2").json()["nextCursor"]
        keyed = services_before[0].post_group(group("Keyed"), **{"Idempotency-Key": "upgrade"}).json()["requestId"]
        print(f"Before: {states}", flush=True)
        assert states == {name: name for name in STATES}, states
        worker_before = outside.start_worker()
    load = Load(services_before)
    stopping: list[bool] = []
    with ThreadPoolExecutor(max_workers=2) as beside:
        loading = beside.submit(load.run, 1_000_000, lambda: bool(stopping))
        try:
            with commands_of(sys.executable):
                run_for(load, seconds)
                print(f"migrate --before: {migrate(outside, '--before') or 'nothing to run'}", flush=True)
                run_for(load, seconds)
                services_after = [outside.ready_service("--no-worker") for _ in range(2)]
                outside.start_worker()
                for each in services_after:
                    each.headers()
                mixed = len(load.accepted)
                load.services = [*services_before, *services_after]
                mixing = beside.submit(mixed_calls, [*services_before, *services_after], seconds)
                run_for(load, seconds)
                calls, mailboxes = mixing.result(timeout=60)
                print(f"Both versions answered {calls} other calls about the same objects.", flush=True)
                load.services = services_after
                wait_until_idle(services_before)
                stop_all([worker_before, *services_before])
                print(f"migrate: {migrate(outside) or 'nothing to run'}", flush=True)
                run_for(load, seconds)
        finally:
            stopping.append(True)
            loading.result(timeout=60)
    after = services_after[0]
    acknowledged = Counter(load.accepted)
    wait_until(lambda: acknowledged <= after.provisioned(), within=120)
    twice = [each for each, number in after.provisioned().items() if number > 1]
    print(f"Acknowledged {len(load.accepted)}, {mixed} of them before the first new process answered.")
    print(f"Refused {len(load.refused)}, unanswered {load.unanswered}, created twice {len(twice)}.", flush=True)
    assert (load.refused, load.unanswered, twice) == ([], 0, [])
    continue_each(after, requests | {f"mailbox {number}": each for number, each in enumerate(mailboxes)}, cursor)
    assert after.post_group(group("Keyed"), **{"Idempotency-Key": "upgrade"}).json()["requestId"] == keyed
    verify_audit(after)


def verify_audit(service: Service) -> None:
    """Verify the audit trail by this commit."""
    with commands_of(sys.executable):
        verified = run_command("audit", "verify", "--data-dir", str(service.data_dir), environment=service.environment)
    print(verified.stdout.strip())
    assert verified.returncode == 0, verified.stderr


def mixed_calls(mixed: list[Service], seconds: float) -> tuple[int, list[str]]:
    """Write with one version and continue with the next, in turn.

    Returns the number of calls and the requests of mailboxes. Raises AssertionError for a call that fails.
    """
    requested: list[str] = []
    calls, end = 0, time.monotonic() + seconds
    for number in count():
        if time.monotonic() > end:
            return calls, requested
        first, second = mixed[number % len(mixed)], mixed[(number + 2) % len(mixed)]
        mailbox = {"name": f"mixed-{number}", "displayName": f"Mixed {number}", "roomMailboxMetadata": {}}
        requested.append(call(first, "POST", "/mail/v1/mailboxes/", MAIL, mailbox).json()["requestId"])
        assignment = {"templateId": NO_GUESTS if number % 2 else str(NO_ID)}
        call(first, "PATCH", f"/admin/collab/v1/manage/groups/{ALL_STAFF}/", ADMINISTRATION, assignment)
        for name, action, who in (("approved", "approve", DARA_MAIL), ("not approved", "reject", DARA_MAIL)):
            act(second, accepted(first, group(f"{name} {number}", APPROVED_TEMPLATE)), action, who)
        for path in LISTS:
            call(second, "GET", path, ADMINISTRATION)
        call(second, "GET", f"/requests/v1/{requested[-1]}/", MAIL)
        calls += 7 + len(LISTS)
    raise AssertionError


def call(service: Service, method: str, path: str, scope: str, body: object = None) -> httpx2.Response:
    """Send a call of the administrator, and return the answer, which must be a success."""
    headers = service.headers(ADA_MAIL, scope)
    answer = httpx2.request(method, f"{service.url}{path}", json=body, headers=headers, timeout=30, verify=TLS)
    assert answer.is_success, (method, path, answer.text)
    return answer


def requests_in_every_state(outside: Outside, service: Service) -> Requests:
    """Bring one request into each state, by the processes of the older commit."""
    found: Requests = {}
    for name in ("pendingApproval", "rejected", "expired"):
        found[name] = accepted(service, group(name, APPROVED_TEMPLATE))
    act(service, found["rejected"], "reject", DARA_MAIL)
    found["cancelled"] = accepted(service, group("cancelled"))
    act(service, found["cancelled"], "cancel", ADA_MAIL)
    away = with_environment(outside, AWAY).ready_service("--no-worker")
    found["failed"] = accepted(away, {**group("failed"), "members": [STRANGER]})
    found["succeeded"] = accepted(service, group("succeeded"))
    as_owner(outside, PAST_DEADLINE, found["expired"])
    as_owner(outside, "UPDATE chamberlain.job SET run_at = now() WHERE subject = $1", found["expired"])
    worker = outside.start_worker()
    for name in ("failed", "succeeded", "expired"):
        wait_for(service, found[name], name)
    worker.stop()
    found["waiting"] = waiting(outside, service)
    # The next worker does not continue it, however long it takes to start.
    as_owner(
        outside, "UPDATE chamberlain.job SET run_at = run_at + interval '2 min' WHERE subject = $1", found["waiting"]
    )
    found["running"] = running(outside, service)
    found["queued"] = accepted(service, group("queued"))
    return found


def waiting(outside: Outside, service: Service) -> str:
    """Request groups until one waits. The directory answers in one of 30 seconds."""
    worker = with_environment(outside, SOON).start_worker()
    try:
        requests = [accepted(service, group(f"waiting {number}")) for number in range(3)]
        # A group that is requested in that second succeeds, and so do the groups beside it. The next one then waits.
        wait_until(lambda: {state_of(service, each) for each in requests} <= {"waiting", "succeeded"}, within=60)
        if state_of(service, requests[-1]) == "succeeded":
            requests.append(accepted(service, group("waiting")))
            wait_for(service, requests[-1], "waiting")
        return requests[-1]
    finally:
        worker.stop()


def running(outside: Outside, service: Service) -> str:
    """Kill a worker in the middle of a request. A lock on the directory's groups stops it there."""
    request = accepted(service, group("running"))
    with locked_groups(outside):
        worker = outside.start_worker()
        wait_for(service, request, "running")
        worker.kill()
    return request


@contextmanager
def locked_groups(outside: Outside) -> Iterator[None]:
    """Hold a lock that no write to the directory's groups passes."""
    loop = asyncio.new_event_loop()
    connection: asyncpg.Connection[asyncpg.Record] = loop.run_until_complete(asyncpg.connect(outside.addresses.owner))
    try:
        loop.run_until_complete(connection.execute("BEGIN; LOCK TABLE directory.groups IN SHARE ROW EXCLUSIVE MODE"))
        yield
    finally:
        loop.run_until_complete(connection.close())
        loop.close()


def continue_each(service: Service, requests: Requests, cursor: str) -> None:
    """Check that each request is in its state or has succeeded, and that those which wait for a person continue."""
    for name in ("queued", "running", "waiting", *[name for name in requests if name.startswith("mailbox")]):
        wait_for(service, requests[name], "succeeded", within=300)
    for name in ("pendingApproval", "rejected", "cancelled", "expired", "failed", "succeeded"):
        assert state_of(service, requests[name]) == name, name
    act(service, requests["pendingApproval"], "approve", DARA_MAIL)
    wait_for(service, requests["pendingApproval"], "succeeded")
    act(service, requests["failed"], "retry", ADA_MAIL)
    wait_for(service, requests["failed"], "failed")
    page = service.get(f"/requests/v1/?limit=2&cursor={cursor}")
    assert page.status_code == 200, page.text
    print("Each request continued from its state. The cursor of the older commit is valid.", flush=True)


def upgrade_data_folder(old: str) -> None:
    """Start the data folder of the older commit with this commit."""
    with data_folder() as folder:
        with commands_of(old):
            first = services.start_service(folder)
            first.wait_until_ready()
            request = accepted(first, group("Stored"))
            first.wait_for_end(request)
            first.stop()
        with commands_of(sys.executable):
            second = services.start_service(folder)
            try:
                second.wait_until_ready()
                assert state_of(second, request) == "succeeded"
                second.wait_for_end(accepted(second, group("After the upgrade")))
            finally:
                second.stop()
    print("A data folder of the older commit starts, and its keys and secrets are valid.", flush=True)


def group(name: str, template: str = GROUP_TEMPLATE) -> dict[str, object]:
    """Return the body of a group request."""
    return {"displayName": f"Upgrade {name}", "templateId": template}


def accepted(service: Service, body: dict[str, object]) -> str:
    """Send a group request, and return its id."""
    answer = service.post_group(body)
    assert answer.status_code == 202, answer.text
    request: str = answer.json()["requestId"]
    return request


def act(service: Service, request: str, action: str, who: str) -> None:
    """Approve, reject, cancel or retry a request."""
    url = f"{service.url}/requests/v1/{request}/{action}/"
    answer = httpx2.post(url, json={}, headers=service.headers(who), timeout=30, verify=TLS)
    assert answer.status_code == 200, answer.text


def state_of(service: Service, request: str) -> str:
    """Return the state of a request."""
    return str(service.request(request)["state"])


def wait_for(service: Service, request: str, state: str, within: float = 60) -> None:
    """Wait until a request is in a state."""
    wait_until(lambda: state_of(service, request) == state, within, lambda: f"{state}: {service.request(request)}")


def with_environment(outside: Outside, more: dict[str, str]) -> Outside:
    """Return the same database for processes with more settings."""
    return replace(outside, environment={**outside.environment, **more})


def as_owner(outside: Outside, statement: str, *values: object) -> None:
    """Change a row as the owner of the tables."""
    look_up(outside.addresses.owner, statement, *values)


def migrate(outside: Outside, *options: str) -> str:
    """Run the migrations of this commit, and return the output."""
    done = run_command("migrate", *options, "--data-dir", str(outside.folder), environment=outside.environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def run_for(load: Load, seconds: float) -> None:
    """Let the load run, and fail early if a call was refused."""
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > end or load.refused, within=seconds + 30)
    assert not load.refused, load.refused[-3:]


def wait_until_idle(before: list[Service]) -> None:
    """Wait until calls that are under way have been answered."""
    end = time.monotonic() + 2
    wait_until(lambda: time.monotonic() > end, within=10, otherwise=before[0].said)


def stop_all(processes: list[Process]) -> None:
    """Stop processes as an operator does."""
    for each in processes:
        assert each.stop() == 0, each.said()


if __name__ == "__main__":
    sys.exit(main())
