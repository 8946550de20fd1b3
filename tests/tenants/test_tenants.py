# SPDX-License-Identifier: Apache-2.0
"""The properties and limits of a tenant."""

from dataclasses import replace

import pytest

from chamberlain.tenants.models import Applicability, Limits, limit_full
from tests.mailboxes.mailbox_values import HOUSE

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(("limit", "seconds"), [("requestsPerMinute", 60), ("openRequests", 10)])
def test_it_works(limit: str, seconds: int) -> None:
    refusal = limit_full(limit)

    assert (refusal.code, refusal.limit) == ("quotaExceeded", limit)
    assert refusal.after.total_seconds() == seconds


def test_a_tenant_has_no_limits_and_no_repair_unless_it_says_so() -> None:
    assert Limits(None, None, None) == HOUSE.limits
    assert (HOUSE.applicability, HOUSE.repairs_drift, HOUSE.repair_properties) == (Applicability.REFUSE, False, {})
    assert HOUSE.default_domain == "estate.example"


@pytest.mark.parametrize(
    ("former", "marked_under"),
    [((), ()), (("a", "b"), ("b", "a")), (("a", "chamberlain", "b", "a"), ("a", "b"))],
)
def test_former_prefixes_come_newest_first(former: tuple[str, ...], marked_under: tuple[str, ...]) -> None:
    assert replace(HOUSE, former_prefixes=former).marked_under == marked_under


def test_the_api_shows_these_words() -> None:
    assert [str(each) for each in Applicability] == ["refuse", "warn"]
