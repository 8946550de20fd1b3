# SPDX-License-Identifier: Apache-2.0
"""How long does a start take, and how much memory does a running service need?

From the start of the command to the first 200 of /health/ready, with an empty data folder (cold) and with one that was
used before (warm); and the memory of the process with all of PostgreSQL's, at rest, under load and at rest again.
bench/README.md says what the columns mean.
"""

import time
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

from bench.measuring.arguments import read_arguments
from bench.measuring.load import Load, run_load
from bench.measuring.memory import megabytes_used
from bench.measuring.processor import seconds_used
from bench.measuring.question import BENCH
from bench.measuring.report import Row, report
from bench.measuring.services import folder_on_disk
from tests.services import ADA_MAIL, COLLAB, GROUP_TEMPLATE, Service, start_service

COLUMNS = {"seconds": ".2f", "cpu": ".2f", "together": ".0f", "service": ".0f", "PostgreSQL": ".0f"}
# Between two looks at whether it is ready, and at its memory.
LOOK_EVERY = 0.005
READY_WITHIN = 60.0
# After a start, and after a load, until nothing of it is left to be done.
REST = 3.0

Rounds = dict[str, list[Mapping[str, float]]]


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    asked = read_arguments(__doc__, quick={"rounds": 1, "seconds": 2}, rounds=3, seconds=8)
    rounds: Rounds = defaultdict(list)
    for number in range(asked.rounds):
        with folder_on_disk() as folder:
            service = start_service(folder)
            rounds["cold start"].append(_until_ready(service))
            service.stop()
            service = start_service(folder)
            rounds["warm start"].append(_until_ready(service))
            if number == 0:
                _measure_memory(service, asked.seconds, rounds)
            assert service.stop() == 0, service.said()
    report("start", [Row(*each) for each in rounds.items()], columns=COLUMNS)


def _until_ready(service: Service) -> dict[str, float]:
    """Seconds since it was started a moment ago, and the processor time that it took, PostgreSQL's included."""
    began = time.perf_counter()
    while not _is_ready(service.port):
        assert service.process.poll() is None, service.said()
        assert time.perf_counter() < began + READY_WITHIN, service.said()
        time.sleep(LOOK_EVERY)
    return {"seconds": time.perf_counter() - began, "cpu": seconds_used([service.process.pid])}


def _is_ready(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _measure_memory(service: Service, seconds: int, rounds: Rounds) -> None:
    time.sleep(REST)
    rounds["memory at rest"].append(megabytes_used(service.process.pid))
    rounds["memory under load"].append(_under_load(service, seconds))
    time.sleep(REST)
    rounds["memory at rest again"].append(megabytes_used(service.process.pid))


def _under_load(service: Service, seconds: int) -> dict[str, float]:
    """The most that was seen while groups were asked for with 64 connections and made."""
    environment = {"BENCH_TEMPLATE": GROUP_TEMPLATE, "BENCH_TOKEN": service.token(ADA_MAIL, COLLAB), "BENCH_RUN": "1"}
    load = Load(BENCH / "submit_group.lua", service.url, environment)
    seen = []
    with ThreadPoolExecutor(max_workers=1) as beside:
        running = beside.submit(run_load, load, connections=64, seconds=seconds)
        while not running.done():
            seen.append(megabytes_used(service.process.pid))
            time.sleep(0.2)
        running.result()
    return max(seen, key=lambda each: each["together"])


if __name__ == "__main__":
    main()
