# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

import pytest

from chamberlain.app.cli import COMMANDS

# Modules that only API processes and workers need.
OF_THE_SERVICE = (
    "chamberlain.app.routes",
    "chamberlain.auth.verifier",
    "chamberlain.embedded.identity",
    "chamberlain.http.pipeline",
    "chamberlain.queue.worker",
    "chamberlain_client",
    "httpx2",
    "starlette",
    "uvicorn",
)


@pytest.mark.parametrize("command", ["jobs", "retention", "tenants"])
def test_it_works_without_the_service(command: str) -> None:
    """A command that is about the database alone starts in half of the time when it imports no more than that."""
    program = f"import sys, chamberlain.app.commands.{command}; print(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert [name for name in done.stdout.split() if name in OF_THE_SERVICE] == []


def test_help_imports_no_group_of_commands() -> None:
    program = "import sys, chamberlain.app.cli; print(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    loaded = set(done.stdout.split())
    assert not loaded & {*OF_THE_SERVICE, *(module for _, module, _ in COMMANDS.values()), "chamberlain.settings"}
