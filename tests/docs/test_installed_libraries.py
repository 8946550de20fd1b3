# SPDX-License-Identifier: Apache-2.0
"""The libraries of pages are installed into virtual environments, as Debian requires, and work there."""

import re

import pytest

from tests.docs.commands import printed_in
from tests.docs.homes import new_project, with_port
from tests.docs.pages import ROOT, fences, shell_blocks
from tests.services import Service

# The installation needs the network.
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]

HOW_TO = ROOT / "docs" / "how-to"


def test_it_works_for_sign_in_libraries(service: Service) -> None:
    page = HOW_TO / "sign-in-libraries.md"
    install, run = shell_blocks(page)
    without_a_person, *_ = [fence.text for fence in fences(page) if fence.language == "python"]
    project = new_project(service)
    (project / "program.py").write_text(with_port(without_a_person, service), encoding="utf-8")

    # In one shell: the variable of the second command does not reach pip, also when the first one is repeated.
    said = printed_in(project, service, install, run, install.splitlines()[-1])

    (seconds,) = re.findall(r"^(\d+)$", said, re.MULTILINE)
    assert 3500 < int(seconds) <= 3600


def test_it_works_for_the_receiver_of_webhooks(service: Service) -> None:
    install = shell_blocks(HOW_TO / "webhooks.md")[2]
    check = 'receiver/bin/python -c "import standardwebhooks.webhooks; print(standardwebhooks.__name__)"'

    assert "standardwebhooks" in printed_in(new_project(service), service, install, check).splitlines()
