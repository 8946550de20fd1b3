# SPDX-License-Identifier: Apache-2.0
"""One run: of the limit, or of a service with what comes about meanwhile."""

import time
from itertools import count

from bench.measuring.contestant import Contestant
from bench.measuring.limit import run_limit
from bench.measuring.load import run_load
from bench.measuring.processor import seconds_used
from bench.measuring.question import Question

LAST = """
SELECT array_agg(request_id::text)
FROM (SELECT request_id FROM chamberlain.request ORDER BY created_at DESC LIMIT 20) AS last
"""
# A queue that is not empty after this time is a fault, not a backlog.
DRAINED_WITHIN = 300.0

run_number = count(1)


def measure_limit(question: Question, contestant: Contestant, *, connections: int, seconds: int) -> dict[str, float]:
    """One run of pgbench on the database of this contestant."""
    used_before = seconds_used(contestant.processes)
    reached = run_limit(question.limit, contestant.database, connections=connections, seconds=seconds)
    used = seconds_used(contestant.processes) - used_before
    cpu = 1e6 * used / reached.transactions
    return {"rate": reached.rate, "ratio": 1.0, "p50": reached.p50, "p99": reached.p99, "cpu": cpu}


def measure(question: Question, contestant: Contestant, *, connections: int, seconds: int) -> dict[str, float]:
    """One run: submissions, and what has come about meanwhile and when the queue is empty."""
    made_before = contestant.database.count(question.made)
    accepted = f"SELECT count(*) FROM {contestant.requests}"
    accepted_before = contestant.database.count(accepted)
    used_before = seconds_used(contestant.processes)
    load = question.load(contestant.service, contestant.url, next(run_number))
    began = time.monotonic()
    answered = run_load(load, connections=connections, seconds=seconds)
    ended = time.monotonic()
    figures = {"rate": answered.rate, "p50": answered.p50, "p99": answered.p99}
    if contestant.has_worker:
        made = contestant.database.count(question.made) - made_before
        figures["made"] = made / (ended - began)
        wait_until_drained(question, contestant)
        figures["drain"] = time.monotonic() - ended
        check_number(answered.requests, contestant.database.count(question.made) - made_before, connections)
    figures["cpu"] = 1e6 * (seconds_used(contestant.processes) - used_before) / answered.requests
    check_number(answered.requests, contestant.database.count(accepted) - accepted_before, connections)
    return figures


def check_retrievable(question: Question, contestant: Contestant) -> None:
    """Check that the last requests that SQL counts can be found over HTTP, by their ids."""
    for request_id in contestant.database.texts(LAST):
        assert question.is_retrievable(contestant.service, request_id), request_id


def check_number(answered: int, written: int, connections: int) -> None:
    """Check that each answer has a row. Calls in flight when wrk ended have rows without an answer."""
    assert answered <= written <= answered + connections, (answered, written)


def wait_until_drained(question: Question, contestant: Contestant) -> None:
    """Wait until no job of the question is left."""
    end = time.monotonic() + DRAINED_WITHIN
    while contestant.database.count(question.unfinished):
        if time.monotonic() > end:
            raise SystemExit(f"The queue is not empty after {DRAINED_WITHIN} s.")
        time.sleep(0.05)
