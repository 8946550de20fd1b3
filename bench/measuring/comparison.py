# SPDX-License-Identifier: Apache-2.0
"""The comparison: the limit and all contestants in turn, round after round, at each number of connections."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from bench.measuring.arguments import read_arguments
from bench.measuring.contestant import Contestant, contestants, ordinary_contestant
from bench.measuring.limit import prepare_limit, run_limit
from bench.measuring.ordinary import is_there
from bench.measuring.question import Question
from bench.measuring.report import Row, report
from bench.measuring.run import check_retrievable, measure, measure_limit

CONNECTIONS = (1, 16, 64, 256)
QUICK = {"rounds": 1, "seconds": 1, "connections": (64,)}
COLUMNS = {
    "ratio": ".2f", "rate": ",.0f", "p50": ".2f", "p99": ".2f", "cpu": ".0f", "made": ",.0f", "made ratio": ".2f",
    "drain": ".1f",
}  # fmt: skip

Rounds = dict[str, list[Mapping[str, float]]]


def compare(question: Question, description: str | None) -> None:
    """Read the arguments of the command line, measure and report. bench/README.md says what the columns mean."""
    asked = read_arguments(description, quick=QUICK, rounds=3, seconds=2, connections=CONNECTIONS)
    rounds: Rounds = defaultdict(list)
    with ExitStack() as stack:
        all_of_them = stack.enter_context(contestants())
        prepare_limit(question.limit, all_of_them[0].database)
        if question.has_ordinary_way and not is_there():
            print("Without the ordinary way, whose environment is made by `python3 dev.py bench`.")
        elif question.has_ordinary_way:
            all_of_them = [stack.enter_context(ordinary_contestant(all_of_them[0])), *all_of_them]
        if question.preparation is not None:
            for contestant in all_of_them:
                contestant.database.execute(question.preparation.read_text())
        warm_up(question, all_of_them, seconds=min(asked.seconds, 2))
        for _ in range(asked.rounds):
            for connections in asked.connections:
                in_turn(question, all_of_them, rounds, connections=connections, seconds=asked.seconds)
    report(question.name, rows_of(rounds), columns=COLUMNS)


def in_turn(
    question: Question, all_of_them: Sequence[Contestant], rounds: Rounds, *, connections: int, seconds: int
) -> None:
    """One round at one number of connections: the limit, and then everybody."""
    # Else each would pay for tidying up behind the one before: on the same disk, often in the same database.
    all_of_them[0].database.settle()
    limit = measure_limit(question, all_of_them[0], connections=connections, seconds=seconds)
    rounds[f"pgbench, {connections}"].append(limit)
    for contestant in all_of_them:
        contestant.database.settle()
        figures = measure(question, contestant, connections=connections, seconds=seconds)
        figures["ratio"] = figures["rate"] / limit["rate"]
        if "made" in figures:
            figures["made ratio"] = figures["made"] / limit["rate"]
        rounds[f"{contestant.name}, {connections}"].append(figures)


def warm_up(question: Question, all_of_them: Sequence[Contestant], *, seconds: int) -> None:
    """Have everybody come to what they are like when they run for a while."""
    run_limit(question.limit, all_of_them[0].database, connections=64, seconds=1)
    for contestant in all_of_them:
        measure(question, contestant, connections=64, seconds=seconds)
        if contestant.has_worker:
            check_retrievable(question, contestant)


def rows_of(rounds: Rounds) -> list[Row]:
    """Build the rows of the report, by number of connections."""
    return [Row(name, figures) for name, figures in sorted(rounds.items(), key=_by_connections)]


def _by_connections(entry: tuple[str, object]) -> int:
    return int(entry[0].rpartition(" ")[2])
