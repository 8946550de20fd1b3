"""The page about drift does what it says, word for word."""

from tests.docs.commands import documents, printed
from tests.docs.pages import ROOT, shell_blocks
from tests.services import Service

PAGE = ROOT / "docs" / "how-to" / "drift.md"


def test_it_works(service: Service) -> None:
    token, check, findings, settings = shell_blocks(PAGE)

    asked, found, tenant = documents(printed(service, token, check, findings, settings))

    assert asked["askedAt"] is not None
    assert found["items"] == []
    assert tenant["repair"] == {
        "drift": True,
        "properties": {"group.displayName": "ignored", "mailbox.notes": "observed"},
    }
