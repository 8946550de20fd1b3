# SPDX-License-Identifier: Apache-2.0
"""No file descriptors are left, of the service or of PostgreSQL: the cause is reported, and it recovers by itself."""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import httpx2
import pytest

from chamberlain.database.transactions import connect
from tests.services import GROUP_TEMPLATE, TLS, look_up, restarted_service, wait_until

BODY = {"displayName": "Asked", "templateId": GROUP_TEMPLATE}
CUT = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'chamberlain application'"


@pytest.mark.heavy
def test_a_service_without_descriptors_says_so_and_recovers() -> None:
    with restarted_service(options=("--no-worker",)) as service:
        headers, pid = service.headers(), service.process.pid
        # A caller that is connected already, as a load balancer is: a new connection could not be accepted.
        with httpx2.Client(base_url=service.url, verify=TLS, timeout=30) as client:
            assert client.post("/collab/v1/groups/", json=BODY, headers=headers).status_code == 202

            def refused() -> httpx2.Response | None:
                # The process may connect again before its limit is set, so connections are cut until it cannot.
                look_up(service.embedded_addresses.application, CUT)
                limit_descriptors(pid, first_free(pid))
                answer = client.post("/collab/v1/groups/", json=BODY, headers=headers)
                return answer if "file descriptors" in answer.json().get("detail", "") else None

            answer = wait_until(refused, within=20)
            assert answer is not None
            ready = client.get("/health/ready")
            limit_descriptors(pid, 1024)

            assert (answer.status_code, answer.json()["code"]) == (503, "databaseUnavailable")
            assert (ready.status_code, ready.json()["checks"][0]["reasonCode"]) == (503, "descriptorsExhausted")
            assert '"reasonCode":"descriptorsExhausted"' in service.said()
            assert client.post("/collab/v1/groups/", json=BODY, headers=headers).status_code == 202
            assert client.get("/health/ready").status_code == 200
            # The end of an outage is reported when nothing has failed for ten seconds.
            wait_until(
                lambda: client.get("/health/ready").is_success and "The database can be used again." in service.said(),
                within=20,
            )


@pytest.mark.heavy
def test_an_embedded_postgresql_without_descriptors_is_named_and_recovers() -> None:
    with restarted_service(options=("--no-worker",)) as service, asyncio.Runner() as runner:
        service.headers()
        postmaster = int((service.data_dir / "postgres/data/postmaster.pid").read_text().split()[0])
        # Connected before: PostgreSQL cannot accept a connection without a descriptor.
        connection = runner.run(connect(service.embedded_addresses.application))

        with no_descriptors(postmaster):
            runner.run(connection.execute(CUT))
            answer = service.post_group(BODY)
            ready = httpx2.get(f"{service.url}/health/ready", verify=TLS)

        assert (answer.status_code, answer.json()["code"]) == (503, "databaseUnavailable")
        assert (ready.status_code, ready.json()["checks"][0]["reasonCode"]) == (503, "databaseDescriptorsExhausted")
        wait_until(lambda: service.answers("/health/ready") == 200, within=10)
        assert service.post_group(BODY).status_code == 202
        runner.run(connection.close())


def first_free(pid: int) -> int:
    """The lowest number that is no file descriptor of the process."""
    used = {int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir()}
    return next(number for number in count() if number not in used)


@contextmanager
def no_descriptors(pid: int) -> Iterator[None]:
    """Let a process open no further file for as long as the block runs."""
    limit_descriptors(pid, first_free(pid))
    try:
        yield
    finally:
        limit_descriptors(pid, 1024)


def limit_descriptors(pid: int, number: int) -> None:
    """Set the soft limit. The process's own user may do that; root without every capability may not."""
    owner = Path(f"/proc/{pid}").stat()
    command = ["prlimit", "--pid", str(pid), f"--nofile={number}:"]
    subprocess.run(command, check=True, user=owner.st_uid, group=owner.st_gid, extra_groups=[])
