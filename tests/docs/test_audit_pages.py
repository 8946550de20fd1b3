# SPDX-License-Identifier: Apache-2.0
"""The pages about the audit trail do what they say, word for word, and name what there is."""

import json

import pytest

from chamberlain.app.routes import ENDPOINTS
from chamberlain.audit.endpoints import AuditRow
from chamberlain.audit.rules import FaultKind
from tests.docs.commands import documents, printed
from tests.docs.pages import REFERENCE, ROOT, named, section, shell_blocks
from tests.services import ADA, ADA_MAIL, API, Service

PAGE = ROOT / "docs" / "how-to" / "audit.md"
TRAIL = REFERENCE / "audit.md"


@pytest.mark.heavy
def test_it_works(service: Service) -> None:
    newest_row, filtered, export, verify, verify_with_head, erase, read, by_actor_and_subject, lines = shell_blocks(
        PAGE
    )

    shown = printed(service, newest_row, filtered, f"{export}\ntail -n 1 audit.jsonl")
    newest, of_actor, of_subject, last = documents(printed(service, f"{read}\necho", by_actor_and_subject, lines))
    verdicts = printed(service, verify).splitlines()
    (with_head,) = printed(service, verify_with_head).split("\n\n")[0].splitlines()[-1:]
    erased = printed(service, erase)

    assert json.loads(shown.strip().splitlines()[-1])["sequence"] == 1
    assert len(newest["items"]) == 1
    # Other pages may have let Ada replace templates of this service.
    assert {(row["actor"]["id"], row["action"]) for row in of_actor["items"]} <= {(ADA, "template.replace")}
    assert {row["action"] for row in of_subject["items"]} <= {"template.create", "template.replace"}
    assert of_subject["items"]
    assert last["sequence"] >= newest["items"][0]["sequence"]
    assert [line.split()[0] for line in verdicts if line] == ["well", "well"]
    assert with_head.startswith("well ")
    assert erased.startswith(("Tenant ", "Nothing is kept of user "))


def test_it_names_every_member_of_a_row() -> None:
    assert named(section(TRAIL, "## A row")) == list(AuditRow.__struct_encode_fields__)


@pytest.mark.heavy
def test_it_names_every_action_that_the_pages_lead_to(service: Service) -> None:
    rows = service.get("/admin/v1/audit/?limit=200", ADA_MAIL, f"{API}/admin/Config.ReadWrite.All").json()["items"]

    assert {row["action"] for row in rows} - set(named(section(TRAIL, "## Actions"))) == set()
    assert rows


def test_it_names_every_filter() -> None:
    (endpoint,) = [each for each in ENDPOINTS if each.path == "/admin/v1/audit/"]

    assert named(section(TRAIL, "## Filters")) == [each.name for each in endpoint.parameters]


def test_it_names_every_kind_of_fault() -> None:
    assert named(section(TRAIL, "## Kinds of faults")) == [str(kind) for kind in FaultKind]
