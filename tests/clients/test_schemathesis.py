# SPDX-License-Identifier: Apache-2.0
"""A program that reads nothing but the OpenAPI document tries everything that it allows, and what it does not allow."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.services import API, COLLAB, GROUP_TEMPLATE, Service, running_service

# Everything that a user may be given, so that every endpoint is really reached.
EVERYTHING = f"{COLLAB} {API}/mail/App.ReadWrite.All {API}/admin/Config.ReadWrite.All"
ROOM_TEMPLATE = "7e000000-0000-4000-8000-000000000003"
# Seconds. The bounds of all schemas take minutes, and longer on a busy machine.
HANGS_AFTER = 1500
PROGRAM = Path(__file__).parents[2] / ".venv-clients" / "bin" / "schemathesis"


@pytest.mark.heavy
@pytest.mark.alone
@pytest.mark.timeout(HANGS_AFTER + 100)
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
        options = ["--max-time=60"] if "Fuzzing" in phases else []
        run_phases(service, tmp_path, phases, *options)

        # By chance it has created objects, of any kind; requests at the bounds may all be refused or be dry runs.
        if "Stateful" in phases:
            assert service.get("/requests/v1/", scope=EVERYTHING).json()["items"]
        assert service.answers("/health/ready") == 200


@pytest.mark.heavy
@pytest.mark.alone
@pytest.mark.timeout(HANGS_AFTER + 100)
def test_texts_of_all_scripts_come_back_as_they_were_sent(tmp_path: Path) -> None:
    compared = tmp_path / "compared"
    hooks = {
        "SCHEMATHESIS_HOOKS": str(PROGRAM.parents[2] / "tests" / "clients" / "programs" / "unusual_texts.py"),
        "GROUP_TEMPLATE": GROUP_TEMPLATE,
        "ROOM_TEMPLATE": ROOM_TEMPLATE,
        "COMPARED": str(compared),
    }
    with running_service() as service:
        # The hooks make some bodies invalid that were generated as valid ones, never the reverse.
        options = ("--mode=positive", "--warnings=off")
        # Among all operations, a slow machine may not reach these two in time.
        made = ("--include-operation-id=createGroup", "--include-operation-id=createMailbox", "--max-examples=50")
        run_phases(service, tmp_path, ("Fuzzing",), *options, *made, hooks=hooks)
        run_phases(service, tmp_path, ("Fuzzing", "Stateful"), *options, "--max-time=45", hooks=hooks)

        texts = set(compared.read_text(encoding="utf-8").splitlines())
        assert len(texts) > 20
        # The requests of released objects are gone, so these are not counted in the list of requests.
        assert {"/collab/v1/groups/", "/mail/v1/mailboxes/"} <= {text.split(" ")[0] for text in texts}
        assert service.answers("/health/ready") == 200


def run_phases(
    service: Service, folder: Path, phases: tuple[str, ...], *options: str, hooks: Mapping[str, str] | None = None
) -> None:
    """Run phases of Schemathesis, all of which must pass. Its cache goes to the folder."""
    command = [
        str(PROGRAM),
        "run",
        f"{service.url}/openapi.json",
        f"--header=Authorization: Bearer {service.token('ada@estate.example', EVERYTHING)}",
        f"--phases={','.join(phases).lower()}",
        "--checks=all",
        # An unknown template, user or label is well-formed, and refused all the same.
        "--exclude-checks=positive_data_acceptance",
        # This stream ends with its token.
        "--exclude-operation-id=streamEvents",
        "--seed=20261123",
        "--max-examples=200",
        "--no-color",
        *options,
    ]
    environment = {**os.environ, **(hooks or {})}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, timeout=HANGS_AFTER, env=environment
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"✅ {phase}\n" in done.stdout for phase in phases), done.stdout
    assert '"level":"error"' not in service.said()
