# SPDX-License-Identifier: Apache-2.0
"""Does it matter how many tenants ask, and how many there are?

The same load from one tenant, from ten and from a hundred, with 64 connections; groups are asked for and made. Then
ten thousand idle tenants beside the one that asks. bench/README.md says what the columns mean.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from statistics import median
from uuid import uuid4

from bench.idle import measure_found
from bench.measuring.arguments import read_arguments
from bench.measuring.contestant import Contestant, contestant_of
from bench.measuring.processor import seconds_used
from bench.measuring.question import BENCH, Question
from bench.measuring.report import Row, report
from bench.measuring.run import measure
from bench.measuring.services import running_service
from bench.submit_group import QUESTION
from chamberlain.database.transactions import open_database
from chamberlain.queue import jobs
from chamberlain.queue.models import JobKind
from tests.services import COLLAB, Service

COLUMNS = {"ratio": ".2f", "rate": ",.0f", "p50": ".2f", "p99": ".2f", "cpu": ".0f", "made": ",.0f", "drain": ".1f"}
CONNECTIONS = 64
LATEST = """
SELECT array_agg(request_id || ' ' || tenant_id) FROM (
    SELECT DISTINCT ON (tenant_id) request_id, tenant_id FROM chamberlain.request
    WHERE tenant_id::text LIKE '%1_____' ORDER BY tenant_id, created_at DESC
) AS latest
"""

# Jobs of so many tenants that do not sleep yet.
AWAKE = """
SELECT greatest(2 * {} - count(*), 0) FROM chamberlain.job
WHERE kind IN ('subjectDiscover', 'auditSeal') AND run_at > now() + interval '1 hour'
"""
# Each new tenant is discovered and sealed once: some ten milliseconds each.
ASLEEP_WITHIN = timedelta(minutes=30)
CLAIMS = 200
MANY_COLUMNS = {"claim p50": ".2f", "claim p99": ".2f", "idle core": ".1%", "found p50": ".1f", "found p99": ".1f"}

Rounds = dict[str, list[Mapping[str, float]]]


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    asked = read_arguments(
        __doc__,
        quick={"rounds": 1, "seconds": 1, "numbers": (1, 20), "many": 500, "idle": 30},
        rounds=3,
        seconds=2,
        numbers=(1, 10, 100),
        many=10_000,
        idle=120,
    )
    rounds: Rounds = defaultdict(list)
    with running_service() as service:
        contestant = contestant_of("worker within", service)
        contestant.database.execute(_copies(1, max(asked.numbers)))
        questions = {number: _question(service, number) for number in asked.numbers}
        for question in questions.values():
            measure(question, contestant, connections=CONNECTIONS, seconds=2)
        for _ in range(asked.rounds):
            first = 0.0
            for number, question in questions.items():
                figures = measure(question, contestant, connections=CONNECTIONS, seconds=asked.seconds)
                first = first or figures["rate"]
                rounds[f"{number} tenant{'s' * (number > 1)}"].append({**figures, "ratio": figures["rate"] / first})
        _check(contestant, max(asked.numbers))
    report("tenants", [Row(*each) for each in rounds.items()], columns=COLUMNS)
    many = [Row(f"{asked.many:,} others", [_measure_many(asked.many, asked.rounds, timedelta(seconds=asked.idle))])]
    report("tenants-idle", many, columns=MANY_COLUMNS)


def _measure_many(number: int, rounds: int, idle: timedelta) -> Mapping[str, float]:
    """Measure claims, processor time and the time to a group of the last tenant, with so many others idle."""
    with running_service() as service:
        contestant = contestant_of("worker within", service)
        # Idle tenants need no users.
        contestant.database.execute(_copies(number + 1, number + 1))
        contestant.database.execute(f"SELECT bench.copy_tenant('chamberlain.tenant', 1, {number})")
        contestant.database.settle()
        assert contestant.database.wait_for_none(AWAKE.format(number), ASLEEP_WITHIN.total_seconds())
        contestant.database.settle()
        claims = asyncio.run(_time_claims(contestant.database.worker))
        began = seconds_used(contestant.processes)
        time.sleep(idle.total_seconds())
        used = (seconds_used(contestant.processes) - began) / idle.total_seconds()
        measure_found(contestant, 20, _address(number + 1))
        found = [measure_found(contestant, 100, _address(number + 1)) for _ in range(rounds)]
        claimed = {"claim p50": median(claims), "claim p99": sorted(claims)[len(claims) * 99 // 100]}
        return {**claimed, "idle core": used, **{name: median(each[name] for each in found) for name in found[0]}}


async def _time_claims(address: str) -> list[float]:
    """Milliseconds of claims that find nothing, on one connection."""
    database = await open_database(address, most=1, name="bench")
    try:
        times = []
        for _ in range(CLAIMS):
            async with database.across_tenants() as tx:
                began = time.perf_counter()
                await jobs.claim(tx, uuid4(), kinds=JobKind, most=200, lease=timedelta(seconds=10), tenant_limit=500)
                times.append(1e3 * (time.perf_counter() - began))
        return times
    finally:
        await database.close()


def _copies(first: int, last: int) -> str:
    """Return the statements that copy the tenant of the example."""
    return (BENCH / "tenants.sql").read_text().replace(":first", str(first)).replace(":last", str(last))


def _question(service: Service, number: int) -> Question:
    tokens = " ".join(service.token(_address(each), COLLAB) for each in range(1, number + 1))
    return replace(QUESTION, name="tenants", environment={**QUESTION.environment, "BENCH_TOKENS": tokens})


def _address(number: int) -> str:
    return f"ada@estate-{number}.example"


def _check(contestant: Contestant, number: int) -> None:
    """Each tenant has asked for groups, and finds the last one; the next tenant does not."""
    latest = contestant.database.texts(LATEST)
    assert len(latest) == number, latest
    for request_id, tenant_id in map(str.split, latest):
        own = int(tenant_id[-5:])
        assert len(contestant.service.find_group(request_id, _address(own))) == 1, request_id
        assert not contestant.service.find_group(request_id, _address(own % number + 1)) or number == 1, request_id


if __name__ == "__main__":
    main()
