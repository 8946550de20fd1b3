# SPDX-License-Identifier: Apache-2.0
"""Held jobs of a running service: seen and released at the command line, and over HTTP."""

import asyncio
from pathlib import Path

import httpx2
import pytest

from chamberlain.core.outages import Outage
from tests.postgres import connected
from tests.service.estate import ESTATE
from tests.services import ADA_MAIL, API, APPROVED_TEMPLATE, Service, run_command, wait_until

pytestmark = pytest.mark.heavy

CONFIG = f"{API}/admin/Config.ReadWrite.All"
HOLD = """
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, held_reason)
VALUES ($1, 'groupProvision', gen_random_uuid(), $2, $3) RETURNING subject::text
"""


def hold(service: Service, reason: str) -> str:
    """A held job; gives the request that it is about, which has been removed meanwhile."""

    async def insert() -> str:
        async with connected(service.embedded_addresses.worker) as connection:
            return str(await connection.fetchval(HOLD, ESTATE, "0" * 32, reason))

    return asyncio.run(insert())


def listed(service: Service) -> list[str]:
    """The lines of the command, beside the running service."""
    done = run_command("jobs", "list", "--data-dir", str(service.data_dir), environment=service.environment)
    assert (done.returncode, done.stderr) in {(0, ""), (0, "There are no held jobs.\n")}
    return done.stdout.splitlines()


def release(service: Service, job_id: str) -> tuple[int, str, str]:
    done = run_command("jobs", "release", job_id, "--data-dir", str(service.data_dir), environment=service.environment)
    return done.returncode, done.stdout, done.stderr


def test_it_works(service: Service) -> None:
    request_id = hold(service, "A bug: KeyError.")

    (line,) = [line for line in listed(service) if request_id in line]
    job_id = line.split()[0]
    code, said, _ = release(service, job_id)

    assert line.split("\t")[2] == "A bug: KeyError."
    assert code == 0
    assert said.startswith(job_id)
    assert said.endswith(": released\n")
    wait_until(lambda: listed(service) == [], 10)
    again = release(service, job_id)
    assert again == (1, "", "There is no such job that is held.\n")


def test_an_administrator_does_the_same_over_http(service: Service) -> None:
    request_id = hold(service, "A bug over HTTP.")

    items = service.get("/admin/v1/jobs/", ADA_MAIL, CONFIG).json()["items"]
    (job,) = [item for item in items if item["requestId"] == request_id]
    answer = httpx2.post(f"{service.url}/admin/v1/jobs/{job['id']}/release/", headers=service.headers(ADA_MAIL, CONFIG))

    assert job["heldReason"] == "A bug over HTTP."
    assert (answer.status_code, answer.json()["id"], answer.json()["heldReason"]) == (200, job["id"], None)


def test_who_is_no_administrator_is_reported_that_whatever_the_id_looks_like(service: Service) -> None:
    headers = service.headers("cleo@estate.example", CONFIG)

    answer = httpx2.post(f"{service.url}/admin/v1/jobs/xyz/release/", headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (403, "notAdministrator")


@pytest.mark.parametrize(
    ("job_id", "exit_code"), [("1", 4), ("x", 4), (APPROVED_TEMPLATE, 1), ("00000000-0000-8000-8000-00000000FFFF", 1)]
)
def test_it_rejects_what_is_no_held_job(service: Service, job_id: str, exit_code: int) -> None:
    code, said, told = release(service, job_id)

    assert (code, said) == (exit_code, "")
    assert "no" in told
    assert told.endswith(".\n")
    assert "Traceback" not in told


@pytest.mark.parametrize("arguments", [("list",), ("release", "00000000-0000-8000-8000-000000000001")])
def test_it_rejects_to_look_where_nothing_runs(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run_command("jobs", *arguments, "--data-dir", str(tmp_path))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(Outage.REFUSED.seen)
    assert len(done.stderr.splitlines()) == 1
