# SPDX-License-Identifier: Apache-2.0
"""How much processor time does each speed trick of `fastpath/` save?

A service with all tricks, services without one each, and a service without any answer in turn. Each line has the median
of the processor time of the service per request in microseconds, without PostgreSQL and load, and the median of its
ratios to the service with all tricks in the same round. bench/README.md says how to run it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from bench import assign, submit_group
from bench.measuring.arguments import read_arguments
from bench.measuring.database import database_of
from bench.measuring.load import Load, run_load
from bench.measuring.question import BENCH
from bench.measuring.services import folder_on_disk
from chamberlain.fastpath import Trick
from tests.services import ADA_MAIL, GRAPH, Service, start_service

ALL = "all tricks"
CONNECTIONS = 16
LAST = """
SELECT array_agg(request_id::text)
FROM (SELECT request_id FROM chamberlain.request ORDER BY created_at DESC LIMIT 1000) AS last
"""


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    asked = read_arguments(__doc__, quick={"rounds": 1, "seconds": 1}, rounds=15, seconds=1)
    without: dict[str, Sequence[str]] = {ALL: (), **{f"without {each}": (each,) for each in Trick}}
    without["without any"] = tuple(Trick)
    used: dict[tuple[str, str], list[float]] = defaultdict(list)
    with ExitStack() as stack:
        services = {name: _started(stack, tricks) for name, tricks in without.items()}
        paths = {name: _prepared(service, stack) for name, service in services.items()}
        for round_ in range(asked.rounds + 1):
            for question in ("POST group", "PATCH", "lookup"):
                for name, service in services.items():
                    load = _load(question, service, paths[name], round_ + 1)
                    seen = _microseconds(service, load, asked.seconds)
                    # The first round warms up.
                    if round_:
                        used[question, name].append(seen)
    for (question, name), figures in used.items():
        ratio = median(one / base for one, base in zip(figures, used[question, ALL], strict=True))
        print(f"{question:12} {name:28} {median(figures):6.0f} us  x {ratio:.2f}")


def _started(stack: ExitStack, without: Sequence[str]) -> Service:
    environment: Mapping[str, str] = {
        "BENCH_WITHOUT": ",".join(without),
        "PYTHONPATH": str(Path(__file__).with_name("without")),
    }
    folder = stack.enter_context(folder_on_disk())
    service = start_service(folder, options=("--no-worker",), environment=environment)
    stack.callback(service.stop)
    return service


def _prepared(service: Service, stack: ExitStack) -> Path:
    """Make groups to assign to and requests to look up. Returns the file with the paths of the lookups."""
    service.wait_until_ready()
    database = database_of(service)
    assert assign.QUESTION.preparation is not None
    database.execute(assign.QUESTION.preparation.read_text())
    run_load(submit_group.QUESTION.load(service, service.url, 0), connections=CONNECTIONS, seconds=2)
    paths = stack.enter_context(folder_on_disk()) / "paths"
    lookup = "/graph/v1.0/groups?$filter=chamberlain_group/requestId%20eq%20'{}'"
    paths.write_text("\n".join(map(lookup.format, database.texts(LAST))))
    return paths


def _load(question: str, service: Service, paths: Path, run: int) -> Load:
    if question == "POST group":
        return submit_group.QUESTION.load(service, service.url, run)
    if question == "PATCH":
        return assign.QUESTION.load(service, service.url, run)
    token = service.token(ADA_MAIL, f"{GRAPH}/Group.Read.All")
    return Load(BENCH / "measuring" / "gets.lua", service.url, {"BENCH_TOKEN": token, "BENCH_PATHS": str(paths)})


def _microseconds(service: Service, load: Load, seconds: int) -> float:
    before = _nanoseconds(service)
    answered = run_load(load, connections=CONNECTIONS, seconds=seconds)
    return (_nanoseconds(service) - before) / 1000 / answered.requests


def _nanoseconds(service: Service) -> int:
    """The time on a processor of all threads (proc_pid_schedstat), finer than the ticks of `stat`."""
    tasks = Path(f"/proc/{service.process.pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir())


if __name__ == "__main__":
    main()
