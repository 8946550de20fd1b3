# SPDX-License-Identifier: Apache-2.0
"""The page about templates of groups, teams and guests does what it says, word for word."""

import httpx2
import pytest

from tests.docs.commands import documents, outputs
from tests.docs.pages import ROOT, shell_blocks
from tests.services import API, Service

PAGE = ROOT / "docs" / "how-to" / "collab-templates.md"
CONFIG = f"{API}/admin/Config.ReadWrite.All"


@pytest.mark.heavy
def test_it_works(service: Service) -> None:
    _, created, asked, changed, _, *http = outputs(service, *shell_blocks(PAGE))
    team, wrong, offered, requested, replaced, stale = documents("".join(http))

    assert "whsec_" in created
    assert "sup-ironworks@estate.example\tyes\tSuppliers\t30 days" in asked
    assert "For work with one supplier at a time" in changed
    assert team["webhook"]["secret"].startswith("whsec_")
    assert [fault["code"] for fault in wrong["errors"]] == [
        "ruleInvalid",
        "templateOfOtherKind",
        "userUnknown",
        "ruleInvalid",
    ]
    assert [each["customFields"][0]["key"] for each in offered["items"] if each["id"] == team["id"]] == ["el-supplier"]
    assert requested["group"]["displayName"] == "SUP-Steelworks"
    assert (replaced["minimumOwners"], replaced["webhook"]["hasSecret"]) == (2, True)
    assert "secret" not in replaced["webhook"]
    assert stale["code"] == "etagStale"
    # A deletion prints nothing, and the template is gone.
    gone = httpx2.get(f"{service.url}/admin/collab/v1/templates/{team['id']}/", headers=service.headers(scope=CONFIG))
    assert gone.status_code == 404
