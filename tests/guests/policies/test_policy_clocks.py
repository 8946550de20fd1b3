# SPDX-License-Identifier: Apache-2.0
"""The clocks of single guests are read without those of all the others in the group."""

from datetime import timedelta
from uuid import UUID, uuid4

from chamberlain.core.ids import GroupId, PolicyId, UserId
from chamberlain.directory.subjects import Guest, SubjectType
from chamberlain.guests.models import FindingSubject
from chamberlain.guests.policies import store as policy_store
from chamberlain.guests.policies.evaluation import PolicyTask
from chamberlain.guests.policies.models import PolicyAction
from chamberlain.guests.policies.timers import PolicyRule, Timer
from tests.estates import ESTATE, Estate
from tests.query_plans import rows_looked_at

GROUP = GroupId(UUID("94000000-0000-4000-8000-000000000001"))
OTHER = GroupId(UUID("94000000-0000-4000-8000-000000000002"))
GUESTS = [Guest(UserId(UUID(int=number)), None, f"Guest {number}") for number in range(1, 6)]
FILL = """
INSERT INTO chamberlain.policy_clock (
    tenant_id, subject_id, rule, guest_id, guest_name, policy_id, terms, action, started_at, round, is_acting
)
SELECT $1, $2, 'expiry', gen_random_uuid(), 'Somebody', gen_random_uuid(), '', 'remove', now(), 1, true
FROM generate_series(1, 20000)
"""


def subject(group_id: GroupId) -> FindingSubject:
    return FindingSubject(ESTATE, group_id, SubjectType.GROUP, "All staff")


def timer(estate: Estate, guest: Guest, rule: PolicyRule = PolicyRule.EXPIRY) -> Timer:
    now = estate.moment
    return Timer(rule, guest, PolicyId(uuid4()), "", PolicyAction.REMOVE, now, now + timedelta(days=1), None)


async def test_it_works(estate: Estate) -> None:
    first, second, third = GUESTS[:3]
    own = [timer(estate, first), timer(estate, first, PolicyRule.REVIEW), timer(estate, second)]
    [of_other] = [timer(estate, first)]
    tasks = [PolicyTask((ESTATE, group), subject(group), None) for group in (GROUP, OTHER)]
    async with estate.databases.worker.across_tenants() as tx:
        kept = [*own, timer(estate, third)]
        await policy_store.save_timers(tx, [*[(subject(GROUP), each) for each in kept], (subject(OTHER), of_other)])
        wanted = {((ESTATE, GROUP), first.id), ((ESTATE, GROUP), second.id), ((ESTATE, OTHER), first.id)}

        read = await policy_store.read_guest_timers(tx, tasks, wanted)
        nobody = await policy_store.read_guest_timers(tx, tasks, ())

    assert [set(task.timers) for task in read] == [set(own), {of_other}]
    assert list(nobody) == tasks


async def test_it_passes_by_the_clocks_of_others(estate: Estate) -> None:
    columns = [ESTATE] * len(GUESTS), [GROUP] * len(GUESTS), [guest.id for guest in GUESTS]
    async with estate.databases.worker.across_tenants() as tx:
        await policy_store.save_timers(tx, [(subject(GROUP), timer(estate, guest)) for guest in GUESTS])
        await tx.execute(FILL, ESTATE, GROUP)
        await tx.execute("ANALYZE chamberlain.policy_clock")

        assert await rows_looked_at(tx, policy_store.READ_GUEST_TIMERS, *columns, list(PolicyRule)) <= len(GUESTS)
