# SPDX-License-Identifier: Apache-2.0
"""A running service for tests: real processes of the real command, on free ports, with data folders of their own.

`running_service` is what one command starts: one process with the embedded database; `restarted_service` is the same on
its second start, which takes half as long. `outside_database` is a PostgreSQL of its own, for as many API processes and
workers as a test starts beside each other.
"""

import asyncio
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from secrets import randbelow
from typing import TypeVar

import httpx2

from chamberlain.embedded import postgres
from chamberlain.embedded.postgres.roles import addresses_in
from tests.folders import copy_folder, data_folder, lasting_folder
from tests.microsoft365.recorder import record
from tests.postgres import connected, named_programs

API = "https://api.estate.example"
GRAPH = "https://graph.estate.example"
COLLAB = f"{API}/collab/App.ReadWrite.All"
ADA = "ada00000-0000-4000-8000-000000000001"
BEN = "be000000-0000-4000-8000-000000000002"
CLEO = "c1e00000-0000-4000-8000-000000000003"
ADA_MAIL, CLEO_MAIL, ZOE_MAIL = "ada@estate.example", "cleo@estate.example", "zoe@other.example"
GROUP_TEMPLATE = "7e000000-0000-4000-8000-000000000011"
TEAM_TEMPLATE = "7e000000-0000-4000-8000-000000000012"
APPROVED_TEMPLATE = "7e000000-0000-4000-8000-000000000013"
DYNAMIC_TEMPLATE = "7e000000-0000-4000-8000-000000000014"

# Printed lines without a code.
WORKER_RUNNING = "The worker is running."
NOT_CONFIRMED = "Nothing was changed. Use --yes to skip this question.\n"
NO_CHANGES = "Nothing to do.\n"

# Proofs compare with an older tree by the Python of its environment.
COMMAND = (os.environ.get("CHAMBERLAIN_TEST_PYTHON", sys.executable), "-m", "chamberlain")
READY_WITHIN = 60.0
# Made once: it takes longer to make than most calls take, and nothing here is called with TLS.
TLS = ssl.create_default_context()
# A stop may take ten seconds; a busy machine takes a little more.
STOPPED_WITHIN = 20.0
# Below the ports that the system assigns: it may assign one of these to another process while its server is down for a
# moment, which then cannot start again.
FIRST_PORT, PAIRS_OF_PORTS = 10_240, 11_000

Met = TypeVar("Met")


def wait_until(met: Callable[[], Met], within: float, otherwise: Callable[[], str] = str) -> Met:
    """The first answer that is not nothing; after so many seconds without one the test has failed."""
    end = time.monotonic() + within
    while not (answer := met()):
        assert time.monotonic() < end, f"Not within {within} s. {otherwise()}"
        time.sleep(0.01)
    return answer


@dataclass(slots=True)
class Process:
    """One process of ours. `log` is where what it says goes."""

    process: subprocess.Popen[bytes]
    log: Path

    def stop(self) -> int:
        """Ask it to end, as an operator does; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=STOPPED_WITHIN)

    def kill(self) -> None:
        """End it as a power cut does."""
        self.process.kill()
        self.process.wait(timeout=STOPPED_WITHIN)

    def pause(self) -> None:
        """Stop the process with SIGSTOP. Its open calls to other servers go on there."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def said(self) -> str:
        return self.log.read_text()


def graph_permissions(scope: str) -> frozenset[str] | None:
    """The directory permissions of a scope; None for `.default`, which the client decides."""
    _, found, name = scope.partition(f"{GRAPH}/")
    return frozenset({name}) if found and name != ".default" else None


@dataclass(slots=True)
class Service(Process):
    """A process that answers. `environment` is what was added to ours."""

    port: int
    data_dir: Path
    environment: Mapping[str, str]
    tokens: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def groups_url(self) -> str:
        return f"{self.url}/collab/v1/groups/"

    def token(self, who: str, scope: str) -> str:
        """A token as a script gets it that asks where the command line asks, and needs no process for that."""
        if (who, scope) not in self.tokens:
            chosen = {"user": who} if "@" in who else {"client": who}
            answer = httpx2.post(
                f"https://localhost:{self.port + 1}/identity/local/token",
                json={**chosen, "scope": scope},
                headers={"Local-Secret": (self.data_dir / "local.secret").read_text(encoding="utf-8").strip()},
                verify=ssl.create_default_context(cafile=self.data_dir / "ca.pem"),
                trust_env=False,
                timeout=30,
            )
            assert answer.status_code == 200, answer.text
            self.tokens[who, scope] = answer.json()["access_token"]
        return self.tokens[who, scope]

    def run(self, *arguments: str) -> str:
        """The output of a command for this service."""
        options = ("--port", str(self.port), "--data-dir", str(self.data_dir))
        done = run_command(*arguments, *options, environment=self.environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def headers(self, who: str = ADA_MAIL, scope: str = COLLAB) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token(who, scope)}"}

    def post_group(self, body: Mapping[str, object], who: str = ADA_MAIL, **headers: str) -> httpx2.Response:
        return httpx2.post(self.groups_url, json=body, headers={**self.headers(who), **headers}, timeout=30, verify=TLS)

    def get(self, path: str, who: str = ADA_MAIL, scope: str = COLLAB) -> httpx2.Response:
        answer = httpx2.get(f"{self.url}{path}", headers=self.headers(who, scope), timeout=30, verify=TLS)
        return record(answer, graph_permissions(scope))

    def graph(self, path: str, who: str = ADA_MAIL) -> httpx2.Response:
        """The answer of the directory below /v1.0."""
        return self.get(f"/graph/v1.0{path}", who, f"{GRAPH}/Group.Read.All")

    def find_group(self, request_id: str, who: str = ADA_MAIL) -> list[dict[str, object]]:
        """The groups of the directory with a request's id."""
        answer = self.graph(f"/groups?$filter=chamberlain_group/requestId eq '{request_id}'", who)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, object]] = answer.json()["value"]
        return found

    def request(self, request_id: str, who: str = ADA_MAIL) -> dict[str, object]:
        """A request, as the API shows it."""
        answer = self.get(f"/requests/v1/{request_id}/", who)
        assert answer.status_code == 200, answer.text
        found: dict[str, object] = answer.json()
        return found

    def provisioned(self, who: str = ADA_MAIL) -> Counter[str]:
        """Count the groups in the directory by request id."""
        found: Counter[str] = Counter()
        page = f"{self.url}/graph/v1.0/groups?$top=999&$select=id,chamberlain_group"
        while page:
            answer = record(
                httpx2.get(page, headers=self.headers(who, f"{GRAPH}/Group.Read.All"), timeout=30, verify=TLS)
            )
            assert answer.status_code == 200, answer.text
            marks = (group.get("chamberlain_group") for group in answer.json()["value"])
            # A group that was not made by a request can have a guest template.
            found.update(mark["requestId"] for mark in marks if mark and "requestId" in mark)
            page = answer.json().get("@odata.nextLink", "")
        return found

    def answers(self, path: str) -> int:
        """The status of a path, 0 without an answer."""
        try:
            return httpx2.get(f"{self.url}{path}", timeout=5, verify=TLS).status_code
        except httpx2.TransportError:
            return 0

    def wait_until_ready(self, within: float = READY_WITHIN) -> None:
        """Wait for /health/ready, or say what the process said."""
        wait_until(lambda: self.answers("/health/ready") == 200 or self.process.poll() is not None, within, self.said)
        assert self.process.poll() is None, self.said()

    def wait_for_group(self, request_id: str, within: float = 10.0, who: str = ADA_MAIL) -> dict[str, object]:
        """The group of a request, as soon as the directory shows it."""
        return wait_until(lambda: self.find_group(request_id, who), within, self.said)[0]

    def wait_for_end(self, request_id: str, within: float = 10.0) -> dict[str, object]:
        """A request, as soon as it has succeeded. Its group is in the directory a little before."""
        wait_until(lambda: self.request(request_id)["state"] == "succeeded", within, self.said)
        return self.request(request_id)

    @property
    def embedded_addresses(self) -> postgres.Addresses:
        """The addresses of the embedded database, as its operator has them."""
        return addresses_in(self.data_dir / "postgres" / "data", "chamberlain")


@dataclass(frozen=True, slots=True)
class Installation:
    """The API processes of one database: one, or several, of which `one` is not `other`."""

    one: Service
    other: Service


@dataclass(slots=True)
class Outside:
    """An outside PostgreSQL with schema and example estate, and the processes that were started on it."""

    addresses: postgres.Addresses
    folder: Path
    environment: Mapping[str, str]
    started: ExitStack
    numbers: Iterator[int] = field(default_factory=count)

    def start_service(self, *options: str) -> Service:
        """One more process that answers; it is ready after `wait_until_ready`."""
        service = start_service(self._data_dir(), options=options, environment=self.environment)
        self.started.callback(service.kill)
        return service

    def ready_service(self, *options: str) -> Service:
        """One more process that answers, and does so already."""
        service = self.start_service(*options)
        service.wait_until_ready()
        return service

    def start_worker(self) -> Process:
        """One more process that is a worker without an API."""
        data_dir = self._data_dir()
        worker = start_process(
            "worker", "--data-dir", str(data_dir), log=data_dir / "log", environment=self.environment
        )
        self.started.callback(worker.kill)
        return worker

    def value(self, statement: str, *values: object) -> object:
        """One value, looked up as the worker's role."""
        return look_up(self.addresses.worker, statement, *values)

    def _data_dir(self) -> Path:
        path = self.folder / f"process-{next(self.numbers)}"
        path.mkdir()
        return path


def look_up(address: str, statement: str, *values: object) -> object:
    """One value from a database."""

    async def fetch() -> object:
        async with connected(address) as connection:
            return await connection.fetchval(statement, *values)

    return asyncio.run(fetch())


def free_port() -> int:
    """A port that is free, and the one behind it as well."""
    while True:
        port = FIRST_PORT + 2 * randbelow(PAIRS_OF_PORTS)
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
        return port


def run_command(
    *arguments: str, environment: Mapping[str, str] | None = None, within: float = 60, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; `typed` is what it finds on standard input."""
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=within,
        input=typed,
        env={**os.environ, **(environment or {})},
    )


def start_process(
    *arguments: str, log: Path, environment: Mapping[str, str] | None = None, before: Sequence[str] = ()
) -> Process:
    """Start a command that runs until it is ended; `before` are words in front of it, such as those of setpriv."""
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [*before, *COMMAND, *arguments],
            stdout=stream,
            stderr=stream,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )
    return Process(process, log)


def start_service(
    data_dir: Path,
    *,
    port: int | None = None,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
) -> Service:
    """Start a process; it is ready after `wait_until_ready`."""
    port = port or free_port()
    where = ("--port", str(port), "--data-dir", str(data_dir))
    log = data_dir / f"log-{port}.txt"
    started = start_process("serve", *where, *options, log=log, environment=environment, before=before)
    return Service(started.process, started.log, port, data_dir, environment or {})


@contextmanager
def running_service(*, options: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Iterator[Service]:
    """A service with the example estate, for as long as the block runs. It was never started before."""
    with data_folder() as folder, _running_in(folder, options, environment) as service:
        yield service


@contextmanager
def restarted_service(
    *, options: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> Iterator[Service]:
    """The same for tests that do not care for its first start: it was started and stopped before."""
    with data_folder() as folder:
        copy_folder(started_once(), folder)
        with _running_in(folder, options, environment) as service:
            yield service


@contextmanager
def outside_database(programs: Path | None = None) -> Iterator[Outside]:
    """A PostgreSQL that no service started, filled as an operator fills it. Processes on it end with the block."""
    with data_folder() as folder:
        copy_folder(_filled_once(programs), folder)
        with running_server(folder / "postgres", programs) as server, ExitStack() as started:
            yield Outside(server.addresses, folder, _pointed_at(server.addresses, folder), started)


@contextmanager
def filled(addresses: postgres.Addresses, folder: Path) -> Iterator[Outside]:
    """Schema and example estate in an empty database. Processes on it end with the block."""
    environment = _pointed_at(addresses, folder)
    done = run_command("migrate", "--example", "--data-dir", str(folder), environment=environment)
    assert done.returncode == 0, done.stderr
    with ExitStack() as started:
        yield Outside(addresses, folder, environment, started)


@contextmanager
def _running_in(folder: Path, options: Sequence[str], environment: Mapping[str, str] | None) -> Iterator[Service]:
    service = start_service(folder, options=options, environment=environment)
    try:
        service.wait_until_ready()
        yield service
    finally:
        service.stop()


def _pointed_at(addresses: postgres.Addresses, folder: Path) -> Mapping[str, str]:
    return {
        "CHAMBERLAIN_DATABASE_URL": addresses.application,
        "CHAMBERLAIN_DATABASE_WORKER_URL": addresses.worker,
        "CHAMBERLAIN_DATABASE_OWNER_URL": addresses.owner,
        # Every process must decrypt the secrets of the others.
        "CHAMBERLAIN_KEYS_FILE": str(folder / "keys"),
    }


@contextmanager
def running_server(folder: Path, programs: Path | None) -> Iterator[postgres.Server]:
    server = asyncio.run(postgres.start(folder, programs=programs or named_programs(), run_as=None))
    try:
        yield server
    finally:
        asyncio.run(server.stop())


@cache
def _filled_once(programs: Path | None) -> Path:
    """A folder with such a database as `filled` leaves one."""
    folder = lasting_folder()
    with running_server(folder / "postgres", programs) as server, filled(server.addresses, folder):
        pass
    return folder


@cache
def started_once() -> Path:
    """A folder as a first start leaves it."""
    folder = lasting_folder()
    with _running_in(folder, (), None) as service:
        pass
    service.log.unlink()
    return folder
