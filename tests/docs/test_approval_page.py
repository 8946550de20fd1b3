# SPDX-License-Identifier: Apache-2.0
"""The page for approvers does what it says."""

import re

import pytest

from chamberlain.requests.rules import LOOK_EVERY
from tests.docs.commands import documents, outputs
from tests.docs.pages import REFERENCE, ROOT, named, section, shell_blocks
from tests.services import Service

PAGE = ROOT / "docs" / "how-to" / "approve-requests.md"


@pytest.mark.heavy
def test_it_works(service: Service) -> None:
    _, _, to_decide, shown, approved, named_, _, _, blocked, unblocked, *http = outputs(service, *shell_blocks(PAGE))
    listed, by_http = documents("".join(http))

    assert "CONF-Takeover" in to_decide
    assert re.search(r"^approvals\.1\.state +pending$", shown, re.MULTILINE)
    assert re.search(r"^state +queued$", approved, re.MULTILINE)
    assert "For the board alone." in approved
    assert re.search(r"^substitute\.displayName +Ben Okafor$", named_, re.MULTILINE)
    assert "CONF-Merger" in blocked
    assert re.search(r"^blocked +noApprover$", blocked, re.MULTILINE)
    assert re.search(r"^approvals\.1\.state +pending$", unblocked, re.MULTILINE)
    assert "noApprover" not in unblocked
    assert listed["items"] == []
    assert (by_http["state"], by_http["displayName"]) == ("queued", "CONF-Spin-off")


def test_it_says_how_often_the_service_looks() -> None:
    assert LOOK_EVERY.total_seconds() == 60 * 60
    for page in (PAGE, REFERENCE / "api.md"):
        assert "once an hour" in page.read_text(encoding="utf-8").lower()


def test_it_names_the_refusals_of_the_reference() -> None:
    reference = named(section(REFERENCE / "api.md", "### POST /requests/v1/{requestId}/approve/ and reject/"))

    assert {"selfApproval", "notApprover", "stateDoesNotAllow"} <= set(named(section(PAGE, "## Decide")))
    assert reference[:2] == ["approve", "reject"]
