# SPDX-License-Identifier: Apache-2.0
"""Steps that the directory completes in part: a warning with a code, and the request succeeds."""

import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from chamberlain.core.errors import Cause, TryAgain
from chamberlain.core.ids import RequestId
from chamberlain.core.paging import PageWanted
from chamberlain.core.reasons import Reason
from chamberlain.directory.port import Shortfall
from chamberlain.directory.steps import Step
from chamberlain.guests.assignments.wire import managed_group_of
from chamberlain.requests.models import RequestFilter, StepRecord, StepState
from chamberlain.requests.rules import viewed
from chamberlain.requests.steps import reasons_by_step
from chamberlain.requests.wire import request_of, step_of, summary_of
from tests.estates import ADA, BEN, Estate, caller_of
from tests.groups.test_group_provision import make_due
from tests.guests.assignments.guest_fixture import PARTNERS, guest_fixture
from tests.mailboxes.mailbox_bodies import SMALL
from tests.requests.request_services import request_service

DOMAIN = Reason.build("addressDomainNotSet", domain="estate.example", address="apollo@other.example")
QUOTA = Reason.build("quotaNotSet", megabytes=50_000)
GUEST_DOMAINS = Reason.build("guestDomainsNotEnforced")
NOT_YET = TryAgain(timedelta(seconds=5), "Wait.", Cause.NOT_YET)


def shortfall(reason: Reason) -> dict[str, object]:
    return {"code": reason.code, "detail": reason.sentence, "values": reason.values}


async def shown(estate: Estate, request_id: RequestId) -> dict[str, Any]:
    """The request, as the API shows it."""
    document: dict[str, Any] = json.loads(msgspec.json.encode(request_of(viewed(await estate.record(request_id)))))
    return document


async def event_data(estate: Estate, request_id: RequestId) -> dict[str, object]:
    [(data,)] = await estate.rows("SELECT data FROM chamberlain.event WHERE request_id = $1", request_id)
    document: dict[str, object] = json.loads(str(data))
    return document


async def test_a_part_that_was_left_undone_is_shown(estate: Estate) -> None:
    estate.directory.shortfalls = (Shortfall(Step.CREATE_GROUP, DOMAIN),)
    accepted = await estate.request("Apollo", members=[str(BEN)])

    await estate.work()

    request = await shown(estate, accepted.request_id)
    [listed] = (await request_service(estate).list(caller_of(ADA), RequestFilter(), PageWanted(10, None))).items
    assert (request["state"], request["shortfalls"], request["warnings"]) == ("succeeded", 1, [DOMAIN.sentence])
    assert summary_of(listed).shortfalls == 1
    created, added = request["steps"]
    assert (created["state"], created["reasonCode"]) == ("warning", DOMAIN.code)
    assert created["shortfall"] == shortfall(DOMAIN)
    assert (added["state"], "shortfall" in added) == ("succeeded", False)
    told = (await event_data(estate, accepted.request_id))["shortfalls"]
    assert told == [{"step": "createGroup", **shortfall(DOMAIN)}]
    entries = "SELECT jsonb_path_query(timeline, '$[*].step.cause.code') #>> '{}' FROM chamberlain.request"
    assert await estate.rows(entries) == [(DOMAIN.code,)]


async def test_a_mailbox_has_its_shortfalls_too(estate: Estate) -> None:
    estate.directory.shortfalls = (Shortfall(Step.CREATE_MAILBOX, QUOTA),)
    accepted = (await estate.ask_mailbox(SMALL)).accepted

    await estate.work()

    assert (await shown(estate, accepted.request_id))["shortfalls"] == 1
    assert (await event_data(estate, accepted.request_id))["shortfalls"] == [
        {"step": "createMailbox", **shortfall(QUOTA)}
    ]


async def test_without_shortfalls_there_is_no_member(estate: Estate) -> None:
    accepted = await estate.request("Apollo")

    await estate.work()

    assert "shortfalls" not in await shown(estate, accepted.request_id)
    assert "shortfalls" not in await event_data(estate, accepted.request_id)


async def test_a_recorded_step_warns_once(estate: Estate) -> None:
    estate.directory.shortfalls = (Shortfall(Step.CREATE_GROUP, DOMAIN),)
    accepted = await estate.request("Apollo", members=[str(BEN)])
    estate.directory.faults["Apollo"] = NOT_YET
    estate.directory.done = (Step.CREATE_GROUP,)
    await estate.work()
    waiting = await shown(estate, accepted.request_id)
    estate.directory.faults.clear()

    await make_due(estate)
    await estate.work()

    assert ("shortfalls" in waiting, waiting["warnings"]) == (False, [DOMAIN.sentence])
    request = await shown(estate, accepted.request_id)
    assert (request["shortfalls"], request["warnings"]) == (1, [DOMAIN.sentence])


async def test_an_assignment_has_its_shortfalls(estate: Estate) -> None:
    fixture = guest_fixture(estate)
    await fixture.discover()
    await fixture.assign(templateId=str(PARTNERS))
    fixture.guests.shortfalls = (Shortfall(Step.SET_GUEST_DOMAINS, GUEST_DOMAINS),)

    await fixture.work()

    effects = json.loads(msgspec.json.encode(managed_group_of(await fixture.record())))["effects"]
    short = {each["name"]: each["shortfall"] for each in effects if "shortfall" in each}
    assert short == {"setGuestDomains": shortfall(GUEST_DOMAINS)}


@pytest.mark.pure
def test_several_shortfalls_of_a_step_become_one() -> None:
    shortfalls = [Shortfall(Step.CREATE_MAILBOX, each) for each in (DOMAIN, QUOTA)]

    joined = Reason.build("partNotSet", problem=f"{DOMAIN.sentence} {QUOTA.sentence}")
    assert reasons_by_step(shortfalls, recorded=()) == {Step.CREATE_MAILBOX: joined}
    assert reasons_by_step(shortfalls, recorded={Step.CREATE_MAILBOX}) == {}


@pytest.mark.pure
def test_a_warning_of_an_older_version_has_the_words_of_the_directory() -> None:
    shown = step_of(StepRecord(Step.SET_LABEL, StepState.WARNING, reason="A delegate is needed."))

    assert shown.shortfall is not None
    assert (shown.shortfall.code, shown.shortfall.detail) == ("partNotSet", "A delegate is needed.")
