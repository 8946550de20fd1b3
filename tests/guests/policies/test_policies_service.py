# SPDX-License-Identifier: Apache-2.0
"""Guest policies: every change on record, and what is in use stays."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest

from chamberlain.auth.models import Caller, Edit
from chamberlain.core.errors import Conflict, Forbidden, NotFound, NotPossible, Stale
from chamberlain.core.idempotency import Act, IdempotencyKey
from chamberlain.core.ids import PolicyId
from chamberlain.core.paging import Page, PageWanted
from chamberlain.directory.embedded.subjects import EmbeddedSubjects
from chamberlain.guests.policies.models import PolicyRecord
from chamberlain.guests.policies.schema import POLICY
from chamberlain.guests.policies.service import PolicyService, Simulator
from chamberlain.template_admin.models import COLLAB
from tests.estates import ADA, BEN, ESTATE, OTHER_HOUSE, TRACE, Estate, caller_of
from tests.events.configuration_events import BY_ADA, stored_events
from tests.requests.request_services import administrator, application
from tests.template_admin.template_fixture import TemplateFixture

NINETY_DAYS = PolicyId(UUID("90110000-0000-4000-8000-000000000001"))
EXPIRY: dict[str, object] = {"afterDays": 30, "reminderDays": [7, 1], "action": "remove"}
ANY = Edit(None, TRACE)
FIRST_PAGE = PageWanted(200, None)
NOTHING: Mapping[str, object] = {}
AUDIT = "SELECT action, payload FROM chamberlain.audit WHERE trace_id = $1 ORDER BY sequence"


@dataclass
class PolicyFixture:
    """An administrator of guest policies."""

    estate: Estate
    caller: Caller

    @property
    def policies(self) -> PolicyService:
        database = self.estate.databases.application
        simulator = Simulator(database, EmbeddedSubjects(database.pool), self.estate.now)
        return PolicyService(database, self.estate.authorization(), simulator, uuid4, lambda: self.estate.moment)

    async def create(self, members: Mapping[str, object] = NOTHING, *, key: str | None = None) -> PolicyId:
        act = Act(None, None if key is None else IdempotencyKey(key, b"digest"), TRACE)
        answer = await self.policies.create(
            self.caller, POLICY.read(body(members)), act, lambda each: each.stored.content
        )
        return PolicyId(UUID(json.loads(answer.body)["id"]))

    async def replace(
        self, policy_id: PolicyId, members: Mapping[str, object] = NOTHING, edit: Edit = ANY
    ) -> PolicyRecord:
        return await self.policies.replace(self.caller, policy_id, POLICY.read(body(members)), edit)

    async def delete(self, policy_id: PolicyId, edit: Edit = ANY) -> None:
        await self.policies.delete(self.caller, policy_id, edit)

    async def read(self, policy_id: PolicyId) -> PolicyRecord:
        return await self.policies.read(self.caller, policy_id)

    async def page(self, page: PageWanted = FIRST_PAGE) -> Page[PolicyRecord]:
        return await self.policies.list(self.caller, page)


def body(members: Mapping[str, object]) -> bytes:
    """A policy of 30 days, with what is said otherwise."""
    return json.dumps({"name": "30 days", "expiry": EXPIRY, **members}).encode()


@pytest.fixture
def policy_fixture(estate: Estate) -> PolicyFixture:
    """The administrator of the example estate."""
    return PolicyFixture(estate, administrator(ADA))


# Any: values on record are of every kind.
async def audited(estate: Estate) -> list[tuple[str, Any, Any]]:
    """The audit entries since the estate was loaded: actions with values before and after."""
    rows = [(str(action), json.loads(str(payload))) for action, payload in await estate.rows(AUDIT, TRACE)]
    return [(action, told["before"], told["after"]) for action, told in rows if told["actor"]["type"] != "system"]


async def test_it_works(estate: Estate, policy_fixture: PolicyFixture) -> None:
    made = await policy_fixture.create()
    record = await policy_fixture.read(made)

    assert (record.stored.head.id, record.stored.head.name, record.etag) == (made, "30 days", '"1"')
    assert record.created_by.display_name == "Ada Achterberg"
    ((action, before, after),) = await audited(estate)
    assert (action, before, after["expiry"], "id" in after) == ("policy.create", None, EXPIRY, False)


async def test_a_replaced_one_is_on_record_with_what_changed_only(
    estate: Estate, policy_fixture: PolicyFixture
) -> None:
    made = await policy_fixture.create()

    after = await policy_fixture.replace(made, {"name": "Thirty days", "active": False})
    again = await policy_fixture.replace(made, {"name": "Thirty days", "active": False})

    assert (after.etag, again.etag, after.stored.head.active) == ('"2"', '"2"', False)
    assert (await audited(estate))[1:] == [
        ("policy.replace", {"name": "30 days", "active": True}, {"name": "Thirty days", "active": False})
    ]
    await policy_fixture.delete(made)
    events = [data for type_, data in await stored_events(estate.databases) if type_ == "policy.changed"]
    assert [each["change"] for each in events] == ["created", "replaced", "deleted"]
    assert events[1] == {
        "policy": {"id": str(made), "name": "Thirty days"},
        "change": "replaced",
        "properties": ["active", "name"],
        "changedBy": BY_ADA,
    }


async def test_a_deleted_one_is_gone_and_on_record(estate: Estate, policy_fixture: PolicyFixture) -> None:
    made = await policy_fixture.create()

    await policy_fixture.delete(made)

    for attempt in (policy_fixture.read(made), policy_fixture.delete(made), policy_fixture.replace(made)):
        with pytest.raises(NotFound):
            await attempt
    (_, (action, before, after)) = await audited(estate)
    assert (action, before["expiry"], after) == ("policy.delete", EXPIRY, None)


async def test_it_rejects_days_that_do_not_go_together(estate: Estate, policy_fixture: PolicyFixture) -> None:
    wrong: dict[str, object] = {
        "expiry": {"afterDays": 7, "reminderDays": [14, 1], "action": "remove"},
        "review": {
            "everyDays": 7,
            "answerDays": 8,
            "confirmedBy": "owners",
            "reminderDays": [1, 1],
            "action": "notify",
        },
    }

    for attempt in (policy_fixture.create(wrong), policy_fixture.replace(NINETY_DAYS, wrong)):
        with pytest.raises(NotPossible) as refused:
            await attempt
        assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [
            ("/expiry/reminderDays/0", "ruleInvalid"),
            ("/review/answerDays", "ruleInvalid"),
            ("/review/reminderDays/1", "ruleInvalid"),
        ]
    assert await audited(estate) == []


async def test_it_rejects_a_version_that_is_not_the_one(policy_fixture: PolicyFixture) -> None:
    seen = Edit(frozenset({(await policy_fixture.read(NINETY_DAYS)).etag}), TRACE)
    await policy_fixture.replace(NINETY_DAYS, edit=seen)

    with pytest.raises(Stale):
        await policy_fixture.replace(NINETY_DAYS, {"name": "Another"}, seen)
    with pytest.raises(Stale):
        await policy_fixture.delete(NINETY_DAYS, seen)


async def test_it_rejects_to_delete_one_that_is_assigned_and_lets_it_be_inactive(
    estate: Estate, policy_fixture: PolicyFixture
) -> None:
    await estate.rows(
        "INSERT INTO chamberlain.subject (tenant_id, subject_id, type, display_name, name_key, is_team, "
        "member_ship_type, observed_at, policy_id) VALUES ($1, $2, 'group', 'A', 'a', false, 0, now(), $3) RETURNING 1",
        ESTATE,
        UUID("94000000-0000-4000-8000-000000000001"),
        NINETY_DAYS,
    )

    with pytest.raises(Conflict) as refused:
        await policy_fixture.delete(NINETY_DAYS)
    await policy_fixture.replace(NINETY_DAYS, {"active": False})

    assert refused.value.code == "inUse"
    assert not (await policy_fixture.read(NINETY_DAYS)).stored.head.active
    assert await estate.rows("SELECT 1 FROM chamberlain.subject WHERE policy_id = $1", NINETY_DAYS)


async def test_it_rejects_to_delete_one_that_a_template_names(estate: Estate, policy_fixture: PolicyFixture) -> None:
    naming = await TemplateFixture(estate, administrator(ADA), COLLAB).create({"guestPolicyId": str(NINETY_DAYS)})

    with pytest.raises(Conflict) as refused:
        await policy_fixture.delete(NINETY_DAYS)

    assert (refused.value.code, refused.value.conflicting_id) == ("inUse", str(naming))


async def test_it_rejects_ids_of_another_tenant(estate: Estate) -> None:
    theirs = PolicyFixture(estate, application("Collab.Config.ReadWrite.All", OTHER_HOUSE))

    assert (await theirs.page()).items == []
    for attempt in (theirs.read(NINETY_DAYS), theirs.replace(NINETY_DAYS), theirs.delete(NINETY_DAYS)):
        with pytest.raises(NotFound):
            await attempt


@pytest.mark.parametrize(
    ("caller", "code"),
    [
        (administrator(BEN), "notAdministrator"),
        (caller_of(ADA), "insufficientScope"),
        (application("Collab.Manage.ReadWrite.All"), "insufficientScope"),
        (application("Mail.Config.ReadWrite.All"), "insufficientScope"),
    ],
)
async def test_it_rejects_who_may_not(estate: Estate, caller: Caller, code: str) -> None:
    policy_fixture = PolicyFixture(estate, caller)

    for attempt in (
        policy_fixture.create(),
        policy_fixture.page(),
        policy_fixture.read(NINETY_DAYS),
        policy_fixture.replace(NINETY_DAYS),
        policy_fixture.delete(NINETY_DAYS),
    ):
        with pytest.raises(Forbidden) as refused:
            await attempt
        assert refused.value.code == code


async def test_the_same_key_makes_one(estate: Estate) -> None:
    policy_fixture = PolicyFixture(estate, application("Collab.Config.ReadWrite.All"))

    assert await policy_fixture.create(key="k") == await policy_fixture.create(key="k")
    assert len((await policy_fixture.page()).items) == 3


async def test_lists_come_in_pages_newest_first(policy_fixture: PolicyFixture) -> None:
    made = [await policy_fixture.create({"name": f"Policy {number}"}) for number in range(3)]

    first = await policy_fixture.page(PageWanted(2, None))
    second = await policy_fixture.page(PageWanted(2, first.next))

    assert [each.stored.head.id for each in (*first.items, *second.items)][:3] == made[::-1]
    assert second.next is not None
    assert (await policy_fixture.page(PageWanted(2, second.next))).next is None
