# SPDX-License-Identifier: Apache-2.0
"""The outcome of a row for each answer of the service."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx2
import pytest

from chamberlain.cli.import_.dispatch import Busy, Later
from chamberlain.cli.import_.results import Outcome, RowResult
from chamberlain.cli.import_.sender import KeyedRow, Previewed
from chamberlain.cli.import_.table import BodyRow
from chamberlain.mailboxes.import_.sender import MailboxSender
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.errors import AnswerNotUnderstood, Forbidden, Refused, Unauthenticated
from chamberlain_client.operations import Server
from chamberlain_client.timing import AsyncClock, Retries
from tests.client.scripted_server import HANG_UP, Reply, answer, problem, scripted
from tests.mailboxes.mailbox_responses import ACCEPTED, BODY, ID, MAILBOX, OTHER
from tests.services import TLS

ROW = BodyRow(2, BODY)
KEYED = KeyedRow(ROW, "k1")
Noted = list[tuple[str, Outcome]]


def refused(status: int, code: str, **members: object) -> Reply:
    body = {"status": status, "code": code, "detail": "Not so.", "traceId": "a1", **members}
    return answer(body, status)


@asynccontextmanager
async def sender(url: str, noted: Noted | None = None) -> AsyncIterator[MailboxSender]:
    kept = [] if noted is None else noted
    async with httpx2.AsyncClient(verify=TLS) as client:
        transport = AsyncTransport(
            client,
            {Server.BASE: url},
            {Server.BASE: "t"},
            timeout=30,
            retries=Retries(attempts=1),
            clock=AsyncClock(),
        )
        yield MailboxSender(transport, lambda key, result: kept.append((key, result.outcome)))


async def test_it_works() -> None:
    noted: Noted = []
    with scripted(ACCEPTED) as server:
        async with sender(server.url, noted) as rows:
            result = await rows.send(KEYED)

    assert result == RowResult(2, "basel", Outcome.ACCEPTED, "basel@rooms.estate.example", ID, OTHER)
    assert noted == [("k1", Outcome.ACCEPTED)]
    assert server.seen[0].headers["idempotency-key"] == "k1"


@pytest.mark.parametrize(
    ("reply", "outcome", "detail"),
    [
        (refused(409, "nameTaken"), Outcome.CONFLICT, "Not so."),
        (
            refused(
                422,
                "notPossible",
                errors=[
                    {"pointer": "/capacity", "code": "outOfBounds", "detail": "Too many."},
                    {"pointer": "/name", "code": "nameTooLong", "detail": "Too long."},
                ],
            ),
            Outcome.REFUSED,
            "capacity: Too many. name: Too long.",
        ),
        (refused(400, "invalidBody"), Outcome.REFUSED, "Not so."),
        (refused(403, "templateNotAllowed"), Outcome.REFUSED, "Not so."),
        (refused(409, "inUse"), Outcome.REFUSED, "Not so."),
        (refused(413, "bodyTooLarge"), Outcome.REFUSED, "Not so."),
        (refused(500, "bug"), Outcome.REFUSED, "Not so."),
    ],
)
async def test_a_row_that_is_refused_stops_no_other_and_is_not_noted(
    reply: Reply, outcome: Outcome, detail: str
) -> None:
    noted: Noted = []
    with scripted(reply) as server:
        async with sender(server.url, noted) as rows:
            result = await rows.send(KEYED)

    assert isinstance(result, RowResult)
    assert (result.outcome, result.detail, noted) == (outcome, detail, [])


@pytest.mark.parametrize(
    ("reply", "after"),
    [
        (problem(503, "overloaded", retry_after="7"), 7.0),
        (problem(429, "rateExceeded", retry_after="12"), 12.0),
        (problem(429, "quotaExceeded"), 1.0),
        (HANG_UP, None),
        (Reply(502, b"<html>Bad gateway</html>"), None),
        (Reply(503, b"<html>Maintenance</html>"), 1.0),
        (Reply(504, b""), None),
    ],
)
async def test_a_service_that_is_busy_or_away_is_asked_again(reply: Reply, after: float | None) -> None:
    with scripted(reply) as server:
        async with sender(server.url) as rows:
            sent, looked = (
                await rows.send(KEYED),
                await rows.look(RowResult(2, "basel", Outcome.ACCEPTED, object_id=ID)),
            )

    assert isinstance(sent, Busy)
    assert isinstance(looked, Busy)
    assert (sent.after, looked.after) == (after, after)


async def test_a_call_that_is_still_under_way_is_asked_for_later() -> None:
    with scripted(problem(409, "idempotencyKeyInProgress", retry_after="1")) as server:
        async with sender(server.url) as rows:
            assert await rows.send(KEYED) == Later(1.0)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (problem(401, "tokenExpired"), Unauthenticated),
        (problem(403, "insufficientScope"), Forbidden),
        (problem(421, "hostUnknown"), Refused),
        (Reply(404, b"<html>Not here</html>"), AnswerNotUnderstood),
        (Reply(302, b"", {"location": "/sign-in"}), AnswerNotUnderstood),
    ],
)
async def test_what_concerns_all_rows_is_raised(reply: Reply, error: type[Exception]) -> None:
    with scripted(reply) as server:
        async with sender(server.url) as rows:
            with pytest.raises(error):
                await rows.send(KEYED)


@pytest.mark.parametrize(
    ("holder", "outcome", "mailbox_id"),
    [
        (answer(MAILBOX), Outcome.PRESENT, ID),
        (answer({**MAILBOX, "provisioningState": "active", "metadata": {"a": "b"}}), Outcome.PRESENT, ID),
        (answer({**MAILBOX, "provisioningState": "failed"}), Outcome.FAILED, ID),
        (answer({**MAILBOX, "capacity": 5}), Outcome.CONFLICT, ID),
        (answer({**MAILBOX, "name": "other"}), Outcome.CONFLICT, ID),
        (problem(404, "notFound"), Outcome.CONFLICT, ID),
    ],
)
@pytest.mark.parametrize("code", ["nameTaken", "addressTaken"])
async def test_a_mailbox_that_is_there_as_the_row_asks_is_there_already(
    code: str, holder: Reply, outcome: Outcome, mailbox_id: str
) -> None:
    noted: Noted = []
    with scripted(refused(409, code, conflictingId=ID), holder) as server:
        async with sender(server.url, noted) as rows:
            result = await rows.send(KEYED)

    assert isinstance(result, RowResult)
    assert (result.outcome, result.object_id) == (outcome, mailbox_id)
    assert noted == ([("k1", Outcome.PRESENT)] if outcome is Outcome.PRESENT else [])


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ("queued", Outcome.ACCEPTED),
        ("active", Outcome.ACCEPTED),
        ("failed", Outcome.ACCEPTED),
        ("cancelled", Outcome.FAILED),
        ("rejected", Outcome.FAILED),
        ("expired", Outcome.FAILED),
    ],
)
async def test_what_was_asked_for_before_and_is_over_is_not_told_as_accepted(state: str, outcome: Outcome) -> None:
    noted: Noted = []
    again = replace(ACCEPTED, headers={**ACCEPTED.headers, "idempotency-replayed": "true"})
    with scripted(again, answer({**MAILBOX, "provisioningState": state})) as server:
        async with sender(server.url, noted) as rows:
            result = await rows.send(KEYED)

    assert isinstance(result, RowResult)
    assert (result.outcome, result.object_id) == (outcome, ID)
    assert noted == ([("k1", Outcome.ACCEPTED)] if outcome is Outcome.ACCEPTED else [])


async def test_a_service_that_is_busy_when_the_holder_is_looked_at_is_asked_again() -> None:
    with scripted(refused(409, "nameTaken", conflictingId=ID), problem(503, "overloaded", retry_after="2")) as server:
        async with sender(server.url) as rows:
            result = await rows.send(KEYED)

    assert isinstance(result, Busy)
    assert result.after == 2.0


@pytest.mark.parametrize(
    ("state", "error", "outcome", "detail"),
    [
        ("active", None, Outcome.ACTIVE, None),
        ("failed", {"step": "setPlace", "code": "x", "detail": "No such place."}, Outcome.FAILED, "No such place."),
        ("rejected", None, Outcome.FAILED, "rejected"),
    ],
)
async def test_it_looks_until_a_mailbox_is_active(
    state: str, error: object, outcome: Outcome, detail: str | None
) -> None:
    accepted = RowResult(2, "basel", Outcome.ACCEPTED, object_id=ID)
    with scripted(answer(MAILBOX), answer({**MAILBOX, "provisioningState": state, "error": error})) as server:
        async with sender(server.url) as rows:
            first, second = await rows.look(accepted), await rows.look(accepted)

    assert first == Later(1.0)
    assert isinstance(second, RowResult)
    assert (second.outcome, second.detail) == (outcome, detail)
    assert replace(second, outcome=Outcome.ACCEPTED, detail=None, code=None) == accepted


@pytest.mark.parametrize(("code", "refused_by"), [("addressTaken", "Not so."), ("quotaExceeded", "")])
async def test_a_dry_run_of_a_row_waits_for_a_limit_as_the_import_does(code: str, refused_by: str) -> None:
    plan = {
        "kind": "room",
        "template": {"id": ID, "name": "Room"},
        "templateSource": "request",
        "name": "basel",
        "displayName": "Basel",
        "address": "basel@rooms.estate.example",
        "owners": [],
        "approvalRequired": False,
        "approvals": [],
        "steps": [],
        "conflicts": [{"code": code, "pointer": "", "detail": "Not so."}],
        "warnings": [],
    }
    with scripted(answer(plan, 200)) as server:
        async with sender(server.url) as rows:
            previewed = await rows.preview(ROW)

    assert isinstance(previewed, Previewed)
    assert previewed.record["refused"] == refused_by
