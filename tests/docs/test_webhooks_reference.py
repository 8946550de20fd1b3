# SPDX-License-Identifier: Apache-2.0
"""The page of webhooks matches the code: events, payloads, retries and retention."""

import re
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from uuid import UUID

from chamberlain.app.routes import ENDPOINTS
from chamberlain.changes.models import Event, EventType
from chamberlain.core.ids import EventId, TemplateId, TenantId, TraceId
from chamberlain.events.outbox import PAYLOAD_LIMIT, TOLD, payload_document
from chamberlain.template_admin.models import OVERLAP
from chamberlain.templates.models import TemplateHead, TemplateKind
from chamberlain.webhooks.addresses import Resolver
from chamberlain.webhooks.endpoints import RotatedSecret
from chamberlain.webhooks.jobs import UNSIGNED
from chamberlain.webhooks.models import BATCH, MAX_ANSWER_BYTES, MAX_STORED_ATTEMPTS, DeliveryState, WebhookCall
from chamberlain.webhooks.rules import (
    DISABLE_AFTER,
    FAILING,
    GONE,
    MAX_RETRY_AFTER,
    RETRY_SCHEDULE,
    TEST_TYPE,
    build_test_payload,
)
from chamberlain.webhooks.sender import REFUSED, TIMED_OUT, TIMEOUT, UNREACHABLE, UNREADABLE, UNTRUSTED, Sender
from chamberlain.webhooks.wire import Attempt, Delivery
from tests.docs.pages import REFERENCE, named, rows, section
from tests.webhooks.fake_webhook_receiver import run_webhook_receiver

PAGE = REFERENCE / "webhooks.md"
TEXT = PAGE.read_text(encoding="utf-8")
SOME = UUID(int=1)
NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
UNITS: Mapping[str, timedelta] = {
    "s": timedelta(seconds=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
}


async def test_it_works_for_every_header_that_is_sent() -> None:
    secret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    trace_id = TraceId("4bf92f3577b34da6a3ce929d0e0e4736")
    async with run_webhook_receiver() as webhook_receiver:
        sender = Sender(
            resolve=Resolver(),
            allowed_networks=[ip_network("127.0.0.0/8")],
            allow_http=True,
            trust=ssl.create_default_context(),
            now=lambda: NOW,
        )
        await sender.send(WebhookCall(webhook_receiver.address, EventId(SOME), b"{}", (secret,), trace_id))
        await sender.close()

    (received,) = webhook_receiver.received
    documented = [row[0].strip("`") for row in rows(section(PAGE, "## The call"))]
    assert set(received.headers) == {name for name in documented if name not in payload()}
    assert [name for name in documented if name in payload()] == list(payload())


def payload() -> Mapping[str, object]:
    """The payload of an event."""
    return payload_document(Event(EventId(SOME), EventType.GROUP_CREATED, NOW, TenantId(SOME), None, {}))


def test_it_names_what_is_reported() -> None:
    assert set(named(section(PAGE, "## Events"))) == {str(type_) for type_ in TOLD}


def test_it_has_the_schedule() -> None:
    table = rows(section(PAGE, "### Retry schedule"))
    waits = [int(number) * UNITS[unit] for number, unit in (row[1].split() for row in table)]

    assert waits == list(RETRY_SCHEDULE)
    assert [int(row[0]) for row in table] == list(range(2, len(RETRY_SCHEDULE) + 2))


def test_it_names_the_limits() -> None:
    assert f"at most {MAX_RETRY_AFTER / UNITS['h']:.0f} hours later" in TEXT
    assert f"none within {TIMEOUT.total_seconds():.0f} seconds" in TEXT
    assert f"first {MAX_ANSWER_BYTES:,} bytes" in TEXT
    assert f"below {PAYLOAD_LIMIT:,} bytes" in TEXT
    assert f"The newest {MAX_STORED_ATTEMPTS}." in TEXT
    assert f"batches of {BATCH}" in TEXT
    assert f"{OVERLAP / UNITS['h']:.0f} hours from now" in TEXT
    assert timedelta(days=5) == DISABLE_AFTER


def test_it_names_why_a_webhook_is_disabled() -> None:
    assert named(section(PAGE, "## Disabled")) == [GONE, FAILING]


def test_it_names_every_member_of_an_answer() -> None:
    assert named(section(PAGE, "### A delivery")) == list(Delivery.__struct_encode_fields__)
    assert named(section(PAGE, "### An attempt")) == list(Attempt.__struct_encode_fields__)
    assert named(section(PAGE, "## Secrets")) == list(RotatedSecret.__struct_encode_fields__)


def test_it_names_every_state_and_filter() -> None:
    (listed,) = [each for each in ENDPOINTS if each.path == "/admin/v1/deliveries/"]

    assert named(section(PAGE, "### States")) == [str(state) for state in DeliveryState]
    assert named(section(PAGE, "## Deliveries")) == [each.name for each in listed.parameters]


def test_it_names_every_error_that_an_attempt_can_have() -> None:
    assert named(section(PAGE, "### Errors")) == [REFUSED, TIMED_OUT, UNREACHABLE, UNTRUSTED, UNREADABLE, UNSIGNED]


def test_it_says_what_a_test_call_sends() -> None:
    head = TemplateHead(TenantId(SOME), TemplateId(SOME), 1, TemplateKind.GROUP, "Group", active=True)
    sent = build_test_payload(head, NOW)

    assert list(sent) == list(payload())
    assert sent["data"] == {"templateId": str(SOME)}
    assert f"`{TEST_TYPE}`, whose `data` is `{{templateId}}`" in section(PAGE, "## A test call").replace("\n", " ")


def test_it_names_what_may_be_done() -> None:
    served = {f"{each.method} {each.path}" for each in ENDPOINTS}
    told = re.findall(r"`(POST /admin/v1/deliveries/[^` ]+)`", section(PAGE, "### Redeliver"))

    assert len(told) == 2
    assert set(told) <= served
