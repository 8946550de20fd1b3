"""What is not compared any more is let go at the end of a check, however many groups there are."""

import pytest

from chamberlain.drift import store as drift_store
from chamberlain.drift.pages import paths_of
from chamberlain.guests.models import FindingSource
from chamberlain.requests.models import RequestKind
from tests.drift.drifters import Watchman, watchman_of
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
async def watchman(estate: Estate) -> Watchman:
    return watchman_of(estate)


async def test_it_works_along_indexes(watchman: Watchman) -> None:
    _, group_id = await watchman.group()
    await watchman.change(CHANGE, group_id)
    await watchman.look()
    await watchman.change(COPY)
    paths = list(paths_of(RequestKind.ASSIGNMENT))

    async with watchman.estate.databases.worker.across_tenants() as tx:
        values = (ESTATE, FindingSource.DRIFT, paths, watchman.estate.moment, KINDS)
        looked_at = await rows_looked_at(tx, drift_store.LET_GO, *values)

    assert looked_at < 100
    assert await watchman.told() == [("drift", "open", "displayName")]


@pytest.mark.parametrize("names_request", [True, False])
async def test_findings_of_a_request_that_is_not_kept_go(watchman: Watchman, *, names_request: bool) -> None:
    """Those that were kept before findings named their requests, too; and of those what still stands stays."""
    kept, gone = await watchman.group(), await watchman.group(displayName="Borealis")
    for _, group_id in (kept, gone):
        await watchman.change(CHANGE, group_id)
    await watchman.look()
    if not names_request:
        await watchman.change("UPDATE chamberlain.finding SET request_id = NULL")
    await watchman.change("UPDATE chamberlain.request SET body = '{}' WHERE request_id = $1", gone[0])
    paths = paths_of(RequestKind.ASSIGNMENT)

    async with watchman.estate.databases.worker.across_tenants() as tx:
        await drift_store.let_go(tx, ESTATE, paths, at=watchman.estate.moment)

    states = {each.subject.id: each.state for each in await watchman.found()}
    assert states == {kept[1]: "open", gone[1]: "gone"}
