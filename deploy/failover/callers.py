# SPDX-License-Identifier: Apache-2.0
"""Callers as they should be: each group is asked for under a key of its own, again and again until it is accepted."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from uuid import uuid4

import httpx2

from bench.histories.records import Call, Outcome, Submission
from tests.services import GROUP_TEMPLATE, TLS, Service

# The timeout of one call.
PATIENCE = 10.0
PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer 202: for which name, under which id, by which service, asked when and answered when."""

    name: str
    request_id: str
    service: int
    asked: float
    answered: float


@dataclass(slots=True)
class Callers:
    """Concurrent callers, assigned to the services in turn, until `stop`."""

    services: Sequence[Service]
    at_once: int
    accepted: list[Accepted] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    # Every attempt, for the history checker.
    submissions: list[Submission] = field(default_factory=list)
    stopping: bool = False
    given_up: bool = False

    def run(self) -> None:
        """Call until `stop`; a caller repeats its request until it gets an answer."""
        asyncio.run(self._run())

    def stop(self) -> None:
        """Ask for nothing new."""
        self.stopping = True

    def give_up(self) -> None:
        """Wait for no answer any more either."""
        self.stopping = self.given_up = True

    async def _run(self) -> None:
        # Tokens live for an hour, and a hundred rounds take longer.
        for service in self.services:
            service.tokens.clear()
        headers = [service.headers() for service in self.services]
        async with httpx2.AsyncClient(timeout=PATIENCE, verify=TLS, trust_env=False) as client:
            await asyncio.gather(*(self._caller(client, headers, each) for each in range(self.at_once)))

    async def _caller(self, client: httpx2.AsyncClient, headers: Sequence[Mapping[str, str]], number: int) -> None:
        for turn in count(number):
            if self.stopping:
                return
            await self._ask(client, headers, turn % len(self.services))

    async def _ask(self, client: httpx2.AsyncClient, headers: Sequence[Mapping[str, str]], service: int) -> None:
        """One group, asked for at one service until it is accepted there."""
        key = str(uuid4())
        body = {"displayName": f"Failover {key}", "templateId": GROUP_TEMPLATE}
        while not self.given_up:
            attempt = await self._attempt(client, self.services[service].groups_url, body, headers[service], key)
            self.submissions.append(attempt)
            if attempt.request_id is not None:
                call = attempt.call
                self.accepted.append(Accepted(attempt.name, attempt.request_id, service, call.invoked, call.answered))
                return
            await asyncio.sleep(PAUSE)

    async def _attempt(
        self, client: httpx2.AsyncClient, url: str, body: Mapping[str, str], headers: Mapping[str, str], key: str
    ) -> Submission:
        """Send one call. The submission has a request id if it was accepted."""
        invoked, name = time.monotonic(), body["displayName"]
        try:
            answer = await client.post(url, json=body, headers={**headers, "idempotency-key": key})
        except httpx2.TransportError as error:
            self._count(type(error).__name__)
            return Submission(Call(invoked, time.monotonic(), Outcome.UNKNOWN), name, key)
        if answer.status_code != 202:
            self._count(f"{answer.status_code} {answer.json()['code']}")
            outcome = Outcome.UNKNOWN if answer.is_server_error else Outcome.FAILED
            return Submission(Call(invoked, time.monotonic(), outcome), name, key)
        return Submission(
            Call(invoked, time.monotonic(), Outcome.OK),
            name,
            key,
            answer.json()["requestId"],
            "idempotency-replayed" in answer.headers,
        )

    def _count(self, what: str) -> None:
        self.refused[what] = self.refused.get(what, 0) + 1
