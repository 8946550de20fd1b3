"""The page about guest rules does what it says, word for word, and leaves the estate as it was."""

import re

from chamberlain.directory.subjects import EFFECTS
from chamberlain.guests.assignments.wire import ManagedGroup, ManagedSite
from tests.docs.commands import run
from tests.docs.pages import ROOT, rows, section, shell_blocks
from tests.services import Service

PAGE = ROOT / "docs" / "how-to" / "guest-rules.md"
REFERENCE = ROOT / "docs" / "reference" / "groups-and-sites.md"
STEPS = ["markAssignment", "setGuestAccess", "setGuestDomains"]


def test_it_works(service: Service) -> None:
    assign, look, find, ahead, accept, site, lists, clear = shell_blocks(PAGE)

    # People read between the blocks; a second is enough for the service.
    assigned, shown, settings, findings, simulated, accepted, handbook, groups, sites, cleared, restored = run(
        service, assign, f"sleep 1.5\n{look}", find, ahead, accept, site, lists, clear
    )

    assert (assigned["displayName"], assigned["template"]["name"]) == ("All staff", "No guests")
    assert [each["name"] for each in assigned["effects"]] == STEPS
    assert [each["state"] for each in shown["effects"]] == ["succeeded"] * 3
    assert shown["openFindings"] == 1
    values = {each["name"]: each["value"] for each in settings["value"][0]["values"]}
    assert values["AllowToAddGuests"] == "false"
    assert [each["observed"]["displayName"] for each in findings["items"]] == ["Gil Hartmann"]
    assert [each["type"] for each in simulated["items"]] == ["reminder"] * 3 + ["finding", "action"]
    assert (accepted["state"], accepted["acceptance"]["until"]) == ("accepted", "2099-03-31T22:00:00.000Z")
    assert handbook["effects"][-1]["name"] == "setSharingCapability"
    assert [each["displayName"] for each in groups["items"]] == ["All staff"]
    assert [each["displayName"] for each in sites["items"]] == ["Handbook"]
    assert {cleared["templateId"], cleared["policyId"], restored["templateId"]} == {None}


def test_the_reference_names_every_property_and_step() -> None:
    properties = {name for row in rows(section(REFERENCE, "## Records")) for name in re.findall(r"`(\w+)`", row[0])}
    steps = [name for row in rows(section(REFERENCE, "## PATCH")) for name in re.findall(r"^`(\w+)`$", row[0])]

    fields = {*ManagedGroup.__struct_encode_fields__, *ManagedSite.__struct_encode_fields__}
    assert properties == fields
    assert [step for step in steps if step != "null"] == [str(step) for step in EFFECTS]
