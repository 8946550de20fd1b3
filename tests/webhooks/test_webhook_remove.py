# SPDX-License-Identifier: Apache-2.0
"""A removed webhook gets no more calls, at once: its waiting deliveries are cancelled."""

import pytest

from chamberlain.template_admin.models import COLLAB
from tests.databases import Databases
from tests.estates import ADA, PROJECT_GROUP, Estate, apply, changed_estate, open_estate
from tests.requests.request_services import administrator
from tests.template_admin.template_fixture import TemplateFixture

URL = "https://hooks.estate.example/chamberlain"
HOOK: dict[str, object] = {"webhook": {"url": URL}}
STATES = "SELECT state, job_id IS NULL FROM chamberlain.delivery"
JOBS = "SELECT count(*) FROM chamberlain.job WHERE kind = 'webhookDeliver'"
CANCELLED = [("cancelled", True)]


@pytest.fixture
async def delayed_delivery(databases: Databases) -> Estate:
    """A delivery waits for its next attempt, a day from now."""
    estate = await open_estate(databases, changed_estate(project_group=HOOK))
    await estate.request("Apollo")
    await estate.work()
    await estate.rows("UPDATE chamberlain.job SET run_at = now() + interval '1 day' RETURNING 1")
    assert await estate.rows(STATES) == [("pending", False)]
    return estate


@pytest.mark.parametrize("members", [{}, {"webhook": {"url": URL, "active": False}}], ids=["removed", "inactive"])
async def test_it_works(delayed_delivery: Estate, members: dict[str, object]) -> None:
    await TemplateFixture(delayed_delivery, administrator(ADA), COLLAB).replace(PROJECT_GROUP, members)

    assert await delayed_delivery.rows(STATES) == CANCELLED
    assert await delayed_delivery.rows(JOBS) == [(0,)]


async def test_it_works_when_the_template_is_deleted(delayed_delivery: Estate) -> None:
    await TemplateFixture(delayed_delivery, administrator(ADA), COLLAB).delete(PROJECT_GROUP)

    assert await delayed_delivery.rows(STATES) == CANCELLED


async def test_it_works_when_a_file_removes_it(delayed_delivery: Estate) -> None:
    await apply(delayed_delivery.databases, changed_estate())

    assert await delayed_delivery.rows(STATES) == CANCELLED


async def test_what_goes_to_another_address_from_now_on_waits_as_it_did(delayed_delivery: Estate) -> None:
    webhook = {"url": "https://hooks.estate.example/other"}
    await TemplateFixture(delayed_delivery, administrator(ADA), COLLAB).replace(PROJECT_GROUP, {"webhook": webhook})

    assert await delayed_delivery.rows(STATES) == [("pending", False)]
