# SPDX-License-Identifier: Apache-2.0
"""How long after its acknowledgement can a group be found, when nothing else is going on?

One group at a time: POST, and then GET by its requestId in the directory until it is there. With the worker in the
process of the API, and in one of its own. bench/README.md says what the columns mean.
"""

import json
import time
from collections import defaultdict
from collections.abc import Mapping
from http.client import HTTPConnection
from statistics import quantiles

from bench.measuring.arguments import read_arguments
from bench.measuring.contestant import Contestant, contestant_of
from bench.measuring.report import Row, report
from bench.measuring.services import running_services
from bench.measuring.worker import worker_of
from tests.services import ADA_MAIL, COLLAB, GRAPH, GROUP_TEMPLATE

COLUMNS = {"found p50": ".2f", "found p99": ".2f", "POST p50": ".2f", "POST p99": ".2f", "GETs": ".1f"}
# Pause between two reads. Reading without a pause would take processor time from the worker.
PAUSE = 0.001
# A group that is not there after this time is a fault.
FOUND_WITHIN = 30.0

Rounds = dict[str, list[Mapping[str, float]]]


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    asked = read_arguments(__doc__, quick={"rounds": 1, "number": 40}, rounds=3, number=200)
    rounds: Rounds = defaultdict(list)
    with running_services((), ("--no-worker",)) as (together, apart), worker_of(apart) as worker:
        working = [contestant_of("worker within", together), contestant_of("worker apart", apart, worker)]
        for contestant in working:
            measure_found(contestant, 20)
        for _ in range(asked.rounds):
            for contestant in working:
                rounds[contestant.name].append(measure_found(contestant, asked.number))
    report("idle", [Row(*each) for each in rounds.items()], columns=COLUMNS)


def measure_found(contestant: Contestant, number: int, address: str = ADA_MAIL) -> dict[str, float]:
    """Ask for so many groups as this user, one after the other, and look for each until it is found."""
    connection = HTTPConnection("127.0.0.1", contestant.service.port, timeout=FOUND_WITHIN)
    asks = {"Authorization": f"Bearer {contestant.service.token(address, COLLAB)}", "Content-Type": "application/json"}
    looks = {"Authorization": f"Bearer {contestant.service.token(address, f'{GRAPH}/Group.Read.All')}"}
    answered, found, gets = [], [], 0
    for each in range(number):
        began = time.perf_counter()
        request_id = _ask(connection, asks, f"Idle {each}")
        acknowledged = time.perf_counter()
        gets += _look_until_found(connection, looks, request_id)
        answered.append(1e3 * (acknowledged - began))
        found.append(1e3 * (time.perf_counter() - acknowledged))
    connection.close()
    return {**_spread("POST", answered), **_spread("found", found), "GETs": gets / number}


def _ask(connection: HTTPConnection, headers: Mapping[str, str], name: str) -> str:
    body = json.dumps({"displayName": name, "templateId": GROUP_TEMPLATE})
    connection.request("POST", "/collab/v1/groups/", body, headers)
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == 202, content
    return str(json.loads(content)["requestId"])


def _look_until_found(connection: HTTPConnection, headers: Mapping[str, str], request_id: str) -> int:
    """Count the reads until the group is found. It must be one group with the id of the request."""
    path = f"/graph/v1.0/groups?$filter=chamberlain_group/requestId%20eq%20'{request_id}'"
    end, looks = time.perf_counter() + FOUND_WITHIN, 0
    while time.perf_counter() < end:
        looks += 1
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        if found := json.loads(content)["value"]:
            assert [each["chamberlain_group"]["requestId"] for each in found] == [request_id], content
            return looks
        time.sleep(PAUSE)
    raise SystemExit(f"The group of request {request_id} is not there after {FOUND_WITHIN} s.")


def _spread(name: str, milliseconds: list[float]) -> dict[str, float]:
    hundredths = quantiles(milliseconds, n=100, method="inclusive")
    return {f"{name} p50": hundredths[49], f"{name} p99": hundredths[98]}


if __name__ == "__main__":
    main()
