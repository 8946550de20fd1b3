# SPDX-License-Identifier: Apache-2.0
"""A backup that is taken beside the running service and put back elsewhere has everything, and goes on working."""

import gzip
import io
import os
import shutil
import signal
import stat
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chamberlain.app.backup import Head, folder_beside, write_backup
from chamberlain.embedded.postgres import AlreadyRunning, forget
from chamberlain.embedded.postgres.folder import Folder, hold
from tests.folders import data_folder
from tests.services import (
    API,
    CLEO_MAIL,
    GROUP_TEMPLATE,
    ZOE_MAIL,
    Service,
    restarted_service,
    run_command,
    start_process,
    start_service,
    wait_until,
)

pytestmark = pytest.mark.heavy

CONFIG = f"{API}/admin/Config.ReadWrite.All"
APPLIED = "chamberlain/0001_chamberlain.pre.sql"


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """One of its own, since a backup shows all that others have put there."""
    with restarted_service() as running:
        yield running


def ask(service: Service, name: str) -> str:
    answer = service.post_group({"displayName": name, "templateId": GROUP_TEMPLATE})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["requestId"])


def test_it_works(service: Service) -> None:
    with data_folder() as place:
        # One group is there before, others are asked for while the backup is taken, and one behind it.
        before = ask(service, "Before")
        service.wait_for_end(before)
        service.token(ZOE_MAIL, CONFIG)
        backup, new = place / "backup", place / "new"
        with ThreadPoolExecutor(1) as beside:
            writing = beside.submit(lambda: [ask(service, f"Meanwhile {number}") for number in range(40)])
            taken = run_command("backup", str(backup), "--data-dir", str(service.data_dir))
            meanwhile = writing.result()
        after = ask(service, "After")
        service.wait_for_end(after)
        restored = run_command("restore", str(backup), "--data-dir", str(new))
        without_keys = restored.stdout
        shutil.copy(service.data_dir / "keys", new / "keys")
        other = start_service(new)
        try:
            other.wait_until_ready()
            verified = run_command("audit", "verify", "--data-dir", str(new))
            fresh = ask(other, "Fresh")
            other.wait_for_end(fresh)

            assert (taken.returncode, taken.stderr) == (0, "")
            assert stat.S_IMODE(backup.stat().st_mode) == 0o600
            assert f"of {service.data_dir / 'keys'}. Keep a copy" in taken.stdout
            assert (restored.returncode, restored.stderr) == (0, "")
            assert f"{new / 'keys'} lacks k" in without_keys
            assert other.find_group(before)[0]["displayName"] == "Before"
            assert other.find_group(fresh)[0]["displayName"] == "Fresh"
            # Requests of the meantime are there up to some request, each with its outcome.
            found = [other.get(f"/requests/v1/{each}/").status_code == 200 for each in meanwhile]
            assert found == sorted(found, reverse=True)
            for request_id in meanwhile[: found.count(True)]:
                other.wait_for_end(request_id)
            assert other.get(f"/requests/v1/{after}/").status_code == 404
            # Tenants see themselves alone, as before.
            assert other.get(f"/requests/v1/{before}/", ZOE_MAIL).status_code == 404
            assert other.get(f"/requests/v1/{before}/", CLEO_MAIL).status_code == 404
            assert (verified.returncode, verified.stderr) == (0, "")
        finally:
            other.stop()


def test_it_rejects_a_file_that_is_there_and_a_folder_that_has_a_database(service: Service, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    backup.write_text("mine")

    taken = run_command("backup", str(backup), "--data-dir", str(service.data_dir))
    restored = run_command("restore", str(backup), "--data-dir", str(service.data_dir))

    assert (taken.returncode, taken.stdout) == (1, "")
    assert "Name a new file" in taken.stderr
    assert (restored.returncode, restored.stdout) == (1, "")
    assert "There is a database in" in restored.stderr
    assert backup.read_text() == "mine"


def test_it_rejects_what_does_not_fit_and_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    def fails(head: Head, name: str) -> str:
        write(tmp_path / name, head)
        done = run_command("restore", str(tmp_path / name), "--data-dir", str(tmp_path / "new"))
        assert (done.returncode, done.stdout) == (1, "")
        assert not (tmp_path / "new").exists()
        return done.stderr

    assert "was made by a newer version" in fails(head(migrations=(APPLIED, "chamberlain/9999_later.pre.sql")), "newer")
    assert "was made by PostgreSQL 17" in fails(head(postgres=17), "other")
    (tmp_path / "cut").write_bytes((tmp_path / "newer").read_bytes()[:1000])
    cut = run_command("restore", str(tmp_path / "cut"), "--data-dir", str(tmp_path / "new"))
    assert "is not a whole backup" in cut.stderr
    assert not (tmp_path / "new").exists()


def test_it_handles_a_database_that_does_not_start() -> None:
    with data_folder() as place:
        write(place / "empty", head())

        done = run_command("restore", str(place / "empty"), "--data-dir", str(place / "new"))

        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert not (place / "new" / "postgres" / "data").exists()


def test_one_that_is_killed_leaves_nothing_that_counts(service: Service) -> None:
    with data_folder() as place:
        backup, data = place / "backup", place / "new" / "postgres" / "data"
        take = ("backup", str(backup), "--data-dir", str(service.data_dir))
        put = ("restore", str(backup), "--data-dir", str(place / "new"))

        taking = start_process(*take, log=place / "log")
        wait_until(lambda: list(place.glob(".backup.*")), 30, taking.said)
        taking.kill()
        assert not backup.exists()
        assert run_command(*take).returncode == 0

        putting = start_process(*put, log=place / "log")
        wait_until(data.with_name("data.unfinished").exists, 30, putting.said)
        putting.kill()
        again = run_command(*put)
        # It may just have come to its end.
        assert again.returncode == 0 or "There is a database in" in again.stderr
        assert (data / "PG_VERSION").exists()


def test_one_that_is_interrupted_leaves_nothing_and_can_be_run_again(service: Service) -> None:
    with data_folder() as place:
        backup, data = place / "backup", place / "new" / "postgres" / "data"
        assert run_command("backup", str(backup), "--data-dir", str(service.data_dir)).returncode == 0

        for moment in (data.with_name("data.unfinished"), data):
            putting = start_process("restore", str(backup), "--data-dir", str(place / "new"), log=place / "log")
            wait_until(moment.exists, 30, putting.said)
            putting.process.send_signal(signal.SIGINT)

            assert putting.process.wait(timeout=30) != 0
            assert not data.exists()


async def test_it_handles_a_service_that_has_taken_the_folder_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    lock = hold(Folder(tmp_path))
    try:
        with pytest.raises(AlreadyRunning):
            await forget(tmp_path)
        assert (tmp_path / "data").exists()
    finally:
        os.close(lock)

    await forget(tmp_path)

    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_it_rejects_an_outside_database(command: str, tmp_path: Path) -> None:
    address = "postgresql://chamberlain_worker@127.0.0.1:9/chamberlain"
    environment = {"CHAMBERLAIN_DATABASE_URL": address, "CHAMBERLAIN_DATABASE_WORKER_URL": address}

    done = run_command(command, str(tmp_path / "file"), "--data-dir", str(tmp_path / "new"), environment=environment)

    assert done.returncode == 1
    assert "This is for the embedded database" in done.stderr
    assert list(tmp_path.iterdir()) == []


def head(postgres: int = 18, migrations: tuple[str, ...] = (APPLIED,)) -> Head:
    return Head(taken_at="2026-11-20T09:30:00Z", service="9.9", postgres=postgres, migrations=migrations, keys=())


def write(path: Path, head: Head) -> None:
    """A backup with nothing in it but the number of a version."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        member = tarfile.TarInfo("PG_VERSION")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"18\n"))
        folder = tarfile.TarInfo("pg_wal")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
    with folder_beside(path) as parts:
        for name in ("base.tar.gz", "pg_wal.tar.gz"):
            (parts / name).write_bytes(gzip.compress(content.getvalue()))
        write_backup(path, head, [parts / "base.tar.gz", parts / "pg_wal.tar.gz"])
