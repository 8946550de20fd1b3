# SPDX-License-Identifier: Apache-2.0
"""Capabilities that make requests impossible, and those that do not."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chamberlain.directory.capabilities import ALL_ABILITIES, Ability, Capabilities, Limits
from chamberlain.directory.properties import DriftProperty

pytestmark = pytest.mark.pure

WHOLE = Capabilities(timedelta(0), shares_database=True)
CITY = frozenset({DriftProperty.MAILBOX_CITY})


@pytest.mark.parametrize(
    ("capabilities", "restricts"),
    [
        (WHOLE, False),
        (replace(WHOLE, trusts_writes=True, in_lanes=True), False),
        (replace(WHOLE, unreadable=CITY), False),
        (replace(WHOLE, limits=Limits(observe_batch=1000)), False),
        (replace(WHOLE, unheld=CITY), True),
        (replace(WHOLE, limits=Limits(display_name=64)), True),
        (replace(WHOLE, limits=Limits(mailbox_name=64)), True),
        (replace(WHOLE, limits=Limits(refused_characters="@")), True),
        *[(replace(WHOLE, abilities=ALL_ABILITIES - {each}), True) for each in Ability],
    ],
)
def test_it_states_whether_valid_requests_may_be_impossible(capabilities: Capabilities, *, restricts: bool) -> None:
    assert capabilities.restricts_requests is restricts


def test_properties_that_are_not_stored_or_reported_are_hidden() -> None:
    phone = frozenset({DriftProperty.MAILBOX_PHONE})

    assert replace(WHOLE, unheld=CITY, unreadable=phone).hidden == CITY | phone
    assert WHOLE.hidden == frozenset()
