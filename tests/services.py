"""A running service for tests: a real process of the real command, on free ports, with a data folder of its own."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

API = "https://api.estate.example"
GRAPH = "https://graph.estate.example"
ADA = "ada00000-0000-4000-8000-000000000001"
BEN = "be000000-0000-4000-8000-000000000002"
CLEO = "c1e00000-0000-4000-8000-000000000003"
GROUP_TEMPLATE = "7e000000-0000-4000-8000-000000000011"
TEAM_TEMPLATE = "7e000000-0000-4000-8000-000000000012"
APPROVED_TEMPLATE = "7e000000-0000-4000-8000-000000000013"
DYNAMIC_TEMPLATE = "7e000000-0000-4000-8000-000000000014"

COMMAND = (sys.executable, "-m", "chamberlain")
READY_WITHIN = 20.0


@dataclass(slots=True)
class Service:
    """One process. `environment` is what was added to ours; `log` is where its standard error goes."""

    port: int
    data_dir: Path
    process: subprocess.Popen[bytes]
    log: Path
    environment: Mapping[str, str]
    tokens: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def token(self, who: str, scope: str) -> str:
        """A token as a script gets it: by the command line."""
        if (who, scope) not in self.tokens:
            chosen = ("--user", who) if "@" in who else ("--client", who)
            self.tokens[who, scope] = self.run("token", *chosen, "--scope", scope).strip()
        return self.tokens[who, scope]

    def run(self, *arguments: str) -> str:
        """What a command prints that is pointed at this service."""
        options = ("--port", str(self.port), "--data-dir", str(self.data_dir))
        done = subprocess.run(
            [*COMMAND, *arguments, *options],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, **self.environment},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def headers(
        self, who: str = "ada@estate.example", scope: str = f"{API}/collab/App.ReadWrite.All"
    ) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token(who, scope)}"}

    def post_group(self, body: Mapping[str, object], **headers: str) -> httpx2.Response:
        return httpx2.post(f"{self.url}/collab/v1/groups/", json=body, headers={**self.headers(), **headers})

    def find_group(self, request_id: str, who: str = "ada@estate.example") -> list[dict[str, object]]:
        """What the directory shows under a request's id."""
        answer = httpx2.get(
            f"{self.url}/graph/v1.0/groups",
            params={"$filter": f"chamberlain_group/requestId eq '{request_id}'"},
            headers=self.headers(who, f"{GRAPH}/Group.Read.All"),
        )
        assert answer.status_code == 200, answer.text
        found: list[dict[str, object]] = answer.json()["value"]
        return found

    def wait_until_ready(self, within: float = READY_WITHIN) -> None:
        """Wait for /health/ready, or say what the process said."""
        end = time.monotonic() + within
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if httpx2.get(f"{self.url}/health/ready", timeout=2).status_code == 200:
                    return
            except httpx2.TransportError:
                time.sleep(0.02)
        raise AssertionError(f"The service is not ready: {self.log.read_text()}")

    def wait_for_group(self, request_id: str, within: float = 10.0) -> dict[str, object]:
        """The group of a request, as soon as the directory shows it."""
        end = time.monotonic() + within
        while time.monotonic() < end:
            if found := self.find_group(request_id):
                return found[0]
            time.sleep(0.01)
        raise AssertionError(f"No group of request {request_id} within {within} s: {self.log.read_text()}")

    def stop(self) -> int:
        """Ask it to end, as an operator does; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=20)

    def kill(self) -> None:
        """End it as a power cut does."""
        self.process.kill()
        self.process.wait(timeout=20)


def free_port() -> int:
    """A port that is free, and the one behind it as well."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


@contextmanager
def data_folder() -> Iterator[Path]:
    """A folder with a short path, since a socket will be in it."""
    with tempfile.TemporaryDirectory(prefix="ch-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if os.geteuid() == 0:
            folder.chmod(0o711)
        yield folder


def start_service(
    data_dir: Path,
    *,
    port: int | None = None,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Service:
    """Start a process; it is ready after `wait_until_ready`."""
    port = port or free_port()
    log = data_dir / f"log-{port}.txt"
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--port", str(port), "--data-dir", str(data_dir), *options],
            stdout=stream,
            stderr=stream,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )
    return Service(port, data_dir, process, log, environment or {})


@contextmanager
def running_service(*, options: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> Iterator[Service]:
    """A service with the example estate, for as long as the block runs."""
    with data_folder() as folder:
        service = start_service(folder, options=options, environment=environment)
        try:
            service.wait_until_ready()
            yield service
        finally:
            service.stop()
