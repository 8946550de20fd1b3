"""A program that reads nothing but the OpenAPI document tries everything that it allows, and what it does not allow."""

import subprocess
from pathlib import Path

import pytest

from tests.services import API, COLLAB, running_service

# Everything that a user may be given, so that every endpoint is really reached.
EVERYTHING = f"{COLLAB} {API}/mail/App.ReadWrite.All {API}/admin/Config.ReadWrite.All"
PROGRAM = Path(__file__).parents[2] / ".venv-clients" / "bin" / "schemathesis"


@pytest.mark.heavy
@pytest.mark.alone
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "phases",
    [
        # Every bound of every schema once: as many cases as there are.
        pytest.param(("Examples", "Coverage"), id="bounds"),
        # Cases by chance, and chains of calls along the links of the document: as many as fit into the time.
        pytest.param(("Fuzzing", "Stateful"), id="chance"),
    ],
)
def test_it_works_without_a_surprise(tmp_path: Path, phases: tuple[str, ...]) -> None:
    with running_service() as service:
        command = [
            str(PROGRAM),
            "run",
            f"{service.url}/openapi.json",
            f"--header=Authorization: Bearer {service.token('ada@estate.example', EVERYTHING)}",
            f"--phases={','.join(phases).lower()}",
            "--checks=all",
            # An unknown template, user or label is well-formed, and refused all the same.
            "--exclude-checks=positive_data_acceptance",
            "--seed=20261123",
            "--max-examples=200",
            "--no-color",
            *(["--max-time=60"] if "Fuzzing" in phases else []),
        ]
        # Its cache goes to the folder of the test.
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=500)

        assert done.returncode == 0, done.stdout + done.stderr
        assert all(f"✅ {phase}\n" in done.stdout for phase in phases), done.stdout
        assert '"level":"error"' not in service.said()
        # By chance it has created objects; requests at the bounds may all be refused or be dry runs.
        made = ("/requests/v1/?kind=team", "/requests/v1/?kind=room", "/mail/v1/mailboxes/")
        for path in made if "Stateful" in phases else ():
            assert service.get(path, scope=EVERYTHING).json()["items"], path
        assert service.answers("/health/ready") == 200
