# SPDX-License-Identifier: Apache-2.0
"""Which days of a policy go together, and which policy can be used."""

from uuid import UUID

import pytest

from chamberlain.core.ids import PolicyId, TenantId
from chamberlain.guests.policies.models import (
    ConfirmedBy,
    Expiry,
    Inactivity,
    MinimumOwners,
    PolicyAction,
    PolicyHead,
    PolicyRules,
    Review,
    policy_fault,
    policy_faults,
)

pytestmark = pytest.mark.pure

NOTHING = PolicyRules(None, None, None, None)
ACTION = PolicyAction.NOTIFY


def head(*, active: bool) -> PolicyHead:
    return PolicyHead(TenantId(UUID(int=1)), PolicyId(UUID(int=2)), 1, "90 days", active)


def expiry(after: int, *reminders: int) -> PolicyRules:
    return PolicyRules(Expiry(after, reminders, ACTION), None, None, None)


def review(every: int, answer: int, *reminders: int) -> PolicyRules:
    return PolicyRules(None, Review(every, answer, ConfirmedBy.OWNERS, reminders, ACTION), None, None)


def inactivity(after: int, *reminders: int) -> PolicyRules:
    return PolicyRules(None, None, Inactivity(after, reminders, ACTION), None)


def owners(*reminders: int) -> PolicyRules:
    return PolicyRules(None, None, None, MinimumOwners(2, reminders, ACTION))


@pytest.mark.parametrize(
    ("rules", "pointers"),
    [
        (NOTHING, []),
        (expiry(90, 14, 7, 1), []),
        (expiry(14, 14), []),
        (expiry(14, 15, 1, 16), ["/expiry/reminderDays/0", "/expiry/reminderDays/2"]),
        (expiry(90, 7, 1, 7), ["/expiry/reminderDays/2"]),
        (review(365, 14, 14, 7, 1), []),
        (review(14, 14), []),
        (review(14, 15), ["/review/answerDays"]),
        (review(365, 14, 15), ["/review/reminderDays/0"]),
        (review(7, 8, 9, 9), ["/review/answerDays", *(f"/review/reminderDays/{place}" for place in (0, 1, 1))]),
        (inactivity(120, 7), []),
        (inactivity(6, 7), ["/inactivity/reminderDays/0"]),
        (owners(3, 400), []),
        (owners(3, 3), ["/minimumOwners/reminderDays/1"]),
        (owners(3, 3, 1, 3, 5), ["/minimumOwners/reminderDays/3"]),
        (owners(3, 1, 1, 3, 5), ["/minimumOwners/reminderDays/3", "/minimumOwners/reminderDays/2"]),
    ],
)
def test_it_works_for_days_that_go_together(rules: PolicyRules, pointers: list[str]) -> None:
    faults = list(policy_faults(rules))

    assert [fault.pointer for fault in faults] == pointers
    assert {fault.code for fault in faults} <= {"ruleInvalid"}


def test_it_names_the_place_in_a_file() -> None:
    (fault,) = policy_faults(expiry(1, 2), "/tenants/0/policies/3")

    assert fault.pointer == "/tenants/0/policies/3/expiry/reminderDays/0"
    assert fault.code == "ruleInvalid"


@pytest.mark.parametrize(
    ("found", "code"), [(None, "policyUnknown"), (head(active=False), "policyInactive"), (head(active=True), None)]
)
def test_it_rejects_one_that_cannot_be_used(found: PolicyHead | None, code: str | None) -> None:
    fault = policy_fault(found, "/guestPolicyId")

    assert (fault and (fault.pointer, fault.code)) == (code and ("/guestPolicyId", code))


def test_the_api_shows_these_words() -> None:
    assert [str(each) for each in PolicyAction] == ["notify", "disable", "remove"]
    assert [str(each) for each in ConfirmedBy] == ["owners", "administrators"]
