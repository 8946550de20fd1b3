# SPDX-License-Identifier: Apache-2.0
"""The permissions that `doctor --permissions` names are those that the recorder sees in use."""

import pytest

from chamberlain.directory.microsoft365.permissions import Feature, required
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.port import DisableGuest, RemoveGuest
from tests.directory.group_work import work
from tests.directory.guest_work import ASSIGNMENTS, assign
from tests.directory.sample_directory import ADA, BEN, CLEO, GIL, HANA, OUTER, PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import APP
from tests.microsoft365.recording_transport import RecordingTransport
from tests.microsoft365.stage import opened

CLEAR, FORBID, ALLOW, *_ = ASSIGNMENTS
EVERYTHING = PeopleQuestion(
    TENANT,
    users=frozenset({ADA}),
    addresses=frozenset({"free@estate.example"}),
    member=ADA,
    groups=frozenset({OUTER}),
    manager_of=BEN,
    members_of=frozenset({OUTER}),
    named_groups=frozenset({OUTER}),
    owners_of=frozenset({OUTER}),
)


@pytest.mark.parametrize("feature", Feature)
async def test_the_permissions_of_a_feature_are_those_in_use(fake: FakeMicrosoft365, feature: Feature) -> None:
    permissions = frozenset(required([feature]))
    fake.consent(str(TENANT), str(APP), permissions)
    recorder = RecordingTransport(fake.transport())
    microsoft365 = opened(fake, TENANT, recorder)
    ports = microsoft365.adapters

    await ports.people.look_up(EVERYTHING)
    faults: list[object]
    match feature:
        case Feature.PEOPLE:
            faults = []
        case Feature.GROUPS:
            one = work()
            more = work(request_id=one.wanted.request_id, owners=(ADA, CLEO), members=(ADA, BEN, CLEO))
            faults = [outcome.fault for each in (one, more) for outcome in await ports.directory.ensure([each])]
        case Feature.TEAMS:
            team = work(channels=("General", "Plans"))
            more = work(
                request_id=team.wanted.request_id, owners=(ADA, CLEO), members=(ADA, CLEO), channels=("General",)
            )
            faults = [outcome.fault for each in (team, more) for outcome in await ports.directory.ensure([each])]
        case Feature.GUEST_RULES:
            rules = [assign(PARTNERS, each) for each in (FORBID, ALLOW, CLEAR)]
            faults = [outcome.fault for outcome in await ports.guests.ensure(rules)]
        case Feature.REMOVE_GUESTS:
            faults = [outcome.fault for outcome in await ports.guests.act([RemoveGuest(TENANT, PARTNERS, GIL)])]
        case Feature.DISABLE_GUESTS:
            faults = [outcome.fault for outcome in await ports.guests.act([DisableGuest(TENANT, HANA)])]
        case Feature.INACTIVITY:
            await ports.guests.changes(TENANT, "chamberlain_group", None)
            faults = []
    await microsoft365.close()

    assert faults == [None] * len(faults)
    assert recorder.needs(permissions) == frozenset()
    # The recorder does not tell the sign-in activity from other properties of a user.
    assert recorder.superfluous(permissions) - {"AuditLog.Read.All"} == frozenset()


def test_a_team_needs_more_than_a_group() -> None:
    assert set(required([Feature.TEAMS])) - set(required([Feature.GROUPS])) == {"TeamMember.ReadWrite.All"}
