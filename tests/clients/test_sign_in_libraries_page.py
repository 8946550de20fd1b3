# SPDX-License-Identifier: Apache-2.0
"""The programs of the page about sign-in libraries do what it says, word for word."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.chromium import open_browser_user
from tests.clients.runs import PYTHON, WITHIN
from tests.docs.pages import ROOT
from tests.services import Service

pytestmark = pytest.mark.heavy

PAGE = ROOT / "docs" / "how-to" / "sign-in-libraries.md"


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@contextmanager
def running(service: Service, code: str) -> Iterator[subprocess.Popen[str]]:
    """A program of the page, against this service in place of the usual address."""
    code = code.replace("8365", str(service.port)).replace("8366", str(service.port + 1))
    environment = {**os.environ, "REQUESTS_CA_BUNDLE": str(service.data_dir / "ca.pem")}
    with subprocess.Popen([str(PYTHON), "-c", code], stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def printed(service: Service, code: str) -> str:
    with running(service, code) as process:
        return process.communicate(timeout=WITHIN)[0]


def test_it_works_for_a_program_without_a_person(service: Service) -> None:
    program, _, _ = blocks()

    assert 3500 < int(printed(service, program)) <= 3600


@pytest.mark.needs("chromium")
def test_it_works_for_a_person(service: Service) -> None:
    _, person_s, _ = blocks()

    with running(service, person_s) as process:
        assert process.stdout is not None
        message = process.stdout.readline()
        found = re.search(r"(https://\S+).*\b([A-Z]{4}-[A-Z]{4})\b", message)
        assert found is not None, message
        with open_browser_user(service.data_dir) as browser_user:
            browser_user.allow(*found.groups())
        name, scope = process.communicate(timeout=WITHIN)[0].splitlines()

    assert name == "Ada Achterberg"
    assert "https://graph.estate.example/Group.Read.All" in scope.split()


def test_it_works_for_the_directory(service: Service) -> None:
    _, _, directory = blocks()

    assert "All staff ['Ada Achterberg']" in printed(service, directory).splitlines()
