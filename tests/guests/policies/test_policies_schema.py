# SPDX-License-Identifier: Apache-2.0
"""The schema of a guest policy."""

from typing import Any

import msgspec
import pytest

from chamberlain.core.errors import BodyInvalid
from chamberlain.core.validation import Reader
from chamberlain.guests.policies.schema import PolicyShape

POLICY = Reader(PolicyShape)

# Any: JSON that tests bend out of shape.
YEARLY: dict[str, Any] = {
    "id": "90110000-0000-4000-8000-000000000002",
    "name": "Yearly review",
    "description": "",
    "active": True,
    "expiry": None,
    "review": {
        "everyDays": 365,
        "answerDays": 14,
        "confirmedBy": "owners",
        "reminderDays": [14, 7, 1],
        "action": "disable",
    },
    "inactivity": {"afterDays": 120, "reminderDays": [7], "action": "notify"},
    "minimumOwners": {"count": 2, "reminderDays": [], "action": "notify"},
}


def test_it_works() -> None:
    shape = POLICY.read_value(YEARLY)

    assert msgspec.json.decode(msgspec.json.encode(shape)) == YEARLY


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"minimumOwners": {"count": 2, "action": "remove"}}, "/minimumOwners/action"),
        ({"expiry": {"afterDays": 0, "action": "remove"}}, "/expiry/afterDays"),
        ({"expiry": {"afterDays": 90}}, "/expiry/action"),
        (
            {"review": {"everyDays": 30, "answerDays": 7, "confirmedBy": "all", "action": "notify"}},
            "/review/confirmedBy",
        ),
        ({"inactivity": {"afterDays": 30, "reminderDays": ["7"], "action": "notify"}}, "/inactivity/reminderDays/0"),
    ],
)
def test_it_rejects_a_policy_of_another_shape(change: dict[str, Any], pointer: str) -> None:
    with pytest.raises(BodyInvalid) as caught:
        POLICY.read_value(YEARLY | change)

    assert [fault.pointer for fault in caught.value.faults] == [pointer]
