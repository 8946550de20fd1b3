# SPDX-License-Identifier: Apache-2.0
"""Groups and teams: many people, other domains, names that are taken, and answers that the suite does not ask for."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.core.errors import Cause, ConnectionBroken, OutsideFault, Rejected, TryAgain
from chamberlain.core.ids import RequestId, UserId
from chamberlain.directory.groups import MemberShipType
from chamberlain.directory.mailboxes import MailboxReference
from chamberlain.directory.port import Directory, GroupWork, Work
from chamberlain.directory.steps import Step
from tests.directory import mailbox_work
from tests.directory.group_work import reference, work
from tests.directory.sample_directory import ADA, BEN, CLEO, NOBODY, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.faults import Fault
from tests.microsoft365.fake.tenant import DELETED, USERS, Tenant
from tests.microsoft365.recording_transport import RecordingTransport
from tests.microsoft365.stage import opened

CROWD = tuple(UserId(UUID(int=0xC0000000 + number)) for number in range(45))


@pytest.fixture
def strict(fake: FakeMicrosoft365) -> RecordingTransport:
    """The recorder under the adapter."""
    return RecordingTransport(fake.transport())


@pytest.fixture
async def directory(fake: FakeMicrosoft365, strict: RecordingTransport) -> AsyncIterator[Directory]:
    """The directory of the first sample tenant."""
    microsoft365 = opened(fake, TENANT, strict)
    yield microsoft365.adapters.directory
    await microsoft365.close()


@pytest.fixture
def crowd(tenant: Tenant) -> tuple[UserId, ...]:
    """More users than one request can have."""
    for each in CROWD:
        tenant.add_user(str(each), displayName="Crowd", userPrincipalName=f"{each}@estate.example")
    return CROWD


async def ensure(directory: Directory, one: GroupWork) -> OutsideFault | None:
    [outcome] = await directory.ensure([one])
    return outcome.fault


async def test_it_adds_more_people_than_one_request_can_have(
    directory: Directory, tenant: Tenant, crowd: tuple[UserId, ...]
) -> None:
    one = work(owners=(ADA, *crowd[:25]), members=crowd)

    assert await ensure(directory, one) is None

    [group] = tenant.created("group")
    assert tenant.owner_ids(group.id) == {str(each) for each in (ADA, *crowd[:25])}
    assert tenant.member_ids(group.id) == {str(each) for each in (ADA, *crowd)}


async def test_an_unknown_user_among_many_creates_nothing(
    directory: Directory, tenant: Tenant, crowd: tuple[UserId, ...]
) -> None:
    fault = await ensure(directory, work(members=(ADA, *crowd, NOBODY)))

    assert isinstance(fault, Rejected)
    assert fault.code == "userUnknown"
    assert tenant.created("group") == []


async def test_a_user_who_is_not_replicated_yet_is_no_unknown_user(directory: Directory, tenant: Tenant) -> None:
    new = UserId(UUID(int=77))
    tenant.lags = replace(tenant.lags, replicas=(timedelta(minutes=1),) * 3)
    tenant.add_user(str(new), at=tenant.now(), displayName="New", userPrincipalName="new@estate.example")

    fault = await ensure(directory, work(members=(ADA, new)))

    assert isinstance(fault, TryAgain)
    assert fault.cause is Cause.NOT_YET


async def test_another_domain_is_a_shortfall(directory: Directory) -> None:
    [outcome] = await directory.ensure([work(mail="pier@other-domain.example")])

    assert outcome.fault is None
    assert outcome.observed is not None
    assert outcome.observed.mail == "pier@estate.example"
    assert [each.reason.code for each in outcome.shortfalls] == ["addressDomainNotSet"]


async def test_the_lost_answer_of_a_creation_creates_no_second_group(
    directory: Directory, fake: FakeMicrosoft365, tenant: Tenant
) -> None:
    one = work()
    fake.faults.plan(Fault.LOST_ANSWER, method="PATCH")

    first, second = await ensure(directory, one), await ensure(directory, one)

    assert isinstance(first, TryAgain)
    assert second is None
    assert len(tenant.created("group")) == 1


async def test_a_repeated_upsert_that_is_refused_continues(directory: Directory, tenant: Tenant) -> None:
    one = work()
    tenant.refuses_bound_again = True
    await ensure(directory, one)
    tenant.lags = replace(tenant.lags, replicas=(timedelta(minutes=1),) * 3)

    hidden = await ensure(directory, one)
    tenant.lags = replace(tenant.lags, replicas=(timedelta(0),) * 3)
    shown = await ensure(directory, one)

    assert isinstance(hidden, TryAgain)
    assert hidden.cause is Cause.NOT_YET
    assert (shown, len(tenant.created("group"))) == (None, 1)


async def test_a_deleted_group_keeps_its_unique_name(directory: Directory, tenant: Tenant) -> None:
    one = work()
    await ensure(directory, one)
    [group] = tenant.created("group")
    tenant.delete_group(group.id)

    fault = await ensure(directory, one)

    assert tenant.latest().get(DELETED, group.id) is not None
    assert isinstance(fault, TryAgain)
    assert (fault.cause, fault.because.code) == (Cause.NOT_YET, "partNotSet")


async def test_a_group_without_its_mark_is_not_changed(directory: Directory, tenant: Tenant) -> None:
    one = work()
    await ensure(directory, one)
    [group] = tenant.created("group")
    tenant.change(("groups",), group.id, chamberlain_group=None)

    fault = await ensure(directory, replace(one, wanted=replace(one.wanted, display_name="Other")))

    assert isinstance(fault, Rejected)
    assert fault.code == "alreadyManaged"
    assert await directory.observe([reference(one)]) == [None]


async def test_an_extension_that_is_not_registered_breaks_the_connection(directory: Directory) -> None:
    one = work()

    fault = await ensure(directory, replace(one, wanted=replace(one.wanted, extension="other_group")))

    assert isinstance(fault, ConnectionBroken)
    assert "other_group" in fault.reason


async def test_members_of_a_team_are_added_by_teams(
    directory: Directory, tenant: Tenant, strict: RecordingTransport
) -> None:
    team = work(channels=("General",), members=(ADA,))
    await ensure(directory, team)
    strict.exchanges.clear()

    grown = replace(team.wanted, owners=(ADA, CLEO), members=(ADA, BEN, CLEO))
    fault = await ensure(directory, Work(grown, (Step.ADD_OWNERS, Step.ADD_MEMBERS)))

    [group] = tenant.created("group")
    assert fault is None
    assert tenant.owner_ids(group.id) == {str(ADA), str(CLEO)}
    assert tenant.member_ids(group.id) == {str(ADA), str(BEN), str(CLEO)}
    writes = [each.path for each in strict.exchanges if each.method != "GET"]
    assert writes == [f"/teams/{group.id}/members/add"] * 2


async def test_a_member_who_was_not_added_is_added_later(
    directory: Directory, fake: FakeMicrosoft365, tenant: Tenant
) -> None:
    team = work(channels=("General",), members=(ADA,))
    await ensure(directory, team)
    grown = Work(replace(team.wanted, members=(ADA, BEN, CLEO)), (Step.ADD_MEMBERS,))
    fake.faults.plan(Fault.MEMBER_NOT_ADDED)

    first, second = await ensure(directory, grown), await ensure(directory, grown)

    [group] = tenant.created("group")
    assert isinstance(first, TryAgain)
    assert second is None
    assert tenant.member_ids(group.id) == {str(ADA), str(BEN), str(CLEO)}


async def test_a_deleted_channel_reserves_its_name(directory: Directory, tenant: Tenant) -> None:
    team = work(channels=("General", "Plans"))
    await ensure(directory, team)
    [group] = tenant.created("group")
    tenant.delete_channel(group.id, "Plans")

    fault = await ensure(directory, Work(team.wanted, (Step.CREATE_CHANNELS,)))

    assert isinstance(fault, TryAgain)
    assert (fault.cause, fault.because.code) == (Cause.NOT_YET, "partNotSet")
    assert "Plans" in fault.reason


async def test_a_new_team_waits_until_teams_knows_the_group(directory: Directory, tenant: Tenant) -> None:
    tenant.lags = replace(tenant.lags, teams=timedelta(minutes=10))
    team = work(channels=("General",))

    [outcome] = await directory.ensure([team])

    assert isinstance(outcome.fault, TryAgain)
    assert outcome.fault.cause is Cause.NOT_YET
    assert outcome.done == (Step.CREATE_GROUP, Step.ADD_OWNERS, Step.ADD_MEMBERS)
    [group] = tenant.created("group")
    assert str(outcome.made) == group.id


async def test_the_members_of_a_dynamic_team_are_not_written(
    directory: Directory, tenant: Tenant, strict: RecordingTransport
) -> None:
    dynamic = work(
        member_ship_type=MemberShipType.DYNAMIC,
        membership_rule='user.department -eq "Sales"',
        members=(),
        channels=("General",),
    )

    assert await ensure(directory, dynamic) is None

    bodies = [each.sent for each in strict.exchanges if each.sent is not None]
    assert all("members@odata.bind" not in body for body in bodies)
    assert len(tenant.created("team")) == 1


async def test_a_quota_fails_the_request_only(directory: Directory, tenant: Tenant) -> None:
    tenant.most_groups = 0

    fault = await ensure(directory, work())

    assert isinstance(fault, Rejected)
    assert fault.code == "refusedByDirectory"
    assert "quota" in fault.detail


async def test_mailboxes_are_refused(directory: Directory) -> None:
    one = mailbox_work.plain()
    mailbox = MailboxReference(TENANT, "chamberlain_mailbox", RequestId(UUID(int=1)))

    [outcome] = await directory.ensure_mailboxes([one])

    assert isinstance(outcome.fault, Rejected)
    assert outcome.fault.code == "mailboxesNotSupported"
    assert await directory.observe_mailboxes([mailbox]) == [None]


async def test_the_sample_users_are_unchanged(directory: Directory, tenant: Tenant) -> None:
    before = dict(tenant.latest().items(USERS))

    await ensure(directory, work(channels=("General",)))

    assert dict(tenant.latest().items(USERS)) == before
