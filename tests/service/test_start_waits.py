# SPDX-License-Identifier: Apache-2.0
"""A process that starts before its database waits for it, and ends at once where waiting does not help."""

import time
from collections.abc import Iterator

import pytest

from chamberlain.core.outages import Outage
from chamberlain.embedded.postgres.roles import addresses_in
from tests.faults.postgres_process import running_postgres_process
from tests.folders import data_folder
from tests.services import (
    WORKER_RUNNING,
    Outside,
    filled,
    free_port,
    outside_database,
    run_command,
    start_process,
    wait_until,
)

pytestmark = pytest.mark.heavy

WAITS = "The start waits for the database."
# Nothing listens there.
NOWHERE = "postgresql://role:hidden@127.0.0.1:1/chamberlain"
AWAY = {"CHAMBERLAIN_DATABASE_URL": NOWHERE, "CHAMBERLAIN_DATABASE_WORKER_URL": NOWHERE}


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    with outside_database() as outside:
        yield outside


def test_api_and_worker_start_when_the_database_is_there() -> None:
    with (
        data_folder() as folder,
        running_postgres_process(folder / "postgres") as database,
        filled(addresses_in(folder / "postgres" / "data", "chamberlain"), folder) as outside,
    ):
        database.kill()
        service, worker = outside.start_service("--no-worker"), outside.start_worker()
        wait_until(lambda: WAITS in service.said(), within=20, otherwise=service.said)
        wait_until(lambda: WAITS in worker.said(), within=20, otherwise=worker.said)
        assert '"reasonCode":"connectionRefused"' in service.said()

        database.start()

        service.wait_until_ready()
        wait_until(lambda: WORKER_RUNNING in worker.said(), within=20, otherwise=worker.said)
        assert (worker.stop(), service.stop()) == (0, 0)


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_sigterm_ends_a_process_that_waits_at_once(command: str) -> None:
    with data_folder() as folder:
        options = ("--data-dir", str(folder), *_ports(command))
        process = start_process(command, *options, log=folder / "log", environment=AWAY)
        try:
            wait_until(lambda: WAITS in process.said(), within=20, otherwise=process.said)
            begin = time.monotonic()
            assert process.stop() == 0
            assert time.monotonic() - begin < 3
            assert "Traceback" not in process.said()
            assert "hidden" not in process.said()
        finally:
            process.kill()


@pytest.mark.parametrize("command", ["serve", "worker"])
@pytest.mark.parametrize(
    ("part", "other", "outage"),
    [
        ("chamberlain_application@", "nobody@", Outage.SIGN_IN),
        ("/chamberlain?", "/absent?", Outage.MISSING),
    ],
)
def test_it_ends_at_once_where_waiting_does_not_help(
    outside: Outside, command: str, part: str, other: str, outage: Outage
) -> None:
    address = outside.addresses.application
    assert part in address
    environment = {**outside.environment, "CHAMBERLAIN_DATABASE_URL": address.replace(part, other)}

    with data_folder() as folder:
        done = run_command(command, "--data-dir", str(folder), *_ports(command), environment=environment, within=30)

    assert done.returncode == 1
    assert outage.seen in done.stderr
    assert "CHAMBERLAIN_DATABASE_URL" in done.stderr
    assert WAITS not in done.stderr


def test_a_worker_role_that_is_refused_ends_the_start_too(outside: Outside) -> None:
    address = outside.addresses.worker.replace("chamberlain_worker@", "nobody@")
    environment = {**outside.environment, "CHAMBERLAIN_DATABASE_WORKER_URL": address}

    with data_folder() as folder:
        done = run_command("worker", "--data-dir", str(folder), environment=environment, within=30)

    assert (done.returncode, WAITS in done.stderr) == (1, False)
    assert "CHAMBERLAIN_DATABASE_WORKER_URL" in done.stderr


def test_it_gives_up_after_the_time_that_is_set() -> None:
    environment = {**AWAY, "CHAMBERLAIN_DATABASE_START_TIMEOUT": "1"}

    with data_folder() as folder:
        begin = time.monotonic()
        done = run_command("worker", "--data-dir", str(folder), environment=environment, within=30)

    assert done.returncode == 1
    assert time.monotonic() - begin >= 1
    assert WAITS in done.stderr
    assert Outage.REFUSED.seen in done.stderr


def _ports(command: str) -> tuple[str, ...]:
    return ("--port", str(free_port())) if command == "serve" else ()
