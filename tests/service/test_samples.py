# SPDX-License-Identifier: Apache-2.0
"""The samples of the API pages run against the sample data, in all three languages."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from chamberlain.http.samples import samples_of
from tests.docs.pages import ROOT
from tests.services import ADA_MAIL, API, Service, running_service

pytestmark = pytest.mark.heavy

# They may run three times, and need no id of an earlier call but those of `variables`.
NAMES = (
    "readMe",
    "createGroup",
    "listOfferedGroupTemplates",
    "readOfferedGroupTemplate",
    "readOfferedMailboxTemplate",
    "listMailboxes",
    "findPeople",
    "listRequests",
    "readRequest",
    "watchRequest",
    "readMailboxTemplate",
    "createCollabTemplate",
    "readCollabTemplate",
    "listManagedGroups",
    "readManagedGroup",
    "assignToGroup",
    "assignToSite",
    "listPolicies",
    "createPolicy",
    "simulatePolicy",
    "listFindings",
    "checkDrift",
    "createAdoption",
    "createRelease",
    "listEvents",
    "listAudit",
    "readFigures",
    "reportPermissions",
)
LANGUAGES = ("curl", "Command line", "Python")


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running_service() as running:
        yield running


@pytest.fixture(scope="module")
def variables(service: Service) -> Mapping[str, str]:
    """The environment of a reader who got a token and requested a group."""
    token = service.token(ADA_MAIL, f"{API}/.default")
    body = {"displayName": "Meadow", "templateId": "7e000000-0000-4000-8000-000000000011"}
    headers = {"authorization": f"Bearer {token}"}
    accepted = httpx2.post(service.groups_url, json=body, headers=headers, timeout=30).json()
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "CHAMBERLAIN_SERVER": service.url,
        "CHAMBERLAIN_TOKEN": token,
        "TOKEN": token,
        "REQUEST_ID": accepted["requestId"],
    }


@pytest.fixture(scope="module")
def samples(service: Service) -> Mapping[str, Mapping[str, str]]:
    # A JSON document whose shape is that of OpenAPI.
    paths: Any = httpx2.get(f"{service.url}/openapi.json").json()["paths"]
    return {
        operation["operationId"]: samples_of({**operation, "responses": {}}, method, path, service.url)
        for path, item in paths.items()
        for method, operation in item.items()
    }


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_it_works(
    samples: Mapping[str, Mapping[str, str]], variables: Mapping[str, str], name: str, language: str
) -> None:
    sample = samples[name][language]
    # Without this option, curl succeeds with any answer.
    script = sample.replace("curl ", "curl --fail-with-body -sS ", 1)

    command = [sys.executable, "-c", sample] if language == "Python" else ["bash", "-c", script]
    done = subprocess.run(command, env=dict(variables), capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 0, f"{sample}\n{done.stdout}{done.stderr}"


def test_all_python_samples_have_the_right_types(samples: Mapping[str, Mapping[str, str]], tmp_path: Path) -> None:
    for name, texts in samples.items():
        if "Python" in texts:
            (tmp_path / f"{name}.py").write_text(f"{texts['Python']}\n", encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )

    assert done.returncode == 0, done.stdout
