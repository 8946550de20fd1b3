# SPDX-License-Identifier: Apache-2.0
"""How long does each page of the console take, when nothing else is going on?

One page at a time, over one connection, as the user who sees most of it. bench/README.md explains the columns.
"""

import json
import ssl
import time
from collections import defaultdict
from collections.abc import Mapping
from http.client import HTTPConnection
from statistics import quantiles

import httpx2

from bench.measuring.arguments import read_arguments
from bench.measuring.processor import seconds_used
from bench.measuring.report import Row, report
from bench.measuring.services import running_service
from chamberlain.console.app import PAGES
from tests.console.browser import Browser
from tests.console.objects import VISITORS, Objects, own_objects
from tests.services import Service

COLUMNS = {"p50": ".2f", "p99": ".2f", "cpu": ".2f", "kilobytes": ".1f"}
# Streams do not end, and the search for people is limited to 30 a minute.
PATHS = sorted(
    path
    for method, path, _ in PAGES
    if method == "GET" and not path.endswith("/events") and not path.startswith("/console/people")
)
# Fills the caches and the statements of the connections.
WARM_UP = 20

Rounds = dict[str, list[Mapping[str, float]]]


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    quick = {"rounds": 1, "number": 30, "objects": 3}
    asked = read_arguments(__doc__, quick=quick, rounds=3, number=200, objects=40)
    rounds: Rounds = defaultdict(list)
    with running_service() as service:
        objects = [own_objects(service, f"Orchard {number}") for number in range(asked.objects)][-1]
        cookies = [_sign_in(service, address) for address in VISITORS]
        for _ in range(asked.rounds):
            for path in PATHS:
                rounds[path].append(_measure(service, objects, cookies, path, asked.number))
    report("console", [Row(*each) for each in rounds.items()], columns=COLUMNS)


def _sign_in(service: Service, address: str) -> str:
    """Sign in as a browser does, and return the header with its cookies."""
    passwords = json.loads((service.data_dir / "example-users.json").read_text(encoding="utf-8"))
    trusting = ssl.create_default_context(cafile=service.data_dir / "ca.pem")
    with httpx2.Client(verify=trusting, timeout=30, trust_env=False) as http:
        browser = Browser(http)
        browser.sign_in(f"{service.url}/console/", address, passwords[address])
    return "; ".join(f"{name}={value}" for (host, name), value in browser.cookies.items() if host == "127.0.0.1")


def _measure(service: Service, objects: Objects, cookies: list[str], path: str, number: int) -> Mapping[str, float]:
    """Load a page many times, as the user who sees most of it."""
    connection = HTTPConnection("127.0.0.1", service.port, timeout=30)
    seen = [(*_load(connection, objects.fill(path), cookie), cookie) for cookie in cookies]
    _, cookie = max((size, cookie) for status, size, cookie in seen if status == 200)
    for _ in range(WARM_UP):
        _load(connection, objects.fill(path), cookie)
    used, times, size = seconds_used([service.process.pid]), [], 0
    for _ in range(number):
        began = time.perf_counter()
        status, size = _load(connection, objects.fill(path), cookie)
        times.append(1e3 * (time.perf_counter() - began))
        assert status == 200, path
    used = seconds_used([service.process.pid]) - used
    connection.close()
    cuts = quantiles(times, n=100)
    return {"p50": cuts[49], "p99": cuts[98], "cpu": 1e3 * used / number, "kilobytes": size / 1000}


def _load(connection: HTTPConnection, path: str, cookie: str) -> tuple[int, int]:
    connection.request("GET", path, headers={"Cookie": cookie, "Accept": "text/html"})
    answer = connection.getresponse()
    return answer.status, len(answer.read())


if __name__ == "__main__":
    main()
