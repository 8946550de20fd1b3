# SPDX-License-Identifier: Apache-2.0
"""Waiting for the directory during an adoption: it ends after one day, and after two for a mark that stays."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.adoptions.models import (
    GONE,
    NO_ANSWER,
    NOT_SHOWN,
    TIMEOUT,
    AdoptedObject,
    AdoptionConflict,
    AdoptionItem,
    MailboxPart,
    RefusedItem,
    after_refusal,
    after_wait,
)
from chamberlain.auth.models import SERVICE
from chamberlain.core.errors import Cause, ConnectionBroken, TryAgain
from chamberlain.core.ids import MailboxId, RequestId
from chamberlain.requests.models import RequestResult
from tests.adoptions.adoption_values import MOMENT

pytestmark = pytest.mark.pure

ITEM = AdoptionItem(UUID(int=1), RequestId(UUID(int=2)), "Harbour", "harbour@estate.example", waits_since=MOMENT)
BUSY = TryAgain(timedelta(seconds=10), "Busy.")
RESULT = RequestResult("mailbox", UUID(int=1), "Harbour", "harbour@estate.example")
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(("fault", "conflict"), [(NOT_SHOWN, GONE), (BUSY, NO_ANSWER)])
def test_the_directory_has_a_day_to_answer(fault: TryAgain, conflict: AdoptionConflict) -> None:
    assert after_wait(ITEM, fault, now=MOMENT + TIMEOUT - SECOND) == (ITEM, fault)
    assert after_wait(ITEM, fault, now=MOMENT + TIMEOUT) == RefusedItem(ITEM, conflict)


def test_an_item_that_did_not_wait_yet_waits() -> None:
    item = replace(ITEM, waits_since=None)

    assert after_wait(item, BUSY, now=MOMENT + 9 * TIMEOUT) == (item, BUSY)


def test_each_cause_has_a_day() -> None:
    busy, hours = TryAgain(10 * SECOND, "Busy.", Cause.BUSY), timedelta(hours=20)
    item = replace(ITEM, waited=ITEM.wait(busy, now=MOMENT + hours))
    item = replace(item, waited=item.wait(NOT_SHOWN, now=MOMENT + hours + SECOND))

    assert after_wait(item, NOT_SHOWN, now=MOMENT + 2 * hours) == (item, NOT_SHOWN)
    assert after_wait(item, busy, now=MOMENT + 2 * hours) == (item, busy)
    assert after_wait(item, NOT_SHOWN, now=MOMENT + 3 * hours) == RefusedItem(item, GONE)


def test_a_broken_connection_refuses_nothing() -> None:
    broken = ConnectionBroken(10 * SECOND, "The credential has lapsed.")
    late = MOMENT + 9 * TIMEOUT
    item = replace(ITEM, waited=ITEM.wait(broken, now=MOMENT))

    assert after_wait(item, broken, now=late) == (item, broken)
    assert after_wait(item, NOT_SHOWN, now=late) == (item, NOT_SHOWN)
    assert after_refusal(RefusedItem(item, GONE), broken, now=late) == (item, broken)


def test_a_mark_may_stay_for_two_days() -> None:
    refused = RefusedItem(ITEM, GONE)

    assert after_refusal(refused, None, now=MOMENT + 9 * TIMEOUT) == refused
    assert after_refusal(refused, BUSY, now=MOMENT + 2 * TIMEOUT - SECOND) == (ITEM, BUSY)
    ended = after_refusal(refused, BUSY, now=MOMENT + 2 * TIMEOUT)
    assert isinstance(ended, RefusedItem)
    assert ended.conflict.code == GONE.code
    assert ended.conflict != GONE


@pytest.mark.parametrize(
    ("alias", "held"),
    [
        (None, {("address", "harbour@estate.example"), ("name", "harbour")}),
        (
            "Pier@Estate.example",
            {("address", "harbour@estate.example"), ("address", "pier@estate.example"), ("name", "harbour")},
        ),
    ],
)
def test_an_adopted_mailbox_holds_its_name_and_its_addresses_in_lower_case(
    alias: str | None, held: set[tuple[str, str]]
) -> None:
    part = MailboxPart(MailboxId(UUID(int=3)), "Harbour", "harbour", alias, b"{}", frozenset())
    adopted = AdoptedObject(ITEM, "Harbour", "Harbour@Estate.example", b"{}", SERVICE, RESULT, part)

    assert adopted.held == held
    assert replace(adopted, mailbox=None).held == {("address", "harbour@estate.example")}
