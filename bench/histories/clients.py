# SPDX-License-Identifier: Apache-2.0
"""Clients that use the API while faults happen, and record all that they ask and hear."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import httpx2

from bench.histories.records import (
    Assignment,
    Call,
    Decision,
    Event,
    History,
    Outcome,
    Page,
    Reading,
    Submission,
    Verb,
)
from bench.histories.subjects import Subject, value_in
from tests.services import ADA_MAIL, API, COLLAB, GRAPH, GROUP_TEMPLATE, TLS, Service

CONFIG = f"{API}/admin/Config.ReadWrite.All"
READ_GROUPS = f"{GRAPH}/Group.Read.All"
# The two levels of the approved template.
LEVELS = (("dara@estate.example", "ben@estate.example"), ("eli@estate.example", "cleo@estate.example"))
PEOPLE = (ADA_MAIL, *LEVELS[0], *LEVELS[1])

# How long a caller waits for an answer, in seconds. An impatient one closes the connection while the call is under way.
PATIENCE, IMPATIENCE = 10.0, 0.015
# Pauses between calls of one client, in seconds: enough calls to meet a fault, few enough to check quickly.
PAUSE, RETRY_PAUSE = 0.1, 0.2

Answered = tuple[Call, httpx2.Response | None]


@dataclass(frozen=True, slots=True)
class Site:
    """Inputs of the clients: headers by address, person and scope, and the template that asks for approval."""

    urls: Sequence[str]
    headers: Mapping[tuple[str, str, str], Mapping[str, str]]
    approved_template: str


def sign_in(services: Sequence[Service], approved_template: str) -> Site:
    """Get all tokens of a round; each is valid for an hour, at the service that issued it."""
    wanted = [(person, COLLAB) for person in PEOPLE] + [(ADA_MAIL, CONFIG), (ADA_MAIL, READ_GROUPS)]
    headers = {}
    for service in services:
        service.tokens.clear()
        headers.update({(service.url, *each): service.headers(*each) for each in wanted})
    return Site([service.url for service in services], headers, approved_template)


@dataclass(slots=True)
class Clients:
    """The clients of one round. `name` begins the name of every request of the round."""

    site: Site
    http: httpx2.AsyncClient
    random: Random
    name: str
    subjects: Sequence[Subject]
    # Where the feed ended before the round.
    cursor: str | None
    history: History = field(default_factory=History)
    refusals: Counter[str] = field(default_factory=Counter)
    stopping: bool = False
    # All requests have ended, so readers end with the next empty page.
    is_quiet: bool = False
    numbers: "count[int]" = field(default_factory=count)

    async def call(
        self,
        method: str,
        path: str,
        person: str = ADA_MAIL,
        scope: str = COLLAB,
        *,
        json: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        """Call one of the services, and classify the outcome."""
        url = self.random.choice(self.site.urls)
        everything = {**self.site.headers[url, person, scope], **(headers or {})}
        is_impatient = method != "GET" and self.random.random() < 0.03
        invoked, answer = time.monotonic(), None
        try:
            answer = await self.http.request(
                method, url + path, headers=everything, json=json, timeout=IMPATIENCE if is_impatient else PATIENCE
            )
        except httpx2.TransportError as error:
            self.refusals[type(error).__name__] += 1
            return Call(invoked, time.monotonic(), Outcome.UNKNOWN), None
        outcome = Outcome.OK if answer.is_success else Outcome.UNKNOWN if answer.is_server_error else Outcome.FAILED
        if outcome is not Outcome.OK:
            self.refusals[f"{answer.status_code} {answer.json()['code']}"] += 1
        return Call(invoked, time.monotonic(), outcome), answer

    async def submit(self) -> None:
        """Ask for groups: most with a key, some twice at once, some again after the answer, some with another body."""
        while not self.stopping:
            name = f"{self.name} {next(self.numbers)}"
            key = name.replace(" ", "-") if self.random.random() < 0.85 else None
            is_approved = self.random.random() < 0.3
            body = {"displayName": name, "templateId": self.site.approved_template if is_approved else GROUP_TEMPLATE}
            request_id = await self._submit(body, key)
            if request_id is not None and self.random.random() < 0.1:
                await self.decide(request_id, ADA_MAIL, Verb.CANCEL)
            await asyncio.sleep(PAUSE)

    async def _submit(self, body: Mapping[str, str], key: str | None) -> str | None:
        """Send a request until the outcome is known, or give up now and then."""

        async def send() -> tuple[Call, str | None]:
            return await self._send(body, key)

        if key is not None and self.random.random() < 0.1:
            await asyncio.gather(send(), send())
        request_id = await self._until_known(send, may_repeat=key is not None)
        if request_id is not None and key is not None:
            if self.random.random() < 0.2:
                await send()
            if self.random.random() < 0.1:
                await self._send({**body, "displayName": f"{body['displayName']} other"}, key)
        return request_id

    async def _send(self, body: Mapping[str, str], key: str | None) -> tuple[Call, str | None]:
        headers = {} if key is None else {"idempotency-key": key}
        call, answer = await self.call("POST", "/collab/v1/groups/", json=body, headers=headers)
        request_id, replayed = None, False
        if call.outcome is Outcome.OK and answer is not None:
            request_id, replayed = answer.json()["requestId"], "idempotency-replayed" in answer.headers
        self.history.submissions.append(Submission(call, body["displayName"], key, request_id, replayed))
        return call, request_id

    async def decide(self, request_id: str, person: str, verb: Verb) -> None:
        """Approve, reject or cancel a request under a key, until the outcome is known or now and then not."""
        key = f"{self.name}-{next(self.numbers)}".replace(" ", "-")
        path = f"/requests/v1/{request_id}/{verb}/"

        async def send() -> tuple[Call, str | None]:
            call, answer = await self.call("POST", path, person, headers={"idempotency-key": key})
            replayed = answer is not None and "idempotency-replayed" in answer.headers
            self.history.decisions.append(Decision(call, request_id, person, verb, key, replayed))
            return call, request_id

        await self._until_known(send)

    async def _until_known(
        self, send: Callable[[], Awaitable[tuple[Call, str | None]]], *, may_repeat: bool = True
    ) -> str | None:
        while True:
            call, found = await send()
            is_known = call.outcome is not Outcome.UNKNOWN
            if is_known or not may_repeat or self.random.random() < 0.1:
                return found if call.outcome is Outcome.OK else None
            await asyncio.sleep(RETRY_PAUSE)

    async def approve(self, person: str) -> None:
        """Decide on the requests of this round that wait for a person."""
        while not self.stopping:
            call, answer = await self.call("GET", "/requests/v1/?toDecide=true&limit=100", person)
            if call.outcome is Outcome.OK and answer is not None:
                for each in answer.json()["items"]:
                    if each["displayName"].startswith(f"{self.name} ") and self.random.random() < 0.7:
                        verb = Verb.REJECT if self.random.random() < 0.15 else Verb.APPROVE
                        await self.decide(each["requestId"], person, verb)
            await asyncio.sleep(RETRY_PAUSE)

    async def assign(self, subject: Subject, values: Sequence[tuple[str, str]]) -> None:
        """Read a group or site and assign a new value by If-Match, as long as there are values."""
        for template, policy in values:
            if self.stopping:
                return
            seen, tag = await self.read_subject(subject)
            if seen is not None:
                body = {"templateId": template, "policyId": policy}
                call, answer = await self.call(
                    "PATCH", subject.path, scope=CONFIG, json=body, headers={"if-match": tag}
                )
                is_stale = answer is not None and answer.status_code == 412
                self.history.assignments.append(Assignment(call, subject.name, seen, value_in(body), is_stale))
            await asyncio.sleep(PAUSE)

    async def read_subject(self, subject: Subject) -> tuple[str | None, str]:
        """Read what is assigned, and its ETag; None when there is no answer."""
        call, answer = await self.call("GET", subject.path, scope=CONFIG)
        if call.outcome is not Outcome.OK or answer is None:
            return None, ""
        value = value_in(answer.json())
        self.history.readings.append(Reading(call, subject.name, value))
        return value, answer.headers["etag"]

    async def follow(self, reader: str, limit: int) -> None:
        """Follow the feed by its cursors to the end, and read some pages twice."""
        cursor = self.cursor
        while True:
            was_quiet = self.is_quiet
            page = await self.read_events(reader, cursor, limit)
            if page is not None:
                if self.random.random() < 0.1:
                    await self.read_events(reader, cursor, limit, is_repeat=True)
                cursor = page.following
                if was_quiet and not page.events:
                    return
            await asyncio.sleep(PAUSE)

    async def read_events(self, reader: str, cursor: str | None, limit: int, *, is_repeat: bool = False) -> Page | None:
        """Read a page of the feed, and record it."""
        query = f"?limit={limit}" + ("" if cursor is None else f"&cursor={cursor}")
        call, answer = await self.call("GET", f"/admin/v1/events/{query}", scope=CONFIG)
        if call.outcome is not Outcome.OK or answer is None:
            return None
        events = tuple(map(_event, answer.json()["items"]))
        page = Page(reader, cursor, events, answer.json()["nextCursor"], is_repeat)
        self.history.pages.append(page)
        return page


def open_http() -> httpx2.AsyncClient:
    """Open connections of their own, which know nothing of proxies."""
    return httpx2.AsyncClient(verify=TLS, trust_env=False, limits=httpx2.Limits(max_connections=40))


def _event(item: Mapping[str, Any]) -> Event:
    data = item["data"]
    subject = data.get("group") or data.get("site") if "before" in data else None
    return Event(
        id=item["id"],
        type=item["type"],
        request_id=item["requestId"],
        subject=None if subject is None else subject["id"],
        before=value_in(data["before"]) if subject else None,
        after=value_in(data["after"]) if subject else None,
        level=data.get("level"),
        is_blocked=data.get("approvers") == [],
    )
