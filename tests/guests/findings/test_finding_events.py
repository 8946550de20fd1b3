# SPDX-License-Identifier: Apache-2.0
"""Events of findings: each change of a state writes one, with the members that the page names."""

import json
import re

import pytest

from chamberlain.changes.models import EventType
from tests.docs.pages import REFERENCE, rows, section
from tests.docs.test_events_reference import OF_FINDINGS, members
from tests.estates import ADA, ESTATE, Estate
from tests.guests.assignments.guest_fixture import ALL_STAFF
from tests.guests.findings.finding_fixture import FindingFixture, finding_fixture

EVENTS = """
SELECT type, tenant_id, request_id, data::text FROM chamberlain.event WHERE type LIKE 'finding.%' ORDER BY sequence
"""


@pytest.fixture
def findings_fixture(estate: Estate) -> FindingFixture:
    return finding_fixture(estate)


async def test_it_works(findings_fixture: FindingFixture) -> None:
    finding_id = await findings_fixture.find()
    await findings_fixture.see()
    await findings_fixture.accepted(finding_id)
    await findings_fixture.lose()

    written = await findings_fixture.estate.rows(EVENTS)

    assert {row[1:3] for row in written} == {(ESTATE, None)}
    data = [json.loads(str(row[3])) for row in written]
    assert [(row[0], each["finding"]["state"]) for row, each in zip(written, data, strict=True)] == [
        ("finding.opened", "open"), ("finding.closed", "accepted"), ("finding.closed", "gone"),
    ]  # fmt: skip
    assert [each["changedBy"]["displayName"] for each in data] == ["Chamberlain", "Ada Achterberg", "Chamberlain"]
    assert data[1]["changedBy"] == {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"}
    assert data[0] == {
        "finding": {"id": str(finding_id), "kind": "guestAgainstRule", "state": "open", "property": "guests"},
        "subject": {"type": "group", "id": str(ALL_STAFF), "displayName": "All staff"},
        "policyId": None,
        "changedBy": {"type": "system", "id": None, "displayName": "Chamberlain"},
    }
    page = {row[0].strip("`"): row[2] for row in rows(section(REFERENCE / "events.md", "## Types"))}
    for type_ in OF_FINDINGS:
        assert re.findall("`([^`]+)`", page[type_]) == members(data[0])
    assert set(page) >= {str(each) for each in EventType}


async def test_a_long_name_is_shortened(findings_fixture: FindingFixture) -> None:
    await findings_fixture.find()
    async with findings_fixture.estate.databases.worker.across_tenants() as tx:
        await tx.execute("UPDATE chamberlain.finding SET subject_name = repeat('n', 300), state = 'gone'")

    *_, (_, _, _, data) = await findings_fixture.estate.rows(EVENTS)

    assert json.loads(str(data))["subject"]["displayName"] == "n" * 255 + "…"
