# SPDX-License-Identifier: Apache-2.0
"""The disk of the database is full under load: callers get a retryable error, and work goes on when there is room."""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import httpx2
import pytest

from bench.killing.power import powered_service
from chamberlain.core.outages import Outage
from tests.faults.load import Load
from tests.folders import data_folder
from tests.services import GROUP_TEMPLATE, TLS, WORKER_RUNNING, Service, filled, run_command, running_server, wait_until

# A new database, its log and some hundred groups; little enough to be filled at once.
SIZE = "256m"
REFUSALS = 40
# An embedded database with the first segments of its log, and the room that is left to the load.
SMALL_MEGABYTES, LEFT = 320, 24 << 20


@pytest.mark.heavy
@pytest.mark.needs("root")
@pytest.mark.timeout(240)
def test_it_goes_on_when_there_is_room() -> None:
    with (
        data_folder() as folder,
        small_disk(folder / "disk") as disk,
        running_server(disk / "postgres", None) as server,
        filled(server.addresses, folder) as outside,
        ThreadPoolExecutor(max_workers=1) as beside,
    ):
        service, worker = outside.ready_service("--no-worker"), outside.start_worker()
        wait_until(lambda: WORKER_RUNNING in worker.said(), within=20)
        load = Load([service])
        service.headers()
        finished = Event()
        loading = beside.submit(load.run, 1_000_000, finished.is_set)
        try:
            wait_until(lambda: len(load.accepted) >= 100, within=30)

            fill(disk / "ballast")
            wait_until(lambda: len(load.refused) >= REFUSALS, within=60)
            assert service.answers("/health/live") == 200
            # Some calls meet the full disk, and some the restart of PostgreSQL that it causes.
            wait_until(lambda: _writes_fail_for_want_of_room(service), within=30, otherwise=service.said)
            assert '"reasonCode":"diskFull"' in service.said()
            (disk / "ballast").unlink()

            # The first answers may still be of the time before; what is asked for now is not.
            wait_until(
                lambda: service.post_group({"displayName": "Room", "templateId": GROUP_TEMPLATE}).status_code == 202,
                within=30,
                otherwise=service.said,
            )
        finally:
            (disk / "ballast").unlink(missing_ok=True)
            finished.set()
        loading.result(timeout=60)

        acknowledged = Counter(load.accepted)
        wait_until(lambda: acknowledged <= service.provisioned(), within=60, otherwise=worker.said)
        assert set(service.provisioned().values()) == {1}
        assert {refusal[:2] for refusal in load.refused} == {(503, "databaseUnavailable")}
        assert all(retry_after is not None and int(retry_after) >= 1 for _, _, retry_after in load.refused)
        assert load.unanswered == 0
        assert service.answers("/health/ready") == 200
        assert (worker.stop(), service.stop()) == (0, 0)


@pytest.mark.heavy
@pytest.mark.needs("root")
@pytest.mark.needs("loop")
@pytest.mark.timeout(420)
def test_an_embedded_database_fills_its_disk_under_load_and_goes_on_when_there_is_room() -> None:
    with powered_service(megabytes=SMALL_MEGABYTES) as powered, ThreadPoolExecutor(max_workers=1) as beside:
        service, disk = powered.service, powered.disk.place
        load = Load([service])
        service.headers()
        fill(disk / "ballast", leave=LEFT)
        finished = Event()
        loading = beside.submit(load.run, 1_000_000, finished.is_set)
        try:
            # The load itself takes the rest of the room.
            wait_until(lambda: _writes_fail_for_want_of_room(service), within=120, otherwise=service.said)
            assert service.answers("/health/live") == 200
            assert '"reasonCode":"diskFull"' in service.said()
            doctor = run_command("doctor", "--port", str(service.port), "--data-dir", str(service.data_dir))
            assert (doctor.returncode, Outage.DISK_FULL.seen in doctor.stdout) == (1, True), doctor.stdout
            (disk / "ballast").unlink()
            wait_until(
                lambda: service.post_group({"displayName": "Room", "templateId": GROUP_TEMPLATE}).status_code == 202,
                # The recovery of PostgreSQL syncs its folder, which takes minutes on a busy disk.
                within=180,
                otherwise=service.said,
            )
        finally:
            (disk / "ballast").unlink(missing_ok=True)
            finished.set()
        loading.result(timeout=60)

        acknowledged = Counter(load.accepted)
        wait_until(lambda: acknowledged <= service.provisioned(), within=90, otherwise=service.said)
        assert set(service.provisioned().values()) == {1}
        assert {refusal[:2] for refusal in load.refused} == {(503, "databaseUnavailable")}
        assert load.unanswered == 0
        wait_until(lambda: not _failed_checks(service), within=30, otherwise=service.said)


def _failed_checks(service: Service) -> set[str]:
    checks = httpx2.get(f"{service.url}/health/ready", verify=TLS).json()["checks"]
    return {check["reasonCode"] for check in checks if not check["passed"]}


def _writes_fail_for_want_of_room(service: Service) -> bool:
    answer = service.post_group({"displayName": "Full", "templateId": GROUP_TEMPLATE})
    return answer.json().get("detail", "").startswith(Outage.DISK_FULL.seen) and _failed_checks(service) == {"diskFull"}


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of its own, in memory, for as long as the block runs."""
    place.mkdir(mode=0o711)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0711", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(ballast: Path, leave: int = 0) -> None:
    """Take all room but so many bytes."""
    if leave:
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(ballast.parent).free - leave)
        return
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
