# SPDX-License-Identifier: Apache-2.0
"""The page about drift does what it says, word for word."""

import pytest

from tests.docs.commands import documents, outputs
from tests.docs.homes import service_of_user
from tests.docs.pages import ROOT, shell_blocks
from tests.docs.terminals import sign_in

PAGE = ROOT / "docs" / "how-to" / "drift.md"


@pytest.mark.heavy
def test_it_works() -> None:
    # The demo changes the sample data of its service.
    with service_of_user() as service:
        sign_in(service)
        _, checked, repaired, _, applied, ignored, accepted, *http = outputs(service, *shell_blocks(PAGE))
    asked, found, before, after = documents("".join(http))

    assert "askedAt" in checked
    assert "repairDrift" in repaired
    assert "1 to change" in applied
    assert "ignored" in ignored
    assert "accepted" in accepted
    assert asked["askedAt"] is not None
    assert {each["kind"] for each in found["items"]} == {"drift"}
    assert before["repair"] == {"drift": True, "properties": {}}
    assert after["repair"] == {
        "drift": True,
        "properties": {"group.displayName": "ignored", "mailbox.notes": "observed"},
    }
