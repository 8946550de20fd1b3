# SPDX-License-Identifier: Apache-2.0
"""Does a request cost more, the more there is already?

Groups are asked for and made, with 64 connections, when there are a thousand of them, and ten thousand, a hundred
thousand, a million. bench/README.md says what the columns mean.
"""

from collections import defaultdict
from statistics import median

from bench.measuring.arguments import read_arguments
from bench.measuring.contestant import contestant_of
from bench.measuring.filling import Filling
from bench.measuring.report import Row, report
from bench.measuring.run import check_retrievable, measure
from bench.measuring.services import running_service
from bench.submit_group import QUESTION

COLUMNS = {"ratio": ".2f", "rate": ",.0f", "p50": ".2f", "p99": ".2f", "cpu": ".0f", "made": ",.0f", "drain": ".1f"}
CONNECTIONS = 64

Rounds = dict[str, list[dict[str, float]]]


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    quick = {"rounds": 1, "seconds": 1, "sizes": (1_000, 10_000)}
    asked = read_arguments(__doc__, quick=quick, rounds=3, seconds=2, sizes=(1_000, 10_000, 100_000, 1_000_000))
    rounds: Rounds = defaultdict(list)
    with running_service() as service:
        contestant = contestant_of("worker within", service)
        filling = Filling(service)
        measure(QUESTION, contestant, connections=CONNECTIONS, seconds=2)
        for size in asked.sizes:
            filling.fill(size)
            for _ in range(asked.rounds):
                figures = measure(QUESTION, contestant, connections=CONNECTIONS, seconds=asked.seconds)
                rounds[f"{size:,}"].append(figures)
            check_retrievable(QUESTION, contestant)
    _add_ratios(rounds)
    report("growth", [Row(*each) for each in rounds.items()], columns=COLUMNS)


def _add_ratios(rounds: Rounds) -> None:
    """`ratio` is how much processor time a request takes, as a part of what it takes when there is least."""
    least = median(each["cpu"] for each in next(iter(rounds.values())))
    for figures in rounds.values():
        for each in figures:
            each["ratio"] = each["cpu"] / least


if __name__ == "__main__":
    main()
