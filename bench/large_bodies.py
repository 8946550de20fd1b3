# SPDX-License-Identifier: Apache-2.0
"""What do large bodies cost, and do they hold up small ones?

Groups with no members, a hundred, a thousand and ten thousand (390 KB), with 4 connections; and those with none while
as many connections send the largest. bench/README.md says what the columns mean.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from bench.measuring.arguments import read_arguments
from bench.measuring.beside import run_beside
from bench.measuring.contestant import Contestant, contestant_of
from bench.measuring.question import BENCH, Question
from bench.measuring.report import Row, report
from bench.measuring.run import LAST, check_retrievable, measure, run_number, wait_until_drained
from bench.measuring.services import running_service
from bench.submit_group import QUESTION

COLUMNS = {"ratio": ".2f", "rate": ",.0f", "MB/s": ",.1f", "p50": ".2f", "p99": ".2f", "cpu": ",.0f", "made": ",.0f"}
MEMBERS = (0, 100, 1_000, 10_000)
CONNECTIONS = 4
# Bytes of a member in a body, and of the rest of it.
MEMBER_BYTES, OTHER_BYTES = 39, 110
MOST = max(MEMBERS)
PEOPLE = BENCH / "large_bodies.sql"
MEMBERS_OF = """
SELECT count(*) FROM directory.memberships m JOIN directory.extension_values v USING (tenant_id, group_id)
WHERE v.value = '{}' AND m.is_member
"""

Rounds = dict[str, list[Mapping[str, float]]]


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    asked = read_arguments(__doc__, quick={"rounds": 1, "seconds": 1}, rounds=3, seconds=2)
    rounds: Rounds = defaultdict(list)
    with running_service() as service:
        contestant = contestant_of("worker within", service)
        contestant.database.execute(PEOPLE.read_text())
        measure(_question(0), contestant, connections=CONNECTIONS, seconds=2)
        for _ in range(asked.rounds):
            alone: Mapping[str, float] = {}
            for members in MEMBERS:
                figures = _measure(contestant, members, asked.seconds)
                alone = alone or figures
                rounds[f"{members:,} members"].append({**figures, "ratio": figures["rate"] / alone["rate"]})
            beside = _measure_beside(contestant, asked.seconds)
            rounds["none, beside large ones"].append({**beside, "ratio": beside["rate"] / alone["rate"]})
    report("large_bodies", [Row(*each) for each in rounds.items()], columns=COLUMNS)


def _question(members: int) -> Question:
    return replace(QUESTION, name="large_bodies", environment={**QUESTION.environment, "BENCH_MEMBERS": str(members)})


def _measure(contestant: Contestant, members: int, seconds: int) -> dict[str, float]:
    question = _question(members)
    figures = measure(question, contestant, connections=CONNECTIONS, seconds=seconds)
    check_retrievable(question, contestant)
    last = contestant.database.texts(LAST)[0]
    found = contestant.database.count(MEMBERS_OF.format(last))
    # The caller is an owner, and owners are members.
    assert found == members + 1, (last, found)
    figures["MB/s"] = figures["rate"] * (OTHER_BYTES + MEMBER_BYTES * members) / 1e6
    return figures


def _measure_beside(contestant: Contestant, seconds: int) -> dict[str, float]:
    """Measure the latency of small bodies beside large ones."""
    small, large = (
        _question(members).load(contestant.service, contestant.url, next(run_number)) for members in (0, MOST)
    )
    answered, _ = run_beside([(small, CONNECTIONS), (large, CONNECTIONS)], seconds=seconds)
    wait_until_drained(QUESTION, contestant)
    return {"rate": answered.rate, "p50": answered.p50, "p99": answered.p99}


if __name__ == "__main__":
    main()
