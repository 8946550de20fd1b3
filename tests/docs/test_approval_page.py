"""The page for approvers does what it says."""

from chamberlain.requests.rules import LOOK_EVERY
from tests.docs.commands import run
from tests.docs.pages import REFERENCE, ROOT, named, section, shell_blocks
from tests.services import Service

PAGE = ROOT / "docs" / "how-to" / "approve-requests.md"


def test_it_works(service: Service) -> None:
    ask, to_decide, read, approve, ask_for_blocked, list_blocked, name = shell_blocks(PAGE)

    listed, shown, approved, waiting, unblocked = run(
        service, ask, to_decide, read, approve, ask_for_blocked, list_blocked, name
    )

    assert [(each["displayName"], each["actions"]) for each in listed["items"]] == [
        ("CONF-Takeover", ["approve", "reject"])
    ]
    assert [each["state"] for each in shown["approvals"]] == ["pending"]
    assert (approved["state"], approved["approvals"][0]["decisions"][0]["comment"]) == (
        "queued",
        "For the board alone.",
    )
    assert [(each["displayName"], each["blocked"]) for each in waiting["items"]] == [("CONF-Merger", "noApprover")]
    assert (unblocked["blocked"], unblocked["approvals"][0]["state"]) == (None, "pending")


def test_it_says_how_often_the_service_looks() -> None:
    assert LOOK_EVERY.total_seconds() == 60 * 60
    for page in (PAGE, REFERENCE / "api.md"):
        assert "once an hour" in page.read_text(encoding="utf-8").lower()


def test_it_names_the_refusals_of_the_reference() -> None:
    reference = named(section(REFERENCE / "api.md", "### POST /requests/v1/{requestId}/approve/ and reject/"))

    assert {"selfApproval", "notApprover", "stateDoesNotAllow"} <= set(named(section(PAGE, "## Decide")))
    assert reference[:2] == ["approve", "reject"]
