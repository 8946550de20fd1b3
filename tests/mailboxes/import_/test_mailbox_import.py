# SPDX-License-Identifier: Apache-2.0
"""`chamberlain mailbox import` against a running service: from the file to the directory, and stopped in between."""

import csv
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from chamberlain.app.cli import app
from tests.cli.shell import Shell
from tests.client.scripted_server import problem, scripted
from tests.mailboxes.mailbox_responses import ACCEPTED
from tests.services import (
    ADA_MAIL,
    API,
    COMMAND,
    Service,
    look_up,
    restarted_service,
    start_service,
    wait_until,
)

pytestmark = pytest.mark.heavy

MAIL = f"{API}/mail/App.ReadWrite.All"


class Ended(NamedTuple):
    """How a command has ended, and what it has said."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class ImportFixture:
    """A folder with a file to import, and its service.

    Names begin with the word of the desk, so that tests do not meet.
    """

    service: Service
    folder: Path
    word: str = field(default_factory=lambda: f"d{uuid4().hex[:8]}")

    @property
    def file(self) -> Path:
        return self.folder / "rooms.csv"

    @property
    def journal(self) -> Path:
        return self.folder / "rooms.csv.journal"

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "CHAMBERLAIN_TOKEN": self.service.token(ADA_MAIL, MAIL),
            "CHAMBERLAIN_CONFIG_DIR": str(self.folder),
            "CHAMBERLAIN_PORT": str(self.service.port),
            "CHAMBERLAIN_DATA_DIR": str(self.service.data_dir),
        }

    def name(self, number: int) -> str:
        return f"{self.word}-{number:04}"

    def write(self, count: int, **columns: str) -> None:
        """A file of rooms, with further columns that are the same for each."""
        head = ",".join(("name", "displayName", "capacity", "officeLocation", *columns))
        more = "".join(f",{cell}" for cell in columns.values())
        rows = (f'{self.name(number)},"Room {number}, {self.word}",4,HQ{more}' for number in range(count))
        self.file.write_text("\n".join((head, *rows)) + "\n")

    def run(self, *options: str, **environment: str) -> Ended:
        """An import to its end, in this process."""
        arguments = ("mailbox", "import", str(self.file), *options)
        done = CliRunner().invoke(app, arguments, env={**self.environment, **environment})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Ended(done.exit_code, done.stdout, done.stderr)

    def start(self) -> subprocess.Popen[bytes]:
        """Begin an import, in a process of its own."""
        return subprocess.Popen(
            [*COMMAND, "mailbox", "import", str(self.file)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **self.environment},
        )

    def killed_after(self, count: int) -> None:
        """An import that is killed when so many rows are on record."""
        process = self.start()
        wait_until(lambda: self.on_record() >= count or process.poll() is not None, 60)
        process.kill()
        process.wait(timeout=10)

    def on_record(self) -> int:
        return self.journal.read_bytes().count(b"\n") if self.journal.exists() else 0

    def report(self) -> list[dict[str, str]]:
        with (self.folder / "rooms.csv.report.csv").open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))

    def outcomes(self) -> Counter[str]:
        return Counter(row["outcome"] for row in self.report())

    def items(self) -> list[dict[str, object]]:
        """The mailboxes of this desk, as the API lists them."""
        found: list[dict[str, object]] = []
        cursor = ""
        while True:
            answer = self.service.get(f"/mail/v1/mailboxes/?limit=200&q={self.word}{cursor}", scope=MAIL)
            assert answer.status_code == 200, answer.text
            found += answer.json()["items"]
            if (following := answer.json()["nextCursor"]) is None:
                return found
            cursor = f"&cursor={following}"

    def names(self) -> Counter[object]:
        return Counter(item["name"] for item in self.items())

    def forget_keys(self) -> None:
        """As seven days do."""
        look_up(self.service.embedded_addresses.worker, "DELETE FROM chamberlain.idempotency_key")


@pytest.fixture
def import_fixture(service: Service, tmp_path: Path) -> ImportFixture:
    return ImportFixture(service, tmp_path)


def test_it_works(import_fixture: ImportFixture) -> None:
    import_fixture.write(3, template="Room", tags="quiet;window")

    first = import_fixture.run("--wait")
    second = import_fixture.run()

    assert (first.returncode, first.stdout) == (0, "")
    assert "3 rows: 3 active." in first.stderr
    assert (second.returncode, second.stdout) == (0, "")
    assert "3 rows: 3 there already." in second.stderr
    assert [(row["line"], row["name"], row["outcome"]) for row in import_fixture.report()] == [
        (str(number + 2), import_fixture.name(number), "present") for number in range(3)
    ]
    assert [item["provisioningState"] for item in import_fixture.items()] == ["active"] * 3
    assert all(item["tags"] == ["quiet", "window"] for item in import_fixture.items())


def test_a_dry_run_shows_the_plan_and_does_nothing(import_fixture: ImportFixture) -> None:
    import_fixture.write(2)

    done = import_fixture.run("--dry-run")
    printed = import_fixture.run("--dry-run", "--json")

    assert done.returncode == 0
    line, name, address, template, approval, steps, _ = done.stdout.splitlines()[0].split("\t")
    assert (line, name, template, approval) == ("2", import_fixture.name(0), "Room", "no")
    assert address == f"{import_fixture.name(0)}@rooms.estate.example"
    assert steps.startswith("createMailbox, ")
    assert "2 rows: 0 requested by an earlier run. 2 rows checked: 0 would be refused, 0 need approval." in done.stderr
    assert [json.loads(each)["name"] for each in printed.stdout.splitlines()] == [
        import_fixture.name(0),
        import_fixture.name(1),
    ]
    assert import_fixture.items() == []
    assert [each.name for each in import_fixture.folder.iterdir()] == ["rooms.csv"]


def test_a_dry_run_tells_what_would_be_refused(import_fixture: ImportFixture) -> None:
    import_fixture.write(1)
    import_fixture.run()
    import_fixture.journal.unlink()
    with import_fixture.file.open("a") as file:
        file.write(f"{import_fixture.word}-shared,Shared,,\n{import_fixture.word}-b,B,1,HQ\n")

    done = import_fixture.run("--dry-run", "--json")

    first, second, third = (json.loads(each)["refused"] for each in done.stdout.splitlines())
    assert done.returncode == 1
    assert "taken" in first or "has this name" in first
    assert second
    assert third == ""


def test_it_rejects_a_file_with_faults_and_sends_nothing(import_fixture: ImportFixture) -> None:
    import_fixture.file.write_text(
        f"name,displayName,hideFromGal,capacity,template\n{import_fixture.name(0)},A,true,x,\n"
    )

    done = import_fixture.run()

    assert (done.returncode, done.stdout) == (1, "")
    assert (
        f"{import_fixture.file}, line 1, hideFromGal: A mailbox has no such property. Did you mean hideFromGAL?"
        in done.stderr
    )
    assert f"{import_fixture.file}, line 2, capacity: 'x' is no whole number." in done.stderr
    assert done.stderr.endswith("Nothing was sent.\n")
    assert import_fixture.items() == []


def test_it_rejects_a_template_that_is_none(import_fixture: ImportFixture) -> None:
    import_fixture.write(1, template="Ballroom")

    unknown, option = import_fixture.run(), import_fixture.run("--template", "Ballroom")

    assert unknown.returncode == 1
    assert "line 2, template: There is no template 'Ballroom'" in unknown.stderr
    assert option.returncode == 2


def test_a_row_that_is_refused_stops_no_other(import_fixture: ImportFixture) -> None:
    import_fixture.file.write_text(
        "name,displayName,capacity,officeLocation,autoMapping\n"
        f"{import_fixture.name(0)},=A,4,HQ,\n{import_fixture.name(1)},B,4,HQ,true\n{import_fixture.name(2)},C,4,HQ,\n"
    )
    first = import_fixture.run()
    # Another row has a name that is taken.
    text = import_fixture.file.read_text()
    import_fixture.file.write_text(text.replace(",C,4,", ",C,5,"))
    second = import_fixture.run()

    assert (first.returncode, second.returncode) == (1, 1)
    assert f"line 3, {import_fixture.name(1)}: refused." in first.stderr
    assert "3 rows: 2 accepted, 1 refused." in first.stderr
    present, refused, conflict = import_fixture.report()
    assert (present["outcome"], refused["outcome"], conflict["outcome"]) == ("present", "refused", "conflict")
    assert refused["detail"].startswith("templateId: The body has properties of the types room, shared:")
    assert conflict["code"] == "nameTaken"
    assert conflict["id"] in {item["id"] for item in import_fixture.items()}
    assert len(import_fixture.items()) == 2


def test_the_report_is_what_one_asks_for(import_fixture: ImportFixture) -> None:
    import_fixture.write(2)

    printed = import_fixture.run("--json")
    written = import_fixture.run("--report", str(import_fixture.folder / "what.ndjson"))

    assert [json.loads(line)["outcome"] for line in printed.stdout.splitlines()] == ["accepted", "accepted"]
    assert not (import_fixture.folder / "rooms.csv.report.csv").exists()
    lines = (import_fixture.folder / "what.ndjson").read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["present", "present"]
    assert written.stdout == ""


@pytest.mark.parametrize("option", ["--report", "--journal"])
def test_it_rejects_to_write_over_the_file(import_fixture: ImportFixture, option: str) -> None:
    import_fixture.write(1)
    before = import_fixture.file.read_bytes()

    done = import_fixture.run(option, str(import_fixture.folder / ".." / import_fixture.folder.name / "rooms.csv"))

    assert done.returncode == 2
    assert "are three files" in done.stderr
    assert import_fixture.file.read_bytes() == before


def test_what_was_killed_goes_on(import_fixture: ImportFixture) -> None:
    import_fixture.write(80)

    import_fixture.killed_after(20)
    before = import_fixture.on_record()
    again = import_fixture.run()

    assert 20 <= before < 80
    assert again.returncode == 0, again.stderr
    assert import_fixture.names() == {import_fixture.name(number): 1 for number in range(80)}
    assert import_fixture.outcomes()["present"] >= before


def test_what_was_killed_goes_on_without_its_journal_and_when_keys_are_forgotten(import_fixture: ImportFixture) -> None:
    import_fixture.write(60)

    import_fixture.killed_after(10)
    import_fixture.journal.unlink()
    import_fixture.killed_after(20)
    import_fixture.journal.unlink()
    import_fixture.forget_keys()
    last = import_fixture.run()

    assert last.returncode == 0, last.stderr
    assert set(import_fixture.outcomes()) <= {"accepted", "present"}
    assert import_fixture.outcomes()["present"] >= 20
    assert import_fixture.names() == {import_fixture.name(number): 1 for number in range(60)}


def test_ctrl_c_lets_what_is_under_way_end_and_the_same_command_goes_on(import_fixture: ImportFixture) -> None:
    import_fixture.write(200)

    process = import_fixture.start()
    wait_until(lambda: import_fixture.on_record() >= 20 or process.poll() is not None, 60)
    process.send_signal(signal.SIGINT)
    code = process.wait(timeout=60)
    stopped = import_fixture.outcomes()
    done = import_fixture.on_record()
    again = import_fixture.run()

    assert code == 130
    assert stopped["accepted"] == done
    assert stopped["notSent"] == 200 - done > 0
    assert again.returncode == 0, again.stderr
    assert import_fixture.names() == {import_fixture.name(number): 1 for number in range(200)}


@pytest.mark.parametrize("token", ["none", "x.y.z"])
def test_a_token_that_is_refused_ends_it_and_the_same_command_goes_on(
    import_fixture: ImportFixture, token: str
) -> None:
    import_fixture.write(2)

    refused = import_fixture.run(CHAMBERLAIN_TOKEN=token)
    outcomes = import_fixture.outcomes()
    again = import_fixture.run()

    assert refused.returncode == 3
    assert outcomes == {"notSent": 2}
    assert "The same command goes on" in refused.stderr
    assert again.returncode == 0


def test_a_token_that_ends_on_the_way_ends_it_and_another_one_goes_on(import_fixture: ImportFixture) -> None:
    import_fixture.write(40)
    with scripted(*[ACCEPTED] * 10, problem(401, "tokenExpired")) as server:
        ended = import_fixture.run("--server", server.url)
        outcomes = import_fixture.outcomes()
        server.replies[:] = [ACCEPTED]
        server.seen.clear()
        again = import_fixture.run("--server", server.url)

    assert ended.returncode == 3
    assert outcomes == {"accepted": 10, "notSent": 30}
    assert again.returncode == 0
    assert import_fixture.outcomes() == {"present": 10, "accepted": 30}
    assert len({call.headers["idempotency-key"] for call in server.seen}) == len(server.seen) == 30


def test_it_waits_as_long_as_the_service_asks(import_fixture: ImportFixture) -> None:
    import_fixture.write(20)
    with scripted(ACCEPTED, problem(429, "rateExceeded", retry_after="1"), ACCEPTED) as server:
        begin = time.monotonic()
        done = import_fixture.run("--server", server.url)
        took = time.monotonic() - begin

    assert done.returncode == 0, done.stderr
    assert took >= 1
    assert len(server.seen) == 21


def test_it_works_for_somebody_who_is_signed_in(ada: Shell, import_fixture: ImportFixture) -> None:
    import_fixture.write(2)

    done = ada.run("mailbox", "import", str(import_fixture.file))

    assert done.code == 0, done.err
    assert import_fixture.names() == {import_fixture.name(number): 1 for number in range(2)}


def test_it_rejects_who_is_not_signed_in(import_fixture: ImportFixture) -> None:
    import_fixture.write(1)

    done = import_fixture.run(CHAMBERLAIN_TOKEN="")

    assert done.returncode == 3
    assert "chamberlain login" in done.stderr


@pytest.fixture(scope="module")
def import_service() -> Iterator[Service]:
    """A service for what takes a while, and is killed."""
    with restarted_service() as running:
        yield running


@pytest.mark.timeout(600)
def test_five_thousand_rooms_killed_half_way_are_five_thousand_rooms(import_service: Service, tmp_path: Path) -> None:
    import_fixture = ImportFixture(import_service, tmp_path)
    import_fixture.write(5_000)

    import_fixture.killed_after(2_500)
    before = import_fixture.on_record()
    again = import_fixture.run("--wait")

    assert 2_500 <= before < 5_000
    assert again.returncode == 0, again.stderr
    assert "5000 rows: 5000 active." in again.stderr
    assert import_fixture.names() == {import_fixture.name(number): 1 for number in range(5_000)}
    in_directory = look_up(
        import_service.embedded_addresses.worker,
        "SELECT count(DISTINCT name) || ' of ' || count(*) FROM directory.mailboxes WHERE name LIKE $1",
        f"{import_fixture.word}-%",
    )
    assert in_directory == "5000 of 5000"


@pytest.mark.timeout(300)
def test_it_is_killed_three_times_and_loses_its_journal_in_between(import_service: Service, tmp_path: Path) -> None:
    import_fixture = ImportFixture(import_service, tmp_path)
    import_fixture.write(600)

    import_fixture.killed_after(100)
    import_fixture.killed_after(250)
    import_fixture.journal.unlink()
    import_fixture.killed_after(200)
    # A kill that cuts the last line.
    with import_fixture.journal.open("ab") as file:
        file.write(b'{"key":"mailbox-import-')
    last = import_fixture.run()

    assert last.returncode == 0, last.stderr
    assert import_fixture.names() == {import_fixture.name(number): 1 for number in range(600)}


@pytest.mark.timeout(300)
def test_a_service_that_is_killed_and_comes_back_is_waited_for(tmp_path: Path) -> None:
    with restarted_service() as service:
        import_fixture = ImportFixture(service, tmp_path)
        import_fixture.write(400)
        process = import_fixture.start()
        wait_until(lambda: import_fixture.on_record() >= 100 or process.poll() is not None, 60)
        service.kill()
        again = start_service(service.data_dir, port=service.port)
        try:
            again.wait_until_ready()
            code = process.wait(timeout=120)
            again.tokens.update(service.tokens)
            names = ImportFixture(again, tmp_path, import_fixture.word).names()
        finally:
            again.stop()

    assert code == 0
    assert names == {import_fixture.name(number): 1 for number in range(400)}
