# SPDX-License-Identifier: Apache-2.0
"""The database's clock jumps: the API is not ready, workers claim nothing, and nothing is lost.

A test does not set the clock of a machine. It replaces what the database shows its clients: functions of these names
come before PostgreSQL's own in the search path of every connection.
"""

import asyncio
from collections import Counter

import pytest

from chamberlain.embedded.postgres import roles
from chamberlain.embedded.postgres.roles import address
from tests.faults.load import Load
from tests.postgres import connected
from tests.services import WORKER_RUNNING, Outside, outside_database, wait_until

PATH = """
CREATE SCHEMA shifted;
GRANT USAGE ON SCHEMA shifted TO PUBLIC;
{functions}
ALTER DATABASE chamberlain SET search_path = shifted, pg_catalog, public;
"""
FUNCTION = """
CREATE OR REPLACE FUNCTION shifted.{name}() RETURNS timestamptz LANGUAGE sql {volatility}
    AS $$ SELECT pg_catalog.{name}() + interval '{seconds} seconds' $$;
"""
CLAIMS_NOTHING = "The worker claims no jobs."
CLAIMS_AGAIN = "This machine's clock agrees with the database's again."
REPORTED = "SELECT count(*) FROM chamberlain.clock_report WHERE is_worker"
CLOCKS = {"now": "STABLE", "clock_timestamp": "VOLATILE", "statement_timestamp": "STABLE"}


@pytest.mark.heavy
@pytest.mark.parametrize(
    "seconds",
    [pytest.param(3_600, id="an hour ahead"), pytest.param(-3_600, id="an hour back")],
)
def test_it_works_again_when_the_clocks_agree(seconds: int) -> None:
    with outside_database() as outside:
        run(outside, PATH.format(functions=clocks(0)))
        service, worker = outside.ready_service("--no-worker"), outside.start_worker()
        wait_until(lambda: WORKER_RUNNING in worker.said(), within=20)
        load = Load([service])
        load.run(100)

        run(outside, clocks(20))
        assert service.answers("/health/ready") == 200
        run(outside, clocks(seconds))

        ready = service.get("/health/ready")
        assert ready.status_code == 503
        (failed,) = [check for check in ready.json()["checks"] if not check["passed"]]
        assert (failed["name"], failed["reasonCode"]) == ("clock", "clocksDiffer")
        assert service.answers("/health/live") == 200
        # Requests are not refused: tokens are verified by this machine's clock.
        load.run(100)
        wait_until(lambda: CLAIMS_NOTHING in worker.said(), within=10, otherwise=worker.said)
        wait_until(lambda: outside.value(REPORTED) == 1, within=10)

        run(outside, clocks(0))
        wait_until(lambda: CLAIMS_AGAIN in worker.said(), within=10, otherwise=worker.said)
        assert service.answers("/health/ready") == 200
        load.run(100)
        acknowledged = Counter(load.accepted)
        wait_until(lambda: acknowledged <= service.provisioned(), within=60, otherwise=worker.said)
        assert (len(load.accepted), load.refused, load.unanswered) == (300, [], 0)
        assert service.provisioned() == acknowledged
        assert (worker.stop(), service.stop()) == (0, 0)


def clocks(seconds: int) -> str:
    """Clocks that go wrong by so many seconds."""
    return "".join(
        FUNCTION.format(name=name, volatility=volatility, seconds=seconds) for name, volatility in CLOCKS.items()
    )


def run(outside: Outside, statements: str) -> None:
    """Run them as the one role that may do everything."""
    set_up = address(outside.folder / "postgres" / "data", roles.SET_UP, "chamberlain")

    async def execute() -> None:
        async with connected(set_up) as connection:
            await connection.execute(statements)

    asyncio.run(execute())
