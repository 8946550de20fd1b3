"""Does it matter how many tenants ask?

The same load from one tenant, from ten and from a hundred, with 64 connections; groups are asked for and made.
bench/README.md says what the columns mean.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from bench.measuring.arguments import read_arguments
from bench.measuring.contestant import Contestant, contestant_of
from bench.measuring.question import BENCH, Question
from bench.measuring.report import Row, report
from bench.measuring.run import measure
from bench.measuring.services import running_service
from bench.submit_group import QUESTION
from tests.services import COLLAB, Service

COLUMNS = {"ratio": ".2f", "rate": ",.0f", "p50": ".2f", "p99": ".2f", "cpu": ".0f", "made": ",.0f", "drain": ".1f"}
CONNECTIONS = 64
LATEST = """
SELECT array_agg(request_id || ' ' || tenant_id) FROM (
    SELECT DISTINCT ON (tenant_id) request_id, tenant_id FROM chamberlain.request
    WHERE tenant_id::text LIKE '%1_____' ORDER BY tenant_id, created_at DESC
) AS latest
"""

Rounds = dict[str, list[Mapping[str, float]]]


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    asked = read_arguments(
        __doc__, quick={"rounds": 1, "seconds": 1, "numbers": (1, 20)}, rounds=3, seconds=2, numbers=(1, 10, 100)
    )
    rounds: Rounds = defaultdict(list)
    with running_service() as service:
        contestant = contestant_of("worker within", service)
        contestant.database.execute((BENCH / "tenants.sql").read_text().replace(":number", str(max(asked.numbers))))
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
