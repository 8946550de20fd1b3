# SPDX-License-Identifier: Apache-2.0
"""The pages about watching, and about waits and failures, do what they say and name what there is."""

import re

import httpx2
import pytest

from chamberlain.http.request import LONGEST_WAIT
from chamberlain.http.responses import MOST_OPEN
from chamberlain.requests.models import ENDED, RequestState
from chamberlain.requests.steps import MOST_ENTRIES, EntryKind
from chamberlain.requests.timeline import QUIET
from chamberlain.settings import Settings
from tests.docs.commands import documents, outputs
from tests.docs.pages import ROOT, named, section, shell_blocks
from tests.services import GROUP_TEMPLATE, Service

PAGE = ROOT / "docs" / "how-to" / "watch-a-request.md"
STATES_IN_ORDER = (
    "pendingApproval", "queued", "running", "waiting", "succeeded", "failed", "rejected", "expired", "cancelled",
)  # fmt: skip


@pytest.mark.parametrize(
    "says",
    [
        f"within N seconds (at most {LONGEST_WAIT.seconds})",
        f"nothing has happened for {QUIET.seconds} seconds",
        f"between {MOST_ENTRIES // 2} and {MOST_ENTRIES} are kept",
        f"may have {MOST_OPEN} streams open",
    ],
)
def test_it_names_every_limit(says: str) -> None:
    assert says in PAGE.read_text(encoding="utf-8")


def test_it_names_every_kind_of_event_and_every_end() -> None:
    (ends,) = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("- The stream ends")]

    assert all(f"`{state}`" in ends for state in ENDED)
    assert all(f"\nevent: {kind}\n" in PAGE.read_text(encoding="utf-8") for kind in EntryKind)


@pytest.mark.heavy
def test_its_commands_wait_for_a_group_watch_one_and_come_again(service: Service) -> None:
    created, followed, shown, _, waited, watched, behind = outputs(service, *shell_blocks(PAGE))

    assert "apollo@estate.example" in created
    assert "borealis@estate.example" in followed
    assert re.search(r"^state +succeeded$", shown, re.MULTILINE)
    assert "HTTP/1.1 201" in waited
    assert "preference-applied: wait" in waited
    events = re.findall(r"^event: (\w+)$", watched, re.MULTILINE)
    assert (events[0], events[-1]) == ("state", "state")
    assert re.findall(r'"state":"(\w+)"', watched)[-1] == "succeeded"
    # The same request, once more from behind its third event.
    assert re.findall(r"^id: (\d+)$", behind, re.MULTILINE) == ["4"]


def test_what_is_said_of_browsers_holds(service: Service) -> None:
    """An EventSource sends no token; with fetch a page has to come from the same address."""
    request = service.post_group({"displayName": "Dione", "templateId": GROUP_TEMPLATE}).json()["requestId"]

    without = httpx2.get(
        f"{service.url}/requests/v1/{request}/events/", headers={"origin": "https://elsewhere.example"}
    )

    assert without.status_code == 401
    assert not [name for name in without.headers if name.startswith("access-control")]
    assert "EventSource` of browsers cannot send a token" in PAGE.read_text(encoding="utf-8")


@pytest.mark.heavy
def test_the_page_about_waits_reads_cancels_and_says_what_refuses_a_retry(service: Service) -> None:
    _, shown, cancelled, *http = outputs(service, *shell_blocks(PAGE.with_name("requests-that-wait-or-fail.md")))
    request, refused = documents("".join(http))

    assert re.search(r"^state +pendingApproval$", shown, re.MULTILINE)
    assert re.search(r"^state +cancelled$", cancelled, re.MULTILINE)
    assert (request["displayName"], request["state"]) == ("CONF-Cassini", "cancelled")
    assert refused["code"] == "stateDoesNotAllow"


def test_the_page_about_waits_names_every_state_and_the_days_that_things_are_kept() -> None:
    page = PAGE.with_name("requests-that-wait-or-fail.md")
    settings = Settings.model_fields

    assert named(section(page, "## Read the request")) == list(STATES_IN_ORDER)
    assert set(STATES_IN_ORDER) == set(RequestState)
    text = section(page, "## Give it up")
    assert f"after {settings['failed_request_days'].default} days" in text
    assert f"after {settings['retention_requests'].default} days" in text
