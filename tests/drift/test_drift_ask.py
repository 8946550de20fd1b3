# SPDX-License-Identifier: Apache-2.0
"""A check for drift is asked for, and begins at once."""

import json

import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Forbidden
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.drift.models import DriftCheck
from tests.drift.drift_fixture import DriftFixture, drift_fixture
from tests.estates import ADA, BEN, ESTATE, Estate, caller_of
from tests.guests.assignments.guest_fixture import later
from tests.requests.request_services import act, administrator, application

JOBS = "SELECT count(*), bool_and(run_at <= now()) FROM chamberlain.job WHERE kind = 'driftCheck' AND tenant_id = $1"
CHECK = "SELECT asked_at, began_at, finished_at FROM chamberlain.drift_check WHERE tenant_id = $1"


@pytest.fixture
async def drift(estate: Estate) -> DriftFixture:
    return drift_fixture(estate)


def render(check: DriftCheck) -> bytes:
    return json.dumps([str(check.asked_at), check.finished_at is not None]).encode()


async def ask(drift: DriftFixture, caller: Caller | None = None, key: str | None = None) -> KeptAnswer:
    return await drift.service.check(caller or administrator(ADA), act(comment="Why not", key=key), render)


async def test_it_works(drift: DriftFixture) -> None:
    await drift.check_all()
    ((_, due),) = await drift.estate.rows(JOBS, ESTATE)
    later(drift.estate, hours=1)

    answer = await ask(drift)

    assert due is False
    assert await drift.estate.rows(JOBS, ESTATE) == [(1, True)]
    assert json.loads(answer.body) == [str(drift.estate.moment), True]


async def test_a_tenant_that_has_no_job_yet_gets_it(drift: DriftFixture) -> None:
    await ask(drift)
    await drift.jobs.begin(act().trace_id)

    await drift.run_due()

    assert (await drift.estate.rows(JOBS, ESTATE))[0][0] == 1
    ((_, began_at, finished_at),) = await drift.estate.rows(CHECK, ESTATE)
    assert (began_at, finished_at) == (drift.estate.moment, drift.estate.moment)


async def test_whoever_asks_while_one_is_under_way_gets_another(drift: DriftFixture) -> None:
    await drift.check_all()
    await drift.change("UPDATE chamberlain.drift_check SET phase = 'room', position_at = now(), position_id = $1", BEN)
    later(drift.estate, hours=1)
    await ask(drift)
    later(drift.estate, hours=1)

    await drift.run_due()

    # The one that was under way is through, and the next one is due.
    assert await drift.estate.rows(JOBS, ESTATE) == [(1, True)]


async def test_whoever_asks_lets_a_job_go_that_met_a_bug(drift: DriftFixture) -> None:
    await drift.check_all()
    await drift.change("UPDATE chamberlain.job SET held_reason = 'A bug.' WHERE kind = 'driftCheck'")
    later(drift.estate, hours=1)

    await ask(drift)
    await drift.run_due()

    ((_, began_at, _),) = await drift.estate.rows(CHECK, ESTATE)
    assert began_at == drift.estate.moment
    held = "SELECT tenant_id FROM chamberlain.job WHERE kind = 'driftCheck' AND held_reason IS NOT NULL"
    # The one of another tenant, and the one for all, wait for their person still.
    assert ESTATE not in {tenant_id for (tenant_id,) in await drift.estate.rows(held)}
    assert len(await drift.estate.rows(held)) == 2


async def test_the_audit_trail_says_who_asked(drift: DriftFixture) -> None:
    await ask(drift)

    ((payload,),) = await drift.estate.rows("SELECT payload::text FROM chamberlain.audit WHERE action = 'drift.check'")
    written = json.loads(str(payload))
    assert written["actor"]["displayName"] == "Ada Achterberg"
    assert written["subject"] == {"type": "tenant", "id": str(ESTATE), "displayName": "Example Estate"}
    assert written["after"] == {"comment": "Why not"}


async def test_the_same_key_asks_once(drift: DriftFixture) -> None:
    first = await ask(drift, key="k")
    later(drift.estate, hours=1)

    again = await ask(drift, key="k")

    assert (again.body, again.replayed) == (first.body, True)
    assert len(await drift.estate.rows("SELECT FROM chamberlain.audit WHERE action = 'drift.check'")) == 1


async def test_an_application_that_configures_may_ask(drift: DriftFixture) -> None:
    await ask(drift, application("Mail.Config.ReadWrite.All"))


@pytest.mark.parametrize("caller", [caller_of(ADA), administrator(BEN), application("Collab.Manage.ReadWrite.All")])
async def test_it_rejects_others(drift: DriftFixture, caller: Caller) -> None:
    with pytest.raises(Forbidden):
        await ask(drift, caller)
