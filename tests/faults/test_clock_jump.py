"""The database's clock jumps: the service says that it is not ready, goes on with what it can, and loses nothing.

The clock of a machine is nobody's to set in a test. What the database tells its clients is: functions of these names
stand before its own ones on the path that every connection is given.
"""

import asyncio
from collections import Counter

import pytest

from chamberlain.embedded.postgres import roles
from chamberlain.embedded.postgres.addresses import address
from tests.faults.load import Load
from tests.postgres import connected
from tests.services import Outside, outside_database, wait_until

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
CLOCKS = {"now": "STABLE", "clock_timestamp": "VOLATILE", "statement_timestamp": "STABLE"}


@pytest.mark.parametrize(
    "seconds",
    [pytest.param(3_600, id="an hour ahead"), pytest.param(-3_600, id="an hour back", marks=pytest.mark.heavy)],
)
def test_it_works_again_when_the_clocks_agree(seconds: int) -> None:
    with outside_database() as outside:
        run(outside, PATH.format(functions=clocks(0)))
        service, worker = outside.ready_service("--no-worker"), outside.start_worker()
        wait_until(lambda: "The worker is at work." in worker.said(), within=20)
        load = Load([service])
        load.run(100)

        run(outside, clocks(20))
        assert service.answers("/health/ready") == 200
        run(outside, clocks(seconds))

        ready = service.get("/health/ready")
        assert ready.status_code == 503
        assert [check["passed"] for check in ready.json()["checks"]] == [True, False]
        assert "The clocks of this machine and the database differ by" in ready.json()["checks"][1]["detail"]
        assert service.answers("/health/live") == 200
        # Who asks all the same is not refused: tokens go by this machine's clock.
        load.run(100)
        if seconds > 0:
            # What is queued now is due in an hour when the clock goes back.
            wait_until(lambda: len(service.provisioned()) == 200, within=60, otherwise=worker.said)

        run(outside, clocks(0))
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
