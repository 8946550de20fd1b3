# SPDX-License-Identifier: Apache-2.0
"""Findings about objects that are no longer compared go at the end of a check, however many groups there are."""

import pytest

from chamberlain.drift import store as drift_store
from chamberlain.drift.rules import compared_paths
from chamberlain.guests.models import FindingSource
from chamberlain.requests.models import RequestKind
from tests.drift.drift_fixture import DriftFixture, drift_fixture
from tests.estates import ESTATE, Estate
from tests.query_plans import rows_looked_at

# Three thousand other groups for each that there is.
COPY = """
INSERT INTO chamberlain.request (
    request_id, tenant_id, kind, state, display_name, mail_nickname, address, template_id, template_revision,
    template_name, body, approval_required, people_checked, client_id, actor_type, actor_id, actor_name, trace_id,
    steps, result, timeline
)
SELECT gen_random_uuid(), tenant_id, kind, state, display_name, 'a' || n, 'a' || n || '@estate.example', template_id,
    template_revision, template_name, body, approval_required, people_checked, client_id, actor_type, actor_id,
    actor_name, trace_id, steps, json_build_object('id', gen_random_uuid()), timeline
FROM chamberlain.request CROSS JOIN generate_series(1, 3000) n
"""
CHANGE = "UPDATE directory.groups SET display_name = 'X' WHERE id = $1"
KINDS = ["drift", "repairDoesNotHold"]


@pytest.fixture
async def drift(estate: Estate) -> DriftFixture:
    return drift_fixture(estate)


async def test_it_works_along_indexes(drift: DriftFixture) -> None:
    _, group_id = await drift.group()
    await drift.change(CHANGE, group_id)
    await drift.check_all()
    await drift.change(COPY)
    paths = list(compared_paths(RequestKind.ASSIGNMENT))

    async with drift.estate.databases.worker.across_tenants() as tx:
        values = (ESTATE, FindingSource.DRIFT, paths, drift.estate.moment, KINDS)
        looked_at = await rows_looked_at(tx, drift_store.CLOSE_UNMANAGED, *values)

    assert looked_at < 100
    assert await drift.findings() == [("drift", "open", "displayName")]


@pytest.mark.parametrize("names_request", [True, False])
async def test_findings_of_a_request_that_is_not_kept_go(drift: DriftFixture, *, names_request: bool) -> None:
    """Findings from before they named their requests go as well, and open ones of kept requests stay."""
    kept, gone = await drift.group(), await drift.group(displayName="Borealis")
    for _, group_id in (kept, gone):
        await drift.change(CHANGE, group_id)
    await drift.check_all()
    if not names_request:
        await drift.change("UPDATE chamberlain.finding SET request_id = NULL")
    await drift.change("UPDATE chamberlain.request SET body = '{}' WHERE request_id = $1", gone[0])
    paths = compared_paths(RequestKind.ASSIGNMENT)

    async with drift.estate.databases.worker.across_tenants() as tx:
        await drift_store.close_unmanaged(tx, ESTATE, paths, at=drift.estate.moment)

    states = {each.subject.id: each.state for each in await drift.records()}
    assert states == {kept[1]: "open", gone[1]: "gone"}
