# SPDX-License-Identifier: Apache-2.0
"""The page about keys does what it says, word for word, beside a running service."""

import re

import pytest

from tests.docs.commands import printed
from tests.docs.pages import ROOT, shell_blocks
from tests.services import ADA_MAIL, API, Service

PAGE = ROOT / "docs" / "how-to" / "keys.md"
CONFIG = f"{API}/admin/Config.ReadWrite.All"
EVENTS = "/admin/v1/events/"


@pytest.mark.heavy
def test_it_works(service: Service) -> None:
    listing, rotate, drop = shell_blocks(PAGE)
    (in_page,) = re.findall(r"^```\nID .*\n(k\w+ .*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    cursor = service.get(f"{EVENTS}?limit=1", ADA_MAIL, CONFIG).json()["nextCursor"]

    before = printed(service, listing).strip()
    rotated = printed(service, rotate)
    still_read = service.get(f"{EVENTS}?cursor={cursor}", ADA_MAIL, CONFIG)
    old = before.split()[0]
    dropped = printed(service, drop.replace(in_page.split()[0], old))
    not_read = service.get(f"{EVENTS}?cursor={cursor}", ADA_MAIL, CONFIG)
    read_anew = service.get(f"{EVENTS}?cursor={still_read.json()['nextCursor']}", ADA_MAIL, CONFIG)
    after = printed(service, listing).strip()

    pattern = r"k[0-9a-f]{8}\tseals\t\d+"
    assert re.fullmatch(pattern, "\t".join(in_page.split()))
    assert re.fullmatch(pattern, before)
    assert re.fullmatch(pattern, after)
    assert f"chamberlain keys drop {old}" in rotated
    assert f"{old} is no longer in" in dropped
    assert old not in after
    assert still_read.status_code == 200
    assert (not_read.status_code, not_read.json()["code"]) == (400, "invalidCursor")
    assert read_anew.status_code == 200
    rows = service.get("/admin/v1/audit/?action=keys.rotate", ADA_MAIL, CONFIG).json()["items"]
    assert rows[0]["before"] == {"sealsWith": old}
    assert rows[0]["actor"]["type"] == "system"
