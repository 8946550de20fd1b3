"""The page about templates of groups, teams and guests does what it says, word for word."""

import httpx2

from tests.docs.commands import run
from tests.docs.pages import ROOT, shell_blocks
from tests.services import API, Service

PAGE = ROOT / "docs" / "how-to" / "collab-templates.md"
CONFIG = f"{API}/admin/Config.ReadWrite.All"


def test_it_works(service: Service) -> None:
    printed = run(service, *shell_blocks(PAGE))

    guest, policy, team, wrong, in_use, offered, asked, changed, stale = printed
    assert (guest["kind"], guest["guests"]["allowedDomains"]) == ("guest", ["partner.example"])
    assert policy["expiry"] == {"afterDays": 30, "reminderDays": [7, 1], "action": "remove"}
    assert (team["guestTemplateId"], team["guestPolicyId"]) == (guest["id"], policy["id"])
    assert team["webhook"]["secret"].startswith("whsec_")
    assert [fault["code"] for fault in wrong["errors"]] == [
        "ruleInvalid",
        "templateOfOtherKind",
        "userUnknown",
        "ruleInvalid",
    ]
    assert [each["customFields"][0]["key"] for each in offered["items"] if each["id"] == team["id"]] == ["el-supplier"]
    assert asked["group"]["displayName"] == "SUP-Ironworks"
    assert (changed["minimumOwners"], changed["webhook"]["hasSecret"]) == (2, True)
    assert "secret" not in changed["webhook"]
    assert stale["code"] == "etagStale"
    assert (in_use["code"], in_use["conflictingId"]) == ("inUse", team["id"])
    # A deletion prints nothing, and the template is gone.
    gone = httpx2.get(f"{service.url}/admin/collab/v1/templates/{team['id']}/", headers=service.headers(scope=CONFIG))
    assert gone.status_code == 404
