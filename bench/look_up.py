# SPDX-License-Identifier: Apache-2.0
"""How fast is what was made found again, and does it matter how much there is?

Groups by the id of their request, requests by their id, and lists of both, first pages and pages behind all others, at
10 thousand and at a million groups, with 16 connections. bench/README.md says what the columns mean.
"""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.measuring.arguments import read_arguments
from bench.measuring.filling import ADMINISTRATOR, Filling
from bench.measuring.load import Load, run_load
from bench.measuring.processor import seconds_used
from bench.measuring.question import BENCH
from bench.measuring.report import Row, report
from bench.measuring.services import running_service
from tests.services import ADA_MAIL, GRAPH, Service

COLUMNS = {"ratio": ".2f", "rate": ",.0f", "p50": ".2f", "p99": ".2f", "cpu": ".0f"}
READER = f"{GRAPH}/Group.Read.All"
# So many ids are asked for in turn, and so many of them are looked at beforehand.
ASKED, LOOKED_AT = 20_000, 20
PAGE = 50

Answer = Mapping[str, object]
Rounds = dict[str, list[dict[str, float]]]


@dataclass(frozen=True, slots=True)
class Look:
    """One way to look: the paths that are asked for, and whether an answer is what it should be."""

    name: str
    scope: str
    paths: Sequence[str]
    is_right: Callable[[str, Answer], bool]


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    quick = {"rounds": 1, "seconds": 1, "sizes": (1_000, 10_000)}
    asked = read_arguments(__doc__, quick=quick, rounds=3, seconds=1, sizes=(10_000, 1_000_000))
    rounds: Rounds = defaultdict(list)
    with running_service() as service:
        filling = Filling(service)
        # Taken before there is more: the pages behind them stay behind all copies.
        lists = _lists(service)
        for size in asked.sizes:
            filling.fill(size)
            looks = [*_by_id(filling.sample(ASKED)), *lists]
            for look in looks:
                _check(service, look)
            for _ in range(asked.rounds):
                for look in looks:
                    rounds[f"{look.name}, {size:,}"].append(_measure(service, look, asked.seconds))
    report("look_up", [Row(*each) for each in _with_ratios(rounds, asked.sizes[0]).items()], columns=COLUMNS)


def _by_id(request_ids: Sequence[str]) -> Sequence[Look]:
    groups = [f"/graph/v1.0/groups?$filter=chamberlain_group/requestId%20eq%20'{each}'" for each in request_ids]
    requests = [f"/requests/v1/{each}/" for each in request_ids]
    return (
        Look("group by requestId", READER, groups, _is_the_group),
        Look("request", ADMINISTRATOR, requests, lambda path, answer: str(answer["requestId"]) in path),
    )


def _lists(service: Service) -> Sequence[Look]:
    """Each list from its beginning, and from behind its first page."""
    return [
        *_list(service, "requests", f"/requests/v1/?limit={PAGE}", ADMINISTRATOR),
        *_list(service, "managed groups", f"/admin/collab/v1/manage/groups/?limit={PAGE}", ADMINISTRATOR),
        *_list(service, "groups of the directory", f"/graph/v1.0/groups?$top={PAGE}&$orderby=displayName", READER),
    ]


def _list(service: Service, name: str, path: str, scope: str) -> Sequence[Look]:
    answer = service.get(path, scope=scope).json()
    if "@odata.nextLink" in answer:
        behind = str(answer["@odata.nextLink"]).partition("/graph/")[2]
        return Look(name, scope, [path], _is_full), Look(f"{name}, deep", scope, [f"/graph/{behind}"], _is_last)
    behind = f"{path}&cursor={answer['nextCursor']}"
    return Look(name, scope, [path], _is_full), Look(f"{name}, deep", scope, [behind], _is_last)


def _is_the_group(path: str, answer: Answer) -> bool:
    found = answer["value"]
    assert isinstance(found, list)
    return len(found) == 1 and found[0]["chamberlain_group"]["requestId"] in path


def _is_full(_: str, answer: Answer) -> bool:
    return len(_items(answer)) == PAGE


def _is_last(_: str, answer: Answer) -> bool:
    """No copy is on a page behind all of them."""
    items = _items(answer)
    return bool(items) and not any("Copied" in str(each) for each in items[1:])


def _items(answer: Answer) -> Sequence[object]:
    items = answer.get("items", answer.get("value"))
    assert isinstance(items, list)
    return items


def _check(service: Service, look: Look) -> None:
    for path in look.paths[:LOOKED_AT]:
        answer = service.get(path, scope=look.scope)
        assert answer.status_code == 200, answer.text
        assert look.is_right(path, answer.json()), (path, answer.text)


def _measure(service: Service, look: Look, seconds: int) -> dict[str, float]:
    at_least = min(len(service.get(path, scope=look.scope).content) for path in look.paths[:LOOKED_AT])
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "paths")
        paths.write_text("\n".join(look.paths))
        environment = {"BENCH_TOKEN": service.token(ADA_MAIL, look.scope), "BENCH_PATHS": str(paths)}
        used_before = seconds_used([service.process.pid])
        load = Load(BENCH / "measuring" / "gets.lua", service.url, environment)
        answered = run_load(load, connections=16, seconds=seconds)
    used = seconds_used([service.process.pid]) - used_before
    # Something was found each time: who finds nothing says so in fewer bytes.
    assert answered.bytes >= at_least * answered.requests, (look.name, answered, at_least)
    return {"rate": answered.rate, "p50": answered.p50, "p99": answered.p99, "cpu": 1e6 * used / answered.requests}


def _with_ratios(rounds: Rounds, smallest: int) -> Rounds:
    """`ratio` is how many times as long it takes as with the smallest number of groups."""
    for name, figures in rounds.items():
        first = median(each["rate"] for each in rounds[f"{name.rpartition(', ')[0]}, {smallest:,}"])
        for each in figures:
            each["ratio"] = first / each["rate"]
    return dict(sorted(rounds.items(), key=lambda entry: entry[0].rpartition(", ")[0]))


if __name__ == "__main__":
    main()
