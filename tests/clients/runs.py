# SPDX-License-Identifier: Apache-2.0
"""Programs written with the vendor's libraries, run as their authors run them; each prints a line of JSON at a time."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.service.estate import ESTATE
from tests.services import TLS, Service

# The JSON that a program prints; its types are under test.
Said = Any

PYTHON = Path(__file__).parents[2] / ".venv-clients" / "bin" / "python"
PROGRAMS = Path(__file__).parent / "programs"
CLI = "c11e0000-0000-4000-8000-000000000001"
AUTOMATION = "c11e0000-0000-4000-8000-000000000002"
# Libraries poll every five seconds, and import for some.
WITHIN = 90


@dataclass(frozen=True, slots=True)
class Run:
    """A program under way."""

    process: subprocess.Popen[str]

    def says(self) -> Said:
        """The next that it says, or the test has failed with what it said in dying."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        return json.loads(line)


@contextmanager
def running(program: str, service: Service, **more: str) -> Iterator[Run]:
    """A program for as long as the block runs; `more` is added to what it finds in its environment."""
    command = [str(PYTHON), str(PROGRAMS / f"{program}.py")]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **told(service), **more},
    ) as process:
        try:
            yield Run(process)
            assert process.wait(timeout=WITHIN) == 0, process.communicate()[1]
        finally:
            process.kill()


def said_by(program: str, service: Service, **more: str) -> Said:
    """Run a program without a user, and return its output."""
    with running(program, service, **more) as run:
        return run.says()


def get(service: Service, path: str, token: str) -> Said:
    """The service's answer to this token."""
    answer = httpx2.get(f"{service.url}{path}", headers={"authorization": f"Bearer {token}"}, timeout=30, verify=TLS)
    assert answer.status_code == 200, answer.text
    return answer.json()


def told(service: Service) -> Mapping[str, str]:
    """The settings that differ from the vendor's: addresses, ids, a secret, and the trusted certificate."""
    return {
        "AUTHORITY_HOST": f"https://localhost:{service.port + 1}/identity",
        "TENANT_ID": ESTATE,
        "CLIENT_ID": CLI,
        "AUTOMATION_ID": AUTOMATION,
        "AUTOMATION_SECRET": (service.data_dir / "automation.secret").read_text().strip(),
        "GRAPH_URL": f"{service.url}/graph",
        "REQUESTS_CA_BUNDLE": str(service.data_dir / "ca.pem"),
        "BROWSER": f"{PYTHON} {PROGRAMS / 'browser.py'} %s",
    }
