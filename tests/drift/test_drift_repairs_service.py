# SPDX-License-Identifier: Apache-2.0
"""Repairs of drift: refused ones stop no other, users who left are not wanted, and the record has only real repairs."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.core.errors import Rejected, TryAgain
from chamberlain.core.ids import RequestId
from chamberlain.directory.mailboxes import MailboxReference, ObservedMailbox
from chamberlain.directory.port import MailboxOutcome, MailboxWork, Outcome
from chamberlain.directory.properties import DriftProperty, Treatment
from chamberlain.directory.steps import Step
from chamberlain.guests.models import FindingState
from tests.drift.drift_fixture import DriftFixture, drift_fixture
from tests.estates import BEN, INTERNAL, Estate
from tests.faulty_directory import FaultyDirectory
from tests.guests.assignments.guest_fixture import later

ELI = UUID("e1100000-0000-4000-8000-000000000005")
OPEN, REPAIRED, GONE = FindingState.OPEN, FindingState.REPAIRED, FindingState.GONE
MOVE = "UPDATE directory.users SET properties = properties || '{\"city\": \"Elsewhere\"}' WHERE mail LIKE 'desk%'"
BACK = MOVE.replace("Elsewhere", "Town")
UNLABEL = "UPDATE directory.groups SET label_id = NULL WHERE id = $1"
LEAVE = "DELETE FROM directory.users WHERE id = $1"
REFUSED = Rejected("locked", "The mailbox is on hold.")


@pytest.fixture
async def drift(estate: Estate) -> DriftFixture:
    return drift_fixture(estate)


async def city_of(drift: DriftFixture, request_id: RequestId) -> str | None:
    mailbox = await drift.estate.mailbox(request_id)
    assert mailbox is not None
    return mailbox.address_fields.city


async def test_it_works_in_a_group_whose_owner_has_left(drift: DriftFixture) -> None:
    await drift.set_repair({DriftProperty.GROUP_MEMBERS: Treatment.MANAGED})
    request_id, group_id = await drift.group(owners=[str(ELI), str(BEN)], labelId=INTERNAL)
    await drift.change(LEAVE, ELI)
    await drift.change("DELETE FROM directory.memberships WHERE member_id = $1", ELI)
    await drift.change("UPDATE directory.memberships SET is_owner = false WHERE member_id = $1", BEN)
    await drift.change(UNLABEL, group_id)

    for _ in range(3):
        await drift.check_all()
        later(drift.estate, days=1)

    assert await drift.findings() == [("drift", REPAIRED, "labelId"), ("drift", REPAIRED, "owners")]
    group = await drift.estate.group(request_id)
    assert group is not None
    assert (group.label_id, BEN in group.owners) == (INTERNAL, True)


async def test_it_works_for_a_mailbox_whose_owner_has_left(drift: DriftFixture) -> None:
    await drift.set_repair()
    permissions = {str(ELI): "FullAccess", str(BEN): "SendAs"}
    await drift.mailbox(primaryOwner=str(ELI), secondaryOwner=str(BEN), permissions=permissions)
    await drift.change(LEAVE, ELI)
    await drift.change("UPDATE directory.mailboxes SET owners = ARRAY[$1::uuid] WHERE name = 'Desk'", BEN)
    await drift.change("DELETE FROM directory.mailbox_permissions")

    await drift.check_all()

    assert await drift.findings() == [("drift", REPAIRED, "permissions")]


async def test_a_refusal_is_no_repair_that_did_not_hold(drift: DriftFixture) -> None:
    await drift.set_repair()
    request_id = await drift.mailbox(city="Town")
    await drift.change(MOVE)
    drift.estate.directory.faults["The desk"] = REFUSED

    for _ in range(4):
        await drift.check_all()
        later(drift.estate, days=1)

    (finding,) = await drift.records()
    assert (finding.kind, finding.state, finding.action) == ("drift", OPEN, None)
    assert finding.detail.endswith(REFUSED.detail)
    drift.estate.directory.faults.clear()
    await drift.check_all()
    assert await drift.findings() == [("drift", REPAIRED, "city")]
    assert await city_of(drift, request_id) == "Town"


@dataclass
class PermissionRefusingDirectory(FaultyDirectory):
    """A directory that refuses everything that is asked together with permissions."""

    async def ensure_mailboxes(self, works: Sequence[MailboxWork]) -> Sequence[MailboxOutcome]:
        refused: dict[int, MailboxOutcome] = {
            id(work): Outcome(None, (), REFUSED) for work in works if Step.SET_PERMISSIONS in work.steps
        }
        done = iter(await super().ensure_mailboxes([work for work in works if id(work) not in refused]))
        return [refused[id(work)] if id(work) in refused else next(done) for work in works]


async def test_a_refusal_of_one_property_stops_no_other(drift: DriftFixture) -> None:
    await drift.set_repair()
    request_id = await drift.mailbox(city="Town", hideFromGAL=True, permissions={str(BEN): "FullAccess"})
    await drift.mailbox(name="Desk 2", displayName="Another", city="Town")
    await drift.change(MOVE)
    await drift.change("DELETE FROM directory.mailbox_permissions")
    await drift.change("UPDATE directory.mailboxes SET is_hidden = false")
    drift.jobs = replace(drift.jobs, directory=PermissionRefusingDirectory(drift.estate.directory))

    await drift.check_all()

    assert await drift.findings() == [
        ("drift", OPEN, "permissions"),
        ("drift", REPAIRED, "city"),
        ("drift", REPAIRED, "city"),
        ("drift", REPAIRED, "hideFromGAL"),
    ]
    assert await city_of(drift, request_id) == "Town"
    details = [each.detail for each in await drift.records() if each.state is OPEN]
    assert all(detail.endswith(REFUSED.detail) for detail in details)
    assert len(await drift.repairs()) == 3


async def test_what_was_refused_is_not_asked_for_again_at_once(drift: DriftFixture) -> None:
    await drift.set_repair()
    await drift.mailbox(city="Town")
    await drift.change(MOVE)
    drift.estate.directory.faults["The desk"] = REFUSED
    drift.estate.directory.ensured_mailboxes.clear()

    await drift.check_all()

    assert len(drift.estate.directory.ensured_mailboxes) == 1


@pytest.mark.parametrize("is_ignored", [True, False])
async def test_what_we_did_not_put_right_is_not_on_record_as_such(drift: DriftFixture, *, is_ignored: bool) -> None:
    """It was put right once; then it was changed again, within the hour in which nothing is tried."""
    await drift.set_repair()
    await drift.mailbox(city="Town")
    await drift.change(MOVE)
    await drift.check_all()
    await drift.change(MOVE)
    await drift.check_all()
    before = await drift.findings()

    # The property is ignored, or an administrator repairs it.
    if is_ignored:
        await drift.set_repair({DriftProperty.MAILBOX_CITY: Treatment.IGNORED}, drift=False)
    else:
        await drift.change(BACK)
    await drift.check_all()

    assert before == [("drift", OPEN, "city"), ("drift", REPAIRED, "city")]
    assert await drift.findings() == [("drift", GONE, "city"), ("drift", REPAIRED, "city")]
    assert len(await drift.repairs()) == 1


async def test_what_was_made_without_an_answer_is_on_record_when_it_is_shown(drift: DriftFixture) -> None:
    """After a timeout of the directory it is unknown whether the repair was made."""
    await drift.set_repair()
    await drift.mailbox(city="Town")
    await drift.change(MOVE)
    drift.estate.directory.error = TryAgain(timedelta(seconds=10), "Busy.")
    await drift.check_all()
    unanswered = await drift.findings()
    drift.estate.directory.error = None
    await drift.change(BACK)

    await drift.check_all()
    await drift.check_all()

    assert (unanswered, await drift.findings()) == ([("drift", OPEN, "city")], [("drift", REPAIRED, "city")])
    assert len(await drift.repairs()) == 1
    assert await drift.estate.rows("SELECT about FROM chamberlain.drift_repair") == []


async def test_a_mailbox_that_is_hidden_for_a_night_keeps_what_is_known_of_its_repairs(drift: DriftFixture) -> None:
    await drift.set_repair()
    await drift.mailbox(city="Town")
    await drift.change(MOVE)
    drift.estate.directory.acknowledges_only = True
    await drift.check_all()
    await drift.change(BACK)
    check = drift.jobs
    drift.jobs = replace(check, directory=EmptyDirectory(drift.estate.directory))
    later(drift.estate, days=1)
    await drift.check_all()
    drift.jobs = check

    await drift.check_all()

    assert ("drift", REPAIRED, "city") in await drift.findings()
    assert len(await drift.repairs()) == 1


async def test_what_was_refused_is_not_on_record_as_put_right(drift: DriftFixture) -> None:
    await drift.set_repair()
    await drift.mailbox(city="Town")
    await drift.change(MOVE)
    drift.estate.directory.faults["The desk"] = REFUSED
    await drift.check_all()
    drift.estate.directory.faults.clear()
    await drift.change(BACK)

    await drift.check_all()

    assert await drift.findings() == [("drift", GONE, "city")]
    assert await drift.repairs() == []
    assert await drift.estate.rows("SELECT about FROM chamberlain.drift_repair") == []


async def test_what_a_directory_shows_late_is_on_record_when_it_does(drift: DriftFixture) -> None:
    await drift.set_repair()
    await drift.mailbox(city="Town")
    await drift.change(MOVE)
    drift.estate.directory.acknowledges_only = True
    await drift.check_all()
    late = await drift.findings()
    await drift.change(BACK)

    await drift.check_all()
    await drift.check_all()

    assert (late, await drift.findings()) == ([("drift", OPEN, "city")], [("drift", REPAIRED, "city")])
    assert len(await drift.repairs()) == 1


class EmptyDirectory(FaultyDirectory):
    """A directory that shows no mailbox."""

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        return [None for _ in references]


@dataclass
class ConcurrentChangeDirectory(FaultyDirectory):
    """A directory that runs an action during a read."""

    act: Callable[[], Awaitable[None]] | None = None

    async def observe_mailboxes(self, references: Sequence[MailboxReference]) -> Sequence[ObservedMailbox | None]:
        shown = await super().observe_mailboxes(references)
        if self.act is not None:
            await self.act()
        return shown


async def test_what_is_accepted_while_things_are_looked_at_is_left_as_it_is(drift: DriftFixture) -> None:
    request_id = await drift.mailbox(city="Town", hideFromGAL=True)
    await drift.change(MOVE)
    await drift.change("UPDATE directory.mailboxes SET is_hidden = false")
    await drift.check_all()
    await drift.set_repair()

    async def accept() -> None:
        await drift.accept("drift", "city")

    drift.jobs = replace(drift.jobs, directory=ConcurrentChangeDirectory(drift.estate.directory, act=accept))
    await drift.check_all()

    assert await drift.findings() == [("drift", FindingState.ACCEPTED, "city"), ("drift", REPAIRED, "hideFromGAL")]
    assert await city_of(drift, request_id) == "Elsewhere"
    assert len(await drift.repairs()) == 1
