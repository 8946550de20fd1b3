# SPDX-License-Identifier: Apache-2.0
"""Deliveries: the schedule of Standard Webhooks, what a receiver may ask for, and when one is called no more."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from chamberlain.auth.models import ActorType
from chamberlain.changes.models import Event, EventType, Subject
from chamberlain.core.ids import DeliveryId, EventId, RequestId, TemplateId, TenantId, TraceId
from chamberlain.events.outbox import payload_document, without_metadata
from chamberlain.webhooks.models import MAX_ANSWER_BYTES, DeliveryState, DueDelivery, Reply, truncate_answer
from chamberlain.webhooks.rules import (
    FAILING,
    GONE,
    RETRY_SCHEDULE,
    disable_change,
    next_attempt,
    reason_to_disable,
    webhook_disabled,
)

pytestmark = pytest.mark.pure

NOW = datetime(2026, 11, 20, 9, 30, 1, 4_600, tzinfo=UTC)
TENANT = TenantId(UUID("e57a7e00-0000-4000-8000-000000000001"))
TEMPLATE = TemplateId(UUID("7e000000-0000-4000-8000-000000000011"))
EVENT = EventId(UUID("e7e00000-0000-4000-8000-000000000001"))
REQUEST = RequestId(UUID("0d9c1b7e-5a0e-4c58-9a54-3d2f6a1b7c10"))
AGAIN, FAILED, SUCCEEDED = DeliveryState.PENDING, DeliveryState.FAILED, DeliveryState.SUCCEEDED


def reply(status: int | None = None, *, error: str | None = None, retry_after: timedelta | None = None) -> Reply:
    return Reply(NOW, timedelta(milliseconds=5), status=status, error=error, retry_after=retry_after)


def test_it_works() -> None:
    waits = [next_attempt(reply(500), tries=tries, jitter=0) for tries in range(1, 11)]

    seconds, minutes, hours = ([timedelta(**{unit: 1})] for unit in ("seconds", "minutes", "hours"))
    expected = [
        5 * seconds[0],
        5 * minutes[0],
        30 * minutes[0],
        *[each * hours[0] for each in (2, 5, 10, 14, 20, 24)],
    ]
    assert waits == [*[(AGAIN, wait) for wait in expected], (FAILED, None)]


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (reply(200), SUCCEEDED),
        (reply(204), SUCCEEDED),
        (reply(299), SUCCEEDED),
        (reply(199), AGAIN),
        (reply(301), AGAIN),
        (reply(302), AGAIN),
        (reply(400), AGAIN),
        (reply(404), AGAIN),
        (reply(429), AGAIN),
        (reply(500), AGAIN),
        (reply(error="There was no answer."), AGAIN),
        (reply(410), FAILED),
    ],
)
def test_it_takes_2xx_for_success_and_410_for_the_end(answer: Reply, state: DeliveryState) -> None:
    found, after = next_attempt(answer, tries=1, jitter=0)

    assert found is state
    assert (after is not None) is (state is AGAIN)


@pytest.mark.parametrize("tries", range(1, 10))
def test_jitter_makes_a_wait_longer_by_a_tenth_at_most(tries: int) -> None:
    assert next_attempt(reply(500), tries=tries, jitter=1) == (AGAIN, RETRY_SCHEDULE[tries - 1] * 1.1)
    assert next_attempt(reply(500), tries=tries, jitter=0.5) == (AGAIN, RETRY_SCHEDULE[tries - 1] * 1.05)


@pytest.mark.parametrize(
    ("asked", "tries", "wait"),
    [
        (timedelta(seconds=1), 1, timedelta(seconds=5)),
        (timedelta(seconds=90), 1, timedelta(seconds=90)),
        (timedelta(seconds=90), 2, timedelta(minutes=5)),
        (timedelta(days=1_000), 1, timedelta(hours=24)),
        (timedelta(), 1, timedelta(seconds=5)),
    ],
)
def test_it_honours_what_a_receiver_asks_for_within_bounds(asked: timedelta, tries: int, wait: timedelta) -> None:
    assert next_attempt(reply(503, retry_after=asked), tries=tries, jitter=0) == (AGAIN, wait)


@pytest.mark.parametrize(
    ("answer", "days", "reason"),
    [
        (reply(410), 0, GONE),
        (reply(410), 9, GONE),
        (reply(500), 0, None),
        (reply(500), 4.99, None),
        (reply(500), 5, FAILING),
        (reply(error="There was no answer."), 5, FAILING),
        (reply(200), 9, None),
    ],
)
def test_it_disables_what_is_gone_and_what_was_silent_for_five_days(
    answer: Reply, days: float, reason: str | None
) -> None:
    assert reason_to_disable(answer, NOW - timedelta(days=days), NOW) == reason


def test_what_has_only_begun_to_fail_is_not_disabled() -> None:
    assert reason_to_disable(reply(500), None, NOW) is None


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", ""),
        (b"oops", "oops"),
        (b"x" * 2_000, "x" * MAX_ANSWER_BYTES),
        ("ü".encode() * 1_000, "ü" * 512),
        (b"a" + "ü".encode() * 1_000, "a" + "ü" * 511 + "\N{REPLACEMENT CHARACTER}"),
        (b"\x00\xff", "\N{REPLACEMENT CHARACTER}" * 2),
    ],
)
def test_it_keeps_the_beginning_of_an_answer_as_text(body: bytes, text: str) -> None:
    assert truncate_answer(body) == text


def test_a_payload_has_exactly_five_members() -> None:
    event = Event(EVENT, EventType.GROUP_CREATED, NOW, TENANT, REQUEST, {"metadata": {}})

    assert payload_document(event) == {
        "type": "group.created",
        "timestamp": "2026-11-20T09:30:01.004Z",
        "requestId": str(REQUEST),
        "tenantId": str(TENANT),
        "data": {"metadata": {}},
    }


def test_the_event_of_a_disabled_webhook_says_which_and_why() -> None:
    event = webhook_disabled(EVENT, TENANT, TEMPLATE, url="https://hooks.estate.example/", reason=GONE, now=NOW)

    assert (event.type, event.request_id) == ("webhook.disabled", None)
    assert event.data == {"templateId": str(TEMPLATE), "url": "https://hooks.estate.example/", "reason": GONE}


def test_a_payload_without_metadata_keeps_all_else() -> None:
    payload = {"id": "1", "data": {"state": "failed", "metadata": {"room": "7"}}}

    assert without_metadata(payload) == {"id": "1", "data": {"state": "failed", "metadata": {}}}
    assert without_metadata({"id": "1", "data": None}) == {"id": "1", "data": None}


def test_the_record_of_a_disabled_webhook_says_which_and_why() -> None:
    event = webhook_disabled(EVENT, TENANT, TEMPLATE, url="https://hooks.estate.example/", reason=GONE, now=NOW)
    due = DueDelivery(
        DeliveryId(UUID(int=7)), TENANT, EVENT, TEMPLATE, None, b"{}", tries=3, trace_id=TraceId("7" * 32)
    )

    change = disable_change(due, event, template_name="Team", reason=GONE)

    assert (change.tenant_id, change.action, change.actor.type) == (TENANT, "webhook.disable", ActorType.SYSTEM)
    assert change.subject == Subject("template", TEMPLATE, "Team")
    assert (change.before, change.after) == ({"active": True}, {"active": False, "disabledReason": GONE})
    assert (change.client_id, change.request_id, change.trace_id) == (None, None, "7" * 32)
    assert change.event is event


def test_an_answer_counts_as_sent_and_an_error_before_the_call_does_not() -> None:
    assert reply(500).was_sent
    assert Reply.unsent(NOW, "There is no secret.") == Reply(
        NOW, timedelta(), error="There is no secret.", was_sent=False
    )


def test_the_states_are_called_so_in_answers() -> None:
    assert [*DeliveryState] == ["pending", "succeeded", "failed", "cancelled"]
