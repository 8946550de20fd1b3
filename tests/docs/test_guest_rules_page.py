# SPDX-License-Identifier: Apache-2.0
"""The page about guest rules does what it says, word for word, and leaves the estate as it was."""

import re

import pytest

from chamberlain.directory.subjects import EFFECTS
from chamberlain.guests.assignments.wire import ManagedGroup, ManagedSite
from tests.docs.commands import documents, outputs
from tests.docs.pages import ROOT, rows, section, shell_blocks
from tests.services import Service

PAGE = ROOT / "docs" / "how-to" / "guest-rules.md"
REFERENCE = ROOT / "docs" / "reference" / "groups-and-sites.md"
STEPS = ["markAssignment", "setGuestAccess", "setGuestDomains"]


@pytest.mark.heavy
def test_it_works(service: Service) -> None:
    *commands, assign, look, find, simulate, lists, clear = shell_blocks(PAGE)

    # A reader reads between the blocks; a second is enough for the service.
    ahead, assigned, found, simulated, accepted, site, listed, cleared, *http = outputs(
        service, *commands, assign, f"sleep 1.5\n{look}", find, simulate, lists, clear
    )
    by_http, shown, settings, findings, accepted_by_http, simulated_by_http, groups, cleared_by_http = documents(
        "".join(http)
    )

    assert "Gil Hartmann is a guest" in ahead
    assert all(step in assigned for step in STEPS)
    assert "Gil Hartmann is a guest" in found
    assert simulated.count("reminder") == 3
    assert re.search(r"^state +accepted$", accepted, re.MULTILINE)
    assert "2099-03-31T22:00:00.000Z" in accepted
    assert "setSharingCapability" in site
    assert "All staff" in listed
    assert "Handbook" in listed
    assert "No guests" not in cleared
    assert (by_http["displayName"], by_http["template"]["name"]) == ("All staff", "No guests")
    assert [each["name"] for each in by_http["effects"]] == STEPS
    assert [each["state"] for each in shown["effects"]] == ["succeeded"] * 3
    assert shown["openFindings"] == 1
    values = {each["name"]: each["value"] for each in settings["value"][0]["values"]}
    assert values["AllowToAddGuests"] == "false"
    assert [each["observed"]["displayName"] for each in findings["items"]] == ["Gil Hartmann"]
    assert (accepted_by_http["state"], accepted_by_http["acceptance"]["until"]) == (
        "accepted",
        "2099-03-31T22:00:00.000Z",
    )
    assert [each["type"] for each in simulated_by_http["items"]] == ["reminder"] * 3 + ["finding", "action"]
    assert [each["displayName"] for each in groups["items"]] == ["All staff"]
    assert {cleared_by_http["templateId"], cleared_by_http["policyId"]} == {None}


def test_the_reference_names_every_property_and_step() -> None:
    properties = {name for row in rows(section(REFERENCE, "## Records")) for name in re.findall(r"`(\w+)`", row[0])}
    steps = [name for row in rows(section(REFERENCE, "## PATCH")) for name in re.findall(r"^`(\w+)`$", row[0])]

    fields = {*ManagedGroup.__struct_encode_fields__, *ManagedSite.__struct_encode_fields__}
    assert properties == fields
    assert [step for step in steps if step != "null"] == [str(step) for step in EFFECTS]
