# SPDX-License-Identifier: Apache-2.0
"""Run policies day by day over an estate, and collect their effects."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import msgspec

from chamberlain.core.ids import GroupId, PolicyId, UserId
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobKind
from tests.estates import ESTATE, LEASE
from tests.guests.assignments.guest_fixture import ALL_STAFF, GIL, GuestFixture

MAKE_GROUP = """
INSERT INTO directory.groups (
    tenant_id, id, display_name, mail_nickname, visibility, group_types, mail_enabled, security_enabled, extensions,
    created_at
) VALUES ($1, $2, 'Partners', 'partners', 'Private', '{Unified}', true, false, '{}', now())
"""
MAKE_GUESTS = """
INSERT INTO directory.users (
    tenant_id, id, display_name, user_principal_name, mail, user_type, account_enabled, properties
)
SELECT $1, id, 'Guest ' || n, 'guest' || n || '#EXT#@estate.example', 'guest' || n || '@partner.example', 'Guest', true,
    '{}'
FROM unnest($2::uuid[]) WITH ORDINALITY AS g (id, n)
"""
JOIN = """
INSERT INTO directory.memberships (tenant_id, group_id, member_id, is_owner, is_member, is_group)
SELECT $1, $2, id, false, true, false FROM unnest($3::uuid[]) id ON CONFLICT DO NOTHING
"""
LEAVE = "DELETE FROM directory.memberships WHERE tenant_id = $1 AND group_id = $2 AND member_id = ANY ($3)"
MEMBERS = """
SELECT m.member_id FROM directory.memberships m
JOIN directory.users u ON u.tenant_id = m.tenant_id AND u.id = m.member_id
WHERE m.tenant_id = $1 AND m.group_id = $2 AND u.user_type = 'Guest' ORDER BY 1
"""
DISABLED = "SELECT id FROM directory.users WHERE tenant_id = $1 AND NOT account_enabled AND user_type = 'Guest'"
TAKE = """
UPDATE chamberlain.job SET lease_id = $1, lease_until = now() + $2, run_at = now()
WHERE tenant_id = $3 AND subject = $4 AND kind = $5
RETURNING job_id, tenant_id, kind, subject, trace_id, attempts, queued_at
"""
WAIT = """
SELECT extract(epoch FROM run_at - now()) FROM chamberlain.job WHERE tenant_id = $1 AND subject = $2 AND kind = $3
"""
EVENTS = """
SELECT type, at, data::text FROM chamberlain.event
WHERE type LIKE 'policy.%' AND data -> 'subject' ->> 'id' = $1 ORDER BY sequence
"""
PUT_POLICY = """
INSERT INTO chamberlain.policy (tenant_id, policy_id, revision, active, content, created_by)
VALUES ($1, $2, 1, true, $3::text::json, '{"type": "system", "id": null, "display_name": "Test"}')
ON CONFLICT (tenant_id, policy_id) DO UPDATE SET revision = policy.revision + 1, content = excluded.content
"""

# The day, the event and the guest.
Told = tuple[float, str, UserId | None]


@dataclass
class Runs:
    """A group whose policy runs on days from now."""

    guest_rules: GuestFixture
    group_id: GroupId = ALL_STAFF
    began_at: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.began_at = self.guest_rules.estate.moment

    def set_day(self, day: float) -> None:
        """Let it be so many days later than at the beginning."""
        self.guest_rules.estate.moment = self.began_at + timedelta(days=day)

    async def claim(self) -> Claim:
        """Claim the jobs of the group, due or not, leased or not."""
        lease_id = uuid4()
        rows = await self.guest_rules.estate.databases.worker.pool.fetch(
            TAKE, lease_id, LEASE, ESTATE, self.group_id, JobKind.POLICY_EVALUATE
        )
        return Claim(lease_id, tuple([queue_jobs.job_of(row) for row in rows]))

    async def run(self, day: float) -> None:
        """Run the policy of the group on that day."""
        self.set_day(day)
        await self.guest_rules.evaluate.evaluate(await self.claim())

    async def run_daily(self, until: int, *, since: int = 0) -> None:
        """Run it on each of these days, the last one too."""
        for day in range(since, until + 1):
            await self.run(day)

    async def wait(self) -> timedelta:
        """Return the time until the job of the group is due, in minutes."""
        [[seconds]] = await self.guest_rules.estate.rows(WAIT, ESTATE, self.group_id, JobKind.POLICY_EVALUATE)
        return timedelta(minutes=round(float(str(seconds)) / 60))

    async def jobs(self) -> Sequence[Job]:
        """The jobs that there are for the group."""
        return (await self.claim()).jobs

    async def events(self) -> Sequence[dict[str, object]]:
        """Return the events about the group, as in the feed."""
        rows = await self.guest_rules.estate.rows(EVENTS, str(self.group_id))
        return [msgspec.json.decode(str(data)) | {"type": type_, "at": at} for type_, at, data in rows]

    async def told(self) -> list[Told]:
        """The same in short: `reminder`, or the action that was taken."""
        return [self._occurrences(event) for event in await self.events()]

    async def members(self) -> list[UserId]:
        """The guests in the group."""
        rows = await self.guest_rules.estate.rows(MEMBERS, ESTATE, self.group_id)
        return [UserId(UUID(str(user))) for (user,) in rows]

    async def disabled(self) -> set[UserId]:
        """The guests of the tenant who may not sign in."""
        return {UserId(UUID(str(user))) for (user,) in await self.guest_rules.estate.rows(DISABLED, ESTATE)}

    async def join(self, guests: Iterable[UserId] = (GIL,)) -> None:
        """Let guests who are in the directory come into the group."""
        await self.execute(JOIN, ESTATE, self.group_id, list(guests))

    async def leave(self, guests: Iterable[UserId] = (GIL,)) -> None:
        """Remove guests in the directory."""
        await self.execute(LEAVE, ESTATE, self.group_id, list(guests))

    async def put_policy(self, policy_id: PolicyId, **rules: object) -> None:
        """Make a policy or replace one, as administrators do."""
        content = {"id": str(policy_id), "name": "Of a test", **rules}
        await self.execute(PUT_POLICY, ESTATE, policy_id, msgspec.json.encode(content).decode())

    async def execute(self, statement: str, *values: object) -> None:
        """Do something behind everybody's back."""
        async with self.guest_rules.estate.databases.worker.across_tenants() as tx:
            await tx.execute(statement, *values)

    def _occurrences(self, event: dict[str, object]) -> Told:
        at, guest = event["at"], event["guest"]
        assert isinstance(at, datetime)
        who = UserId(UUID(guest["id"])) if isinstance(guest, dict) else None
        what = "reminder" if event["type"] == "policy.reminder" else str(event["action"])
        return (at - self.began_at) / timedelta(days=1), what, who


async def make_guests(runs: Runs, number: int) -> list[UserId]:
    """So many guests in the directory, in no group yet."""
    guests = [UserId(uuid4()) for _ in range(number)]
    await runs.execute(MAKE_GUESTS, ESTATE, guests)
    return guests


async def new_group(guest_rules: GuestFixture) -> Runs:
    """A group of its own, without anybody in it."""
    runs = Runs(guest_rules, GroupId(uuid4()))
    await runs.execute(MAKE_GROUP, ESTATE, runs.group_id)
    return runs
