"""A program that reads nothing but the OpenAPI document tries everything that it allows, and what it does not allow."""

import subprocess
from pathlib import Path

import pytest

from tests.services import COLLAB, running_service

PROGRAM = Path(__file__).parents[2] / ".venv-clients" / "bin" / "schemathesis"
SECONDS = 120


@pytest.mark.heavy
@pytest.mark.timeout(3 * SECONDS)
def test_it_works_without_a_surprise(tmp_path: Path) -> None:
    with running_service() as service:
        token = service.token("ada@estate.example", COLLAB)
        command = [
            str(PROGRAM),
            "run",
            f"{service.url}/openapi.json",
            f"--header=Authorization: Bearer {token}",
            "--checks=all",
            # A template, user or label that nobody knows is well-formed, and refused all the same.
            "--exclude-checks=positive_data_acceptance",
            "--seed=20261120",
            f"--max-time={SECONDS}",
            "--max-examples=200",
            "--no-color",
        ]
        # What it remembers goes where the test's own files are.
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=2.5 * SECONDS)

        assert done.returncode == 0, done.stdout + done.stderr
        assert '"level":"error"' not in service.said()
        assert service.answers("/health/ready") == 200
