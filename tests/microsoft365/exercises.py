# SPDX-License-Identifier: Apache-2.0
"""Everything that the service does in a directory for a template or a policy, for the permissions in use."""

from collections.abc import Sequence
from dataclasses import replace

from chamberlain.directory.models import ObjectType, PeopleQuestion
from chamberlain.directory.port import DisableGuest, GroupWork, GuestAct, Marking, RemoveGuest, Work
from chamberlain.directory.routed import Adapters
from chamberlain.directory.steps import Step
from chamberlain.guests.policies.models import PolicyAction, PolicyRules
from chamberlain.templates.models import TemplateKind
from tests.directory.group_work import reference, work
from tests.directory.guest_work import ASSIGNMENTS, EXTENSION, assign
from tests.directory.guest_work import reference as subject_reference
from tests.directory.sample_directory import ADA, BEN, CLEO, GIL, HANA, OUTER, PARTNERS, TENANT
from tests.microsoft365.fake.application import FakeMicrosoft365
from tests.microsoft365.fake.sample import APP, sample_fake
from tests.microsoft365.recording_transport import RecordingTransport
from tests.microsoft365.stage import opened

CLEAR, FORBID, PARTNERS_ONLY, _, POLICY_ALONE = ASSIGNMENTS
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


async def record_template(kind: TemplateKind | None, permissions: frozenset[str]) -> RecordingTransport:
    """Use a template of a kind, or none, with these permissions alone. Returns the recorder."""
    fake, recorder = _directory(permissions)
    microsoft365 = opened(fake, TENANT, recorder)
    ports = microsoft365.adapters
    await _look_up(ports)
    match kind:
        case TemplateKind.GROUP:
            await _provision(ports, work())
        case TemplateKind.TEAM:
            await _provision(ports, work(channels=("General", "Plans")))
        case TemplateKind.GUEST:
            await ports.guests.observe([subject_reference(PARTNERS)])
            for each in (FORBID, PARTNERS_ONLY, CLEAR):
                [outcome] = await ports.guests.ensure([assign(PARTNERS, each, remove=(GIL,))])
                assert outcome.fault is None
        case TemplateKind.SHARED | TemplateKind.EQUIPMENT | TemplateKind.ROOM | None:
            # Mailboxes are refused before any call.
            pass
    await microsoft365.close()
    return recorder


async def record_policy(rules: PolicyRules, permissions: frozenset[str]) -> RecordingTransport:
    """Use a policy with these permissions alone. Returns the recorder."""
    fake, recorder = _directory(permissions)
    microsoft365 = opened(fake, TENANT, recorder)
    ports = microsoft365.adapters
    await _look_up(ports)
    assignment = replace(assign(PARTNERS, POLICY_ALONE), steps=(Step.MARK_ASSIGNMENT,))
    [assigned] = await ports.guests.ensure([assignment])
    await ports.guests.observe([subject_reference(PARTNERS)])
    outcomes = await ports.guests.act(_acts(rules))
    await microsoft365.close()
    assert assigned.fault is None
    assert [each.fault for each in outcomes] == [None] * len(outcomes)
    return recorder


def _acts(rules: PolicyRules) -> Sequence[GuestAct]:
    actions = {each.action for each in (rules.expiry, rules.review, rules.inactivity) if each is not None}
    acts: dict[PolicyAction, GuestAct] = {
        PolicyAction.REMOVE: RemoveGuest(TENANT, PARTNERS, GIL),
        PolicyAction.DISABLE: DisableGuest(TENANT, HANA),
    }
    return [act for action, act in acts.items() if action in actions]


def _directory(permissions: frozenset[str]) -> tuple[FakeMicrosoft365, RecordingTransport]:
    fake = sample_fake()
    fake.consent(str(TENANT), str(APP), permissions)
    return fake, RecordingTransport(fake.transport())


async def _look_up(ports: Adapters) -> None:
    """Look people up, as for each request, and discover groups."""
    await ports.people.look_up(EVERYTHING)
    await ports.people.find(TENANT, "ada", 10)
    await ports.guests.changes(TENANT, EXTENSION, None)


async def _provision(ports: Adapters, one: GroupWork) -> None:
    """Create a group, add people to it, repair it, adopt another one."""
    wanted = one.wanted
    grown = replace(wanted, owners=(ADA, CLEO), members=(ADA, BEN, CLEO), display_name="Port")
    marked = replace(wanted, marks={**wanted.marks, "templateId": "7e000000-0000-4000-8000-000000000022"})
    works = [
        one,
        Work(grown, (Step.ADD_OWNERS, Step.ADD_MEMBERS)),
        Work(grown, (Step.SET_PROPERTIES,)),
        Work(marked, (Step.ASSIGN_GUEST_RULES,)),
    ]
    for each in works:
        [outcome] = await ports.directory.ensure([each])
        assert outcome.fault is None
    [seen] = await ports.directory.observe([reference(one)])
    assert seen is not None
    adopted = [Marking(TENANT, ObjectType.GROUP, OUTER, EXTENSION, wanted.request_id)]
    assert [*await ports.adoptions.mark(adopted), *await ports.adoptions.unmark(adopted)] == [None, None]
