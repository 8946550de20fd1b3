# SPDX-License-Identifier: Apache-2.0
"""Groups that are asked for, many at once, as long as a test lets them be."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

import httpx2

from bench.histories import stored
from bench.histories.records import Call, Outcome, Submission, Violation
from tests.services import ADA_MAIL, GROUP_TEMPLATE, Service

AT_ONCE = 32


@dataclass(slots=True)
class Load:
    """The answers to concurrent calls, which go to the services in turn."""

    services: Sequence[Service]
    who: str = ADA_MAIL
    template: str = GROUP_TEMPLATE
    accepted: list[str] = field(default_factory=list)
    # Status, code and Retry-After of each refusal.
    refused: list[tuple[int, str, str | None]] = field(default_factory=list)
    # Unanswered calls: whether they were accepted is not known.
    unanswered: int = 0
    submissions: list[Submission] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def run(self, most: int, stop: Callable[[], bool] = lambda: False) -> None:
        """Send so many calls, or fewer when it shall stop before."""
        asyncio.run(self._run(most, stop))

    async def _run(self, most: int, stop: Callable[[], bool]) -> None:
        for service in self.services:
            service.headers(self.who)
        left = iter(range(most))

        async def caller(client: httpx2.AsyncClient) -> None:
            for number in left:
                if stop():
                    return
                service = self.services[number % len(self.services)]
                if not await self._call(client, service.groups_url, service.headers(self.who)):
                    # Others get their turn before this one tries again.
                    await asyncio.sleep(0.05)

        limits = httpx2.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE)
        async with httpx2.AsyncClient(limits=limits, timeout=30) as client:
            await asyncio.gather(*(caller(client) for _ in range(AT_ONCE)))

    async def _call(self, client: httpx2.AsyncClient, url: str, headers: dict[str, str]) -> bool:
        body = {"displayName": f"Load {next(self.numbers)}", "templateId": self.template}
        invoked = time.monotonic()
        try:
            answer = await client.post(url, json=body, headers=headers)
        except httpx2.TransportError:
            self.unanswered += 1
            self._record(body["displayName"], invoked, Outcome.UNKNOWN)
            return False
        if answer.status_code == 202:
            self._record(body["displayName"], invoked, Outcome.OK, answer.json()["requestId"])
        else:
            outcome = Outcome.UNKNOWN if answer.is_server_error else Outcome.FAILED
            self._record(body["displayName"], invoked, outcome)
        if answer.status_code == 202:
            self.accepted.append(answer.json()["requestId"])
        else:
            self.refused.append((answer.status_code, answer.json()["code"], answer.headers.get("retry-after")))
        return answer.status_code == 202

    def _record(self, name: str, invoked: float, outcome: Outcome, request_id: str | None = None) -> None:
        self.submissions.append(Submission(Call(invoked, time.monotonic(), outcome), name, None, request_id))

    def violations(self, address: str) -> list[Violation]:
        """List the broken promises of these calls by what the database holds; `address` is the worker's."""
        return stored.violations(address, self.submissions)
