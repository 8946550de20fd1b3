import subprocess
import sys

import pytest

# What only those processes need that answer calls or work on the queue.
OF_THE_SERVICE = (
    "chamberlain.api",
    "chamberlain.bearer",
    "chamberlain.embedded.identity",
    "chamberlain.worker",
    "chamberlain_client",
    "httpx2",
    "starlette",
    "uvicorn",
)


@pytest.mark.parametrize("command", ["audit", "erase", "jobs", "tenants"])
def test_it_works_without_the_service(command: str) -> None:
    """A command that is about the database alone starts in half of the time when it imports no more than that."""
    program = f"import sys, chamberlain.cli.{command}; print(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert [name for name in done.stdout.split() if name in OF_THE_SERVICE] == []
