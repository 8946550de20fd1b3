# SPDX-License-Identifier: Apache-2.0
"""The vendor's Graph SDK knows every property that the fake Microsoft 365 answers, and calls it over a socket."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chamberlain.directory.microsoft365.operations import OPERATIONS
from tests.clients.runs import PROGRAMS, PYTHON, WITHIN, Said
from tests.microsoft365.fake.routes import ROUTES
from tests.microsoft365.fake.sample import sample_fake
from tests.microsoft365.fake.server import serving
from tests.microsoft365.graph_client import token
from tests.microsoft365.recording_transport import ANSWERS

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
# Operations whose successful answers have no body.
WITHOUT_BODY = {each for each in ROUTES if each.startswith("DELETE ") or each.endswith("/$ref")} | {
    "PATCH /groups/{group-id}",
    "PATCH /groups/{group-id}/settings/{groupSetting-id}",
    "PATCH /schemaExtensions/{schemaExtension-id}",
    "PATCH /users/{user-id}",
}


def said_by(program: str, **environment: str) -> Said:
    command = [str(PYTHON), str(PROGRAMS / f"{program}.py")]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=WITHIN, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_works(tmp_path: Path) -> None:
    """All answers in the ordinary tests of the fake and of the adapter."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not heavy", "-p", "no:cacheprovider", "tests/microsoft365"]
    tests = subprocess.run(
        command, env={**os.environ, ANSWERS: str(tmp_path)}, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert tests.returncode == 0, tests.stdout

    said = said_by("graph_answers", ANSWERS=str(tmp_path))

    assert said["unknown"] == {}
    assert {*said["operations"]} == {*ROUTES} - WITHOUT_BODY
    # Every answer that the adapter reads is one of them.
    assert {each.name for each in OPERATIONS} <= {*ROUTES}


def test_over_a_socket() -> None:
    """The paths are those of the SDK, which has its own list of them."""
    fake = sample_fake()
    with serving(fake) as url:
        said = said_by("graph_fake", GRAPH_URL=url, TOKEN=token(fake))

    assert said == {"unknown": {}, "refused": {}}
