# SPDX-License-Identifier: Apache-2.0
"""The span of time whose deliveries are sent again."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from msgspec import json

from chamberlain.core.errors import BodyInvalid
from chamberlain.core.ids import TemplateId
from chamberlain.webhooks.models import DeliverySpan
from chamberlain.webhooks.wire import REDELIVERY, to_delivery_span

FROM, TO = "2026-11-20T00:00:00Z", "2026-11-20T12:30:00.500+01:00"
TEMPLATE = "7E000000-0000-4000-8000-000000000011"


def read(body: dict[str, Any]) -> DeliverySpan:
    return to_delivery_span(REDELIVERY.read(json.encode(body)))


def test_it_works() -> None:
    assert read({"from": FROM, "to": TO, "templateId": TEMPLATE}) == DeliverySpan(
        datetime(2026, 11, 20, tzinfo=UTC),
        datetime(2026, 11, 20, 11, 30, 0, 500_000, tzinfo=UTC),
        TemplateId(UUID(TEMPLATE)),
    )


def test_the_template_may_be_left_out_or_be_null() -> None:
    assert read({"from": FROM, "to": TO}).template_id is None
    assert read({"from": FROM, "to": TO, "templateId": None}).template_id is None


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"from": None}, "/from", "missingProperty"),
        ({"to": None}, "/to", "missingProperty"),
        ({"from": 1}, "/from", "wrongType"),
        ({"from": "2026-11-20"}, "/from", "invalidText"),
        ({"from": "2026-11-20T00:00:00"}, "/from", "invalidText"),
        ({"from": "2026-02-30T00:00:00Z"}, "/from", "invalidText"),
        ({"to": "2026-11-20T24:00:00Z"}, "/to", "invalidText"),
        ({"to": "2026-11-20T10:00:00+99:99"}, "/to", "invalidText"),
        ({"to": FROM}, "/to", "outOfBounds"),
        ({"to": "2026-11-19T00:00:00Z"}, "/to", "outOfBounds"),
        ({"templateId": "x"}, "/templateId", "malformedId"),
        ({"since": FROM}, "/since", "unknownProperty"),
    ],
)
def test_it_rejects_what_is_no_span(change: dict[str, Any], pointer: str, code: str) -> None:
    with pytest.raises(BodyInvalid) as refused:
        read({"from": FROM, "to": TO} | change)

    assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [(pointer, code)]
