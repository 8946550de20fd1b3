# SPDX-License-Identifier: Apache-2.0
"""`python3 dev.py run --suite`, as a visitor uses it: web mail in a browser, and a Matrix client."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from deploy.suite.folder import opened
from deploy.suite.processes import is_running
from deploy.suite.servers import PARTS
from tests.chromium import run_chromium
from tests.services import ADA, STOPPED_WITHIN, TEAM_TEMPLATE, Service, free_port, wait_until
from tests.suite.mail_client import MailClient
from tests.suite.matrix_client import MatrixClient
from tests.suite.suite_folders import ROOT, SYNAPSE, suite_folder
from tests.suite.suite_requests import SHARED, SuiteRequests

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(400)]

# A first start of both on a busy machine.
STARTED_WITHIN = 150.0


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for a suite of its own, and for the data of the service."""
    with suite_folder() as found:
        yield found


@contextmanager
def visited(folder: Path, port: int) -> Iterator[Service]:
    """Start both as `dev.py run --suite` does, until the welcome; the end of the block is Ctrl-C."""
    data_dir, log = folder / "service", folder / "welcome"
    data_dir.mkdir(exist_ok=True)
    command = (sys.executable, "-m", "deploy.suite", "run", "--synapse", SYNAPSE, "--folder", folder)
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--data-dir", data_dir],
            cwd=ROOT,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
    service = Service(process, log, port, data_dir, {})
    try:
        wait_until(lambda: "suite stop" in service.said() or process.poll() is not None, STARTED_WITHIN, service.said)
        assert process.poll() is None, service.said()
        yield service
    finally:
        # A terminal interrupts all of its processes.
        os.killpg(process.pid, signal.SIGINT)
        process.wait(timeout=STOPPED_WITHIN)


def sign_in(page: Page, address: str, name: str) -> None:
    """Sign in to web mail."""
    page.goto(address)
    page.get_by_role("textbox", name="Username").fill(name)
    page.locator("input[type=password]").fill(f"{name}-secret")
    page.locator("button[type=submit]").click()
    page.wait_for_url(f"**/so/{name}/**")


def test_it_works_for_a_visitor(folder: Path) -> None:
    with visited(folder, port := free_port()) as service:
        suite = opened(folder)
        requests = SuiteRequests(service, suite)
        mailbox = requests.mailbox(SHARED, "Desk", permissions={ADA: "FullAccess"})
        team = requests.group(TEAM_TEMPLATE, "Crew")
        MailClient(suite).receive("vera@outside.example", mailbox["primarySmtpAddress"], "An order")
        [web_mail] = re.findall(r"http://\S+/SOGo/", service.said())

        with run_chromium() as browser:
            page = browser.new_page()
            sign_in(page, web_mail, "ada")
            page.goto(f"{web_mail}so/ada/Mail/view")
            page.locator("md-list-item").filter(has_text="Other Users").get_by_role("checkbox").first.click()
            page.locator("p.sg-item-name").filter(has_text="Desk").click()
            expect(page.get_by_text("An order").first).to_be_visible(timeout=30_000)
        ada = MatrixClient.sign_in(suite, "ada")
        space = ada.rooms()
    with visited(folder, port) as service:
        again = SuiteRequests(service, suite).read_mailbox(mailbox["id"])

    assert suite.url("MATRIX") in service.said()
    assert team["id"]
    assert len(space) == 3
    assert again["provisioningState"] == "active"
    assert all(is_running(suite, part) for part in PARTS)
