# SPDX-License-Identifier: Apache-2.0
"""Compare the processor time of a request with another checkout.

    python3 -m bench.house.processor OLD [--rounds N] [--calls N]

OLD has its own .venv. One API process of each checkout runs on a database of its own. In each round both answer the
same calls in turn: POST group, PATCH of an assignment, and the lookup of a group by its request id. The figure is the
processor time of the API process per call. The last column is the median of the ratios.
"""

import argparse
import asyncio
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx2

from bench.measuring.processor import seconds_used
from tests import services
from tests.services import API, GRAPH, GROUP_TEMPLATE, Service, outside_database, run_command, wait_until

CONNECTIONS = 16
GUEST_TEMPLATES = ("7e000000-0000-4000-8000-000000000021", "00000000-0000-0000-0000-000000000000")
MANAGED = "/admin/collab/v1/manage/groups/"
CONFIG = f"{API}/admin/Config.ReadWrite.All"


@dataclass(slots=True)
class Contestant:
    """An API process, with the groups that its calls change and find."""

    service: Service
    groups: list[str]
    request_id: str
    numbers: Iterator[int] = field(default_factory=count)

    def calls(self, name: str, number: int) -> Iterator[tuple[str, str, dict[str, str], object]]:
        """Return method, address, headers and body of each call."""
        service = self.service
        for each in range(number):
            if name == "POST group":
                body: object = {"displayName": f"Timed {next(self.numbers)}", "templateId": GROUP_TEMPLATE}
                yield "POST", service.groups_url, service.headers(), body
            elif name == "PATCH assignment":
                body = {"templateId": GUEST_TEMPLATES[each // len(self.groups) % 2]}
                address = f"{service.url}{MANAGED}{self.groups[each % len(self.groups)]}/"
                yield "PATCH", address, service.headers(scope=CONFIG), body
            else:
                wanted = f"chamberlain_group/requestId eq '{self.request_id}'"
                address = f"{service.url}/graph/v1.0/groups?$filter={wanted.replace(' ', '%20')}"
                yield "GET", address, service.headers(scope=f"{GRAPH}/Group.Read.All"), None


NAMES = ("POST group", "PATCH assignment", "lookup")


def main() -> int:
    """Print the median of each call. The exit code is 1 if one is above the limit."""
    parser = argparse.ArgumentParser(prog="python3 -m bench.house.processor", description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--limit", type=float, default=1.05)
    options = parser.parse_args()
    pythons = (str(options.old.absolute() / ".venv/bin/python"), sys.executable)
    used: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with ExitStack() as stack:
        old, new = (stack.enter_context(contestant(python)) for python in pythons)
        for number in range(options.rounds + 1):
            for name in NAMES:
                # The first one may find other caches, so they take turns.
                first, second = (old, new) if number % 2 else (new, old)
                times = {id(each): processor_time(each, name, options.calls) for each in (first, second)}
                if number:
                    used[name].append((times[id(old)], times[id(new)]))
    print(f"{'call':18} {'old, us':>9} {'new, us':>9} {'ratio':>7}   of {options.rounds} rounds")
    ratios = {}
    for name, pairs in used.items():
        before, after = (statistics.median(pair[place] for pair in pairs) * 1e6 for place in (0, 1))
        ratios[name] = statistics.median(pair[1] / pair[0] for pair in pairs)
        print(f"{name:18} {before:9.0f} {after:9.0f} {ratios[name]:7.3f}")
    return int(max(ratios.values()) > options.limit)


@contextmanager
def contestant(python: str) -> Iterator[Contestant]:
    """Start an API process of a checkout, and make the groups that it needs."""
    services.COMMAND = (python, "-m", "chamberlain")
    with outside_database() as outside:
        run_command("migrate", "--data-dir", str(outside.folder), environment=outside.environment)
        service = outside.ready_service("--no-worker")
        worker = outside.start_worker()
        requests = [
            service.post_group({"displayName": f"Made {each}", "templateId": GROUP_TEMPLATE}).json()["requestId"]
            for each in range(32)
        ]
        groups = [service.wait_for_group(each, within=60)["id"] for each in requests]
        for group in groups:
            # A group is managed as soon as the API has read it once.
            wait_until(lambda group=group: service.get(f"{MANAGED}{group}/", scope=CONFIG).is_success, within=60)  # type: ignore[misc]
        worker.stop()
        yield Contestant(service, [str(each) for each in groups], requests[0])


def processor_time(contestant: Contestant, name: str, number: int) -> float:
    """Send calls over a few connections, and return the seconds of processor time per call."""
    calls = iter(list(contestant.calls(name, number)))
    before = seconds_used([contestant.service.process.pid])

    async def caller(client: httpx2.AsyncClient) -> None:
        for method, address, headers, body in calls:
            answer = await client.request(method, address, headers=headers, json=body)
            assert answer.is_success, answer.text

    async def run() -> None:
        async with httpx2.AsyncClient(timeout=60) as client:
            await asyncio.gather(*(caller(client) for _ in range(CONNECTIONS)))

    asyncio.run(run())
    return (seconds_used([contestant.service.process.pid]) - before) / number


if __name__ == "__main__":
    sys.exit(main())
