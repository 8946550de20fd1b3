"""A check for drift is asked for, and begins at once."""

import json

import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Forbidden
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.drift.models import DriftCheck
from tests.drift.drifters import Watchman, watchman_of
from tests.estates import ADA, BEN, ESTATE, Estate, caller_of
from tests.guests.assignments.stewards import later
from tests.requests.acts import act, administrator, application

JOBS = "SELECT count(*), bool_and(run_at <= now()) FROM chamberlain.job WHERE kind = 'driftCheck' AND tenant_id = $1"
CHECK = "SELECT asked_at, began_at, finished_at FROM chamberlain.drift_check WHERE tenant_id = $1"


@pytest.fixture
async def watchman(estate: Estate) -> Watchman:
    return watchman_of(estate)


def render(check: DriftCheck) -> bytes:
    return json.dumps([str(check.asked_at), check.finished_at is not None]).encode()


async def ask(watchman: Watchman, caller: Caller | None = None, key: str | None = None) -> KeptAnswer:
    return await watchman.service.check(caller or administrator(ADA), act(comment="Why not", key=key), render)


async def test_it_works(watchman: Watchman) -> None:
    await watchman.look()
    ((_, due),) = await watchman.estate.rows(JOBS, ESTATE)
    later(watchman.estate, hours=1)

    answer = await ask(watchman)

    assert due is False
    assert await watchman.estate.rows(JOBS, ESTATE) == [(1, True)]
    assert json.loads(answer.body) == [str(watchman.estate.moment), True]


async def test_a_tenant_that_has_no_job_yet_gets_it(watchman: Watchman) -> None:
    await ask(watchman)
    await watchman.check.begin(act().trace_id)

    await watchman.turn()

    assert (await watchman.estate.rows(JOBS, ESTATE))[0][0] == 1
    ((_, began_at, finished_at),) = await watchman.estate.rows(CHECK, ESTATE)
    assert (began_at, finished_at) == (watchman.estate.moment, watchman.estate.moment)


async def test_whoever_asks_while_one_is_under_way_gets_another(watchman: Watchman) -> None:
    await watchman.look()
    await watchman.change(
        "UPDATE chamberlain.drift_check SET phase = 'room', position_at = now(), position_id = $1", BEN
    )
    later(watchman.estate, hours=1)
    await ask(watchman)
    later(watchman.estate, hours=1)

    await watchman.turn()

    # The one that was under way is through, and the next one is due.
    assert await watchman.estate.rows(JOBS, ESTATE) == [(1, True)]


async def test_whoever_asks_lets_a_job_go_that_met_a_bug(watchman: Watchman) -> None:
    await watchman.look()
    await watchman.change("UPDATE chamberlain.job SET held_reason = 'A bug.' WHERE kind = 'driftCheck'")
    later(watchman.estate, hours=1)

    await ask(watchman)
    await watchman.turn()

    ((_, began_at, _),) = await watchman.estate.rows(CHECK, ESTATE)
    assert began_at == watchman.estate.moment
    held = "SELECT tenant_id FROM chamberlain.job WHERE kind = 'driftCheck' AND held_reason IS NOT NULL"
    # The one of another tenant, and the one for all, wait for their person still.
    assert ESTATE not in {tenant_id for (tenant_id,) in await watchman.estate.rows(held)}
    assert len(await watchman.estate.rows(held)) == 2


async def test_the_audit_trail_says_who_asked(watchman: Watchman) -> None:
    await ask(watchman)

    ((payload,),) = await watchman.estate.rows(
        "SELECT payload::text FROM chamberlain.audit WHERE action = 'drift.check'"
    )
    written = json.loads(str(payload))
    assert written["actor"]["displayName"] == "Ada Achterberg"
    assert written["subject"] == {"type": "tenant", "id": str(ESTATE), "displayName": "Example Estate"}
    assert written["after"] == {"comment": "Why not"}


async def test_the_same_key_asks_once(watchman: Watchman) -> None:
    first = await ask(watchman, key="k")
    later(watchman.estate, hours=1)

    again = await ask(watchman, key="k")

    assert (again.body, again.replayed) == (first.body, True)
    assert len(await watchman.estate.rows("SELECT FROM chamberlain.audit WHERE action = 'drift.check'")) == 1


async def test_an_application_that_configures_may_ask(watchman: Watchman) -> None:
    await ask(watchman, application("Mail.Config.ReadWrite.All"))


@pytest.mark.parametrize("caller", [caller_of(ADA), administrator(BEN), application("Collab.Manage.ReadWrite.All")])
async def test_it_rejects_others(watchman: Watchman, caller: Caller) -> None:
    with pytest.raises(Forbidden):
        await ask(watchman, caller)
