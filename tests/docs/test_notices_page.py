# SPDX-License-Identifier: Apache-2.0
"""The page about notices matches the service."""

import os
import re
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.app.routes import ENDPOINTS
from chamberlain.app.worker import confirm_address, link_maker, mail_server, review_link_maker
from chamberlain.core.ids import RequestId, TenantId
from chamberlain.guests.policies.report_records import REPORT_DELAY
from chamberlain.guests.policies.reports import MAX_NAMED, POLICY_REPORT
from chamberlain.notifications.models import DRIFT_REPORT, NoticeKind
from chamberlain.notifications.rules import GIVE_UP_AFTER, RETRY_SCHEDULE
from chamberlain.settings import read_settings
from tests.docs.pages import ROOT, named, section

TENANT = UUID("e57a7e00-0000-4000-8000-000000000001")
REQUEST = UUID("0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10")
PAGE = ROOT / "docs" / "how-to" / "notices.md"


def test_it_works_with_the_settings_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("CHAMBERLAIN_")]:
        monkeypatch.delenv(name)
    block, *_ = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.splitlines():
        monkeypatch.setenv(*line.split("=", 1))

    settings = read_settings()
    server = mail_server(settings)

    assert server is not None
    assert (server.address.host, server.address.port, server.address.user) == (
        "mail.estate.example",
        587,
        "chamberlain",
    )
    assert (server.sender.name, server.sender.address) == ("IT of Example Estate", "it@estate.example")
    tenant_id, request_id = TenantId(TENANT), RequestId(REQUEST)
    assert link_maker(settings)(tenant_id, request_id) == f"https://portal.estate.example/requests/{REQUEST}"


def test_it_names_where_a_guest_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAMBERLAIN_BASE_URL", "https://api.estate.example")

    address = confirm_address(read_settings())

    path = address.removeprefix("https://api.estate.example")
    assert f"POST {path}" in section(PAGE, "## Policy reports")
    assert ("POST", path.replace("ID", "{findingId}")) in [(each.method, each.path) for each in ENDPOINTS]


def test_it_names_every_notice_and_no_other() -> None:
    assert named(section(PAGE, "## Recipients")) == [*NoticeKind, POLICY_REPORT, DRIFT_REPORT]


def test_it_names_the_bounds_of_reports() -> None:
    text = " ".join(section(PAGE, "## Policy reports").split())

    assert f"the first {MAX_NAMED} guests" in text
    assert timedelta(minutes=5) == REPORT_DELAY
    assert "for five minutes at most" in text


def test_it_names_every_wait() -> None:
    text = " ".join(section(PAGE, "## When the mail server is away").split())
    *seconds, short, medium, long, one, two, four = [int(wait.total_seconds()) for wait in RETRY_SCHEDULE]

    said = (
        f"after {seconds[0]} and {seconds[1]} seconds, {short // 60}, {medium // 60} and {long // 60} minutes, "
        f"{one // 3600}, {two // 3600} and {four // 3600} hours, and every {four // 3600} hours"
    )
    assert said in text
    assert f"After {GIVE_UP_AFTER.days} days it gives up" in text


def test_without_a_portal_mails_link_to_the_console(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAMBERLAIN_CONSOLE_URL", "https://console.estate.example")
    settings = read_settings()
    tenant_id, request_id = TenantId(TENANT), RequestId(REQUEST)

    links = [make(settings)(tenant_id, request_id) for make in (link_maker, review_link_maker)]

    assert links == [
        f"https://console.estate.example/console/requests/{REQUEST}",
        f"https://console.estate.example/console/approvals/{REQUEST}",
    ]
