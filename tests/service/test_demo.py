# SPDX-License-Identifier: Apache-2.0
"""`chamberlain demo`: it fills the sample tenant once, refuses others, and brings the sample back."""

import asyncio
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import connected
from tests.services import ADA_MAIL, API, COLLAB, GRAPH, GROUP_TEMPLATE, Service, restarted_service, run_command

pytestmark = pytest.mark.heavy

CONFIG = f"{API}/admin/Config.ReadWrite.All {COLLAB} {API}/mail/App.ReadWrite.All"
ESTATE = "e57a7e00-0000-4000-8000-000000000001"
# The demo takes less than 10 seconds on two quiet cores.
SECONDS_ON_A_BUSY_MACHINE = 60
TEMPLATES, FINDINGS = "/admin/collab/v1/templates/", "/admin/v1/findings/"
REQUESTS, MAILBOXES, DELIVERIES = "/requests/v1/", "/mail/v1/mailboxes/", "/admin/v1/deliveries/"
LISTS = (TEMPLATES, FINDINGS, REQUESTS, MAILBOXES, DELIVERIES)


@pytest.fixture
def service() -> Iterator[Service]:
    """One of its own, since its tenant is filled and deleted."""
    with restarted_service() as running:
        yield running


def demo(service: Service, *options: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    where = ("--port", str(service.port), "--data-dir", str(service.data_dir))
    return run_command("demo", *options, *where, typed=typed, within=120)


def items(service: Service, path: str) -> list[dict[str, Any]]:
    answer = service.get(f"{path}?limit=200", ADA_MAIL, CONFIG)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


def counts(service: Service) -> Mapping[str, int]:
    """Count the objects of the lists, and the people of the directory, by the API."""
    listed = {path: len(items(service, path)) for path in LISTS}
    people = service.get("/graph/v1.0/users?$top=999&$select=id", ADA_MAIL, f"{GRAPH}/User.Read.All").json()["value"]
    return {**listed, "people": len(people)}


def test_it_works_once_and_brings_the_sample_back(service: Service) -> None:
    first = counts(service)

    done = demo(service)

    # By the API: what the tables of the demo order is there.
    assert done.returncode == 0, done.stderr
    seconds = re.search(r"Filled in ([\d.]+) s", done.stderr)
    assert seconds is not None
    assert float(seconds[1]) < SECONDS_ON_A_BUSY_MACHINE
    assert [line.split()[1] for line in done.stdout.splitlines()[:3]] == [
        "ben@estate.example",
        "dara@estate.example",
        "ada@estate.example",
    ]
    assert str(service.data_dir / "example-users.json") in done.stdout
    filled = counts(service)
    requests = Counter((each["kind"], each["state"]) for each in items(service, REQUESTS))
    assert filled["people"] - first["people"] == 200 + 15 + filled[MAILBOXES]
    assert filled[MAILBOXES] == 39
    assert filled[TEMPLATES] - first[TEMPLATES] == 2
    assert requests["team", "pendingApproval"] == 11
    assert requests["team", "rejected"] == requests["team", "cancelled"] == 1
    assert not [state for _, state in requests if state in {"failed", "queued", "running", "waiting"}]
    findings = Counter(each["kind"] for each in items(service, FINDINGS))
    assert findings["drift"] == 5
    assert findings["guestAgainstRule"] > 0
    assert all(each["attempts"] and each["state"] == "pending" for each in items(service, DELIVERIES))
    assert filled[DELIVERIES] == 6
    decidable = service.get(f"{REQUESTS}?toDecide=true", "dara@estate.example").json()["items"]
    assert len(decidable) == 6
    days = {each["day"] for each in service.get("/admin/v1/figures/", ADA_MAIL, CONFIG).json()["days"]}
    assert len(days) > 15

    again = demo(service)
    # As after an interruption: the mark of the end is missing.
    (service.data_dir / "demo.done").unlink()
    completed = demo(service)

    assert (again.returncode, completed.returncode) == (0, 0), completed.stderr
    assert counts(service) == filled

    # The demo has a group of this name, too.
    service.post_group({"displayName": "Onboarding", "templateId": GROUP_TEMPLATE})
    refused = demo(service, "--reset", typed="n\n")
    assert refused.returncode == 1
    assert counts(service)[REQUESTS] == filled[REQUESTS] + 1
    reset = demo(service, "--reset", "--yes")

    service.tokens.clear()
    assert reset.returncode == 0, reset.stderr
    assert counts(service) == first
    assert demo(service, "--reset").returncode == 0


def test_it_decides_nothing_about_a_request_with_a_name_of_the_demo(service: Service) -> None:
    service.post_group({"displayName": "Onboarding", "templateId": GROUP_TEMPLATE})

    done = demo(service)

    assert done.returncode == 1
    assert "Onboarding" in done.stderr
    assert [each["displayName"] for each in items(service, REQUESTS)] == ["Onboarding"]


def test_it_refuses_people_and_tenants_who_are_not_of_the_sample(service: Service) -> None:
    file = service.data_dir / "more.yaml"
    add_person(
        service,
        "INSERT INTO directory.users SELECT tenant_id, gen_random_uuid(), display_name, 'a@b.example', "
        "null, user_type, true, null, properties FROM directory.users WHERE id::text LIKE 'ada%'",
    )
    person = demo(service)
    file.write_text(f"tenants: [{{id: {ESTATE.replace('e57a', 'abcd')}, name: Firm, domains: [firm.example]}}]\n")
    service_run(service, "apply", str(file))
    tenant, reset = demo(service), demo(service, "--reset", "--yes")

    assert (person.returncode, tenant.returncode, reset.returncode) == (1, 1, 1)
    assert "users" in person.stderr
    assert "Firm" in tenant.stderr


def test_it_refuses_an_external_database(tmp_path: Path) -> None:
    address = "postgresql://chamberlain:x@127.0.0.1:1/chamberlain"
    environment = {"CHAMBERLAIN_DATABASE_URL": address, "CHAMBERLAIN_DATABASE_WORKER_URL": address}

    done = run_command("demo", "--data-dir", str(tmp_path), environment=environment)

    assert done.returncode == 1
    assert "embedded database" in done.stderr


def test_it_says_that_no_service_runs(tmp_path: Path) -> None:
    done = run_command("demo", "--data-dir", str(tmp_path))

    assert done.returncode == 1
    assert str(tmp_path) in done.stderr


def add_person(service: Service, statement: str) -> None:
    async def execute() -> None:
        async with connected(service.embedded_addresses.worker) as connection:
            await connection.execute(statement)

    asyncio.run(execute())


def service_run(service: Service, *arguments: str) -> None:
    done = run_command(*arguments, "--data-dir", str(service.data_dir))
    assert done.returncode == 0, done.stderr
