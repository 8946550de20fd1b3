# SPDX-License-Identifier: Apache-2.0
"""The page examples/webhook/README.md, block by block, with the receiver as a program beside the service."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.docs.commands import printed_in
from tests.docs.homes import as_user, new_project, service_of_user, variables
from tests.docs.pages import ROOT, shell_blocks
from tests.services import Service, free_port, wait_until

pytestmark = pytest.mark.heavy

PAGE = ROOT / "examples" / "webhook" / "README.md"
ALLOWED = {"CHAMBERLAIN_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8", "CHAMBERLAIN_WEBHOOK_ALLOW_HTTP": "true"}
PYTHON = 'export PATH="$PWD/.venv/bin:$PATH"\n'


@contextmanager
def receiving(service: Service, project: Path, block: str) -> Iterator[Path]:
    """Run the block that starts the receiver, and yield the file of its output."""
    printed = project / "printed"
    with printed.open("wb") as stream:
        process = subprocess.Popen(
            [*as_user(), "bash", "-c", f"{PYTHON}{block.replace('python examples', 'exec python examples')}"],
            cwd=project,
            env=variables(service),
            stdout=stream,
            stderr=stream,
        )
    try:
        yield printed
    finally:
        process.terminate()
        process.wait(timeout=20)


def test_it_works() -> None:
    port = str(free_port())
    start, create, receive, send = (block.replace("9000", port) for block in shell_blocks(PAGE))

    with service_of_user(ALLOWED) as service:
        project = new_project(service)
        printed_in(project, service, create)
        with receiving(service, project, receive) as printed:
            wait_until(lambda: listens(int(port)), 20, printed.read_text)
            printed_in(project, service, send)
            received = printed.read_text(encoding="utf-8")

    assert received == "webhook.test None\n"
    assert [name for name, value in ALLOWED.items() if f"{name}={value}" not in start] == []


def listens(port: int) -> bool:
    """Check whether a server listens at a port of this machine."""
    return f":{port:04X} 00000000:0000 0A" in Path("/proc/net/tcp").read_text(encoding="utf-8")
