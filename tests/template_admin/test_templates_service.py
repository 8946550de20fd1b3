# SPDX-License-Identifier: Apache-2.0
"""Mailbox templates: one default of each kind, every change on record, and what was made with one stays."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from chamberlain.auth.models import Caller, Edit
from chamberlain.core.errors import Forbidden, NotFound, NotPossible, Stale, TryAgain, Unavailable
from chamberlain.core.ids import TemplateId, TenantId, UserId
from chamberlain.core.paging import PageWanted
from chamberlain.templates import records as template_records
from chamberlain.templates.models import TemplateKind
from tests.estates import ADA, BEN, ESTATE, NOBODY, OTHER_HOUSE, PROJECT_GROUP, TRACE, Estate, caller_of
from tests.events.configuration_events import BY_ADA, stored_events
from tests.requests.request_services import PREFIX, administrator, application
from tests.template_admin.template_fixture import TemplateFixture, content

ROOM = TemplateId(UUID("7e000000-0000-4000-8000-000000000003"))
USUAL = {"Room", "Equipment", "Shared mailbox"}
STAFF = "94000000-0000-4000-8000-000000000001"
AUDIT = "SELECT action, payload FROM chamberlain.audit WHERE trace_id = $1 ORDER BY sequence"
DEFAULTS = "SELECT template_id FROM chamberlain.template WHERE tenant_id = $1 AND kind = 'room' AND is_default"


@pytest.fixture
def template_fixture(estate: Estate) -> TemplateFixture:
    """The administrator of the example estate."""
    return TemplateFixture(estate, administrator(ADA))


def asker(user: UserId) -> Caller:
    """A caller who may request mailboxes."""
    return replace(caller_of(user), permissions=frozenset({f"{PREFIX}/mail/App.ReadWrite.All"}))


async def audited(estate: Estate) -> list[tuple[str, object, object]]:
    """The audit entries since the estate was loaded: actions with values before and after."""
    rows = [(str(action), json.loads(str(payload))) for action, payload in await estate.rows(AUDIT, TRACE)]
    return [(action, told["before"], told["after"]) for action, told in rows if told["actor"]["type"] != "system"]


async def test_it_works(estate: Estate, template_fixture: TemplateFixture) -> None:
    made = await template_fixture.create({"defaults": {"hideFromGAL": True}})
    record = await template_fixture.read(made)

    assert (record.stored.head.id, record.stored.head.kind, record.stored.head.name) == (made, "room", "Quiet room")
    assert record.created_by.display_name == "Ada Achterberg"
    ((action, before, after),) = await audited(estate)
    assert (action, before) == ("template.create", None)
    assert isinstance(after, dict)
    assert (after["name"], after["defaults"], "id" in after) == ("Quiet room", {"hideFromGAL": True}, False)
    ((type_, data),) = await stored_events(estate.databases)
    assert (type_, data["template"]) == (
        "template.changed",
        {"id": str(made), "name": "Quiet room", "kind": "room"},
    )
    assert (data["change"], data["properties"], data["changedBy"]) == ("created", sorted(after), BY_ADA)


async def test_a_replaced_one_is_on_record_with_what_changed_only(
    estate: Estate, template_fixture: TemplateFixture
) -> None:
    made = await template_fixture.create()
    before = await template_fixture.read(made)

    after = await template_fixture.replace(made, {"name": "Loud room", "description": "With drums"})

    assert content(after)["name"] == "Loud room"
    assert after.etag != before.etag
    assert after.created_at == before.created_at
    assert after.created_by == before.created_by
    assert (await audited(estate))[-1] == (
        "template.replace",
        {"name": "Quiet room", "description": ""},
        {"name": "Loud room", "description": "With drums"},
    )
    await template_fixture.delete(made)
    events = [(data["change"], data["template"]["name"]) for _, data in await stored_events(estate.databases)]
    assert events == [("created", "Quiet room"), ("replaced", "Loud room"), ("deleted", "Loud room")]
    assert (await stored_events(estate.databases))[1][1]["properties"] == ["description", "name"]


async def test_saying_the_same_again_changes_nothing(estate: Estate, template_fixture: TemplateFixture) -> None:
    made = await template_fixture.create({"isDefault": True})
    before, on_record = await template_fixture.read(made), await audited(estate)

    after = await template_fixture.replace(made, {"isDefault": True})

    assert after == before
    assert await audited(estate) == on_record


async def test_a_new_default_takes_that_from_the_other(estate: Estate, template_fixture: TemplateFixture) -> None:
    old = await template_fixture.read(ROOM)

    made = await template_fixture.create({"isDefault": True})

    lost = await template_fixture.read(ROOM)
    assert await estate.rows(DEFAULTS, ESTATE) == [(made,)]
    assert content(lost) == {**content(old), "isDefault": False}
    assert lost.etag != old.etag
    assert (await audited(estate))[0] == ("template.replace", {"isDefault": True}, {"isDefault": False})
    assert (await stored_events(estate.databases))[0][1]["properties"] == ["isDefault"]


async def test_one_that_is_not_active_is_no_default(estate: Estate, template_fixture: TemplateFixture) -> None:
    made = await template_fixture.create({"isDefault": True, "active": False})
    assert await estate.rows(DEFAULTS, ESTATE) == [(ROOM,)]

    await template_fixture.replace(made, {"isDefault": True})

    assert await estate.rows(DEFAULTS, ESTATE) == [(made,)]


async def test_there_is_one_default_however_many_become_it_at_the_same_time(
    estate: Estate, template_fixture: TemplateFixture
) -> None:
    await asyncio.gather(
        *(template_fixture.create({"name": f"Room {number}", "isDefault": True}) for number in range(20))
    )

    listed = (await template_fixture.page()).items
    defaults = [
        each.stored.head.id for each in listed if each.stored.head.kind == "room" and content(each)["isDefault"]
    ]
    assert len(defaults) == 1
    assert await estate.rows(DEFAULTS, ESTATE) == [(defaults[0],)]


async def test_the_default_is_found_by_its_kind(estate: Estate, template_fixture: TemplateFixture) -> None:
    async with estate.databases.application.transaction(ESTATE) as tx:
        found = await template_records.find_default(tx, ESTATE, TemplateKind.ROOM)
    await template_fixture.delete(ROOM)
    async with estate.databases.application.transaction(ESTATE) as tx:
        gone = await template_records.find_default(tx, ESTATE, TemplateKind.ROOM)

    assert found is not None
    assert found.head.id == ROOM
    assert gone is None


async def test_a_deleted_one_leaves_its_revisions_to_requests(
    estate: Estate, template_fixture: TemplateFixture
) -> None:
    made = await template_fixture.create()
    before = await template_fixture.read(made)

    await template_fixture.delete(made)

    async with estate.databases.worker.across_tenants() as tx:
        kept = await template_records.find_revision(tx, ESTATE, made, before.stored.head.revision)
    assert kept == before.stored
    with pytest.raises(NotFound):
        await template_fixture.read(made)
    action, then, now = (await audited(estate))[-1]
    assert (action, now) == ("template.delete", None)
    assert isinstance(then, dict)
    assert then["name"] == "Quiet room"


async def test_one_that_comes_back_goes_on_counting(estate: Estate, template_fixture: TemplateFixture) -> None:
    before = await template_fixture.read(ROOM)
    await template_fixture.delete(ROOM)

    async with estate.databases.application.transaction(ESTATE) as tx:
        await template_records.put(tx, before.stored, created_by=before.created_by)

    assert (await template_fixture.read(ROOM)).stored.head.revision == before.stored.head.revision + 1


async def test_it_rejects_a_version_that_is_not_the_one(template_fixture: TemplateFixture) -> None:
    made = await template_fixture.create()
    seen = Edit(frozenset({(await template_fixture.read(made)).etag}), TRACE)
    await template_fixture.replace(made, {"name": "Loud room"}, seen)

    with pytest.raises(Stale):
        await template_fixture.replace(made, {"name": "Another room"}, seen)
    with pytest.raises(Stale):
        await template_fixture.delete(made, seen)
    assert content(await template_fixture.read(made))["name"] == "Loud room"


async def test_it_rejects_what_is_not_possible_all_at_once(estate: Estate, template_fixture: TemplateFixture) -> None:
    wrong: dict[str, object] = {
        "domain": "elsewhere.example",
        "naming": {"address": "room"},
        "defaults": {"autoMapping": True, "domain": "nowhere.example"},
        "customFields": [{"key": "a", "label": "A", "type": "choice"}],
    }

    with pytest.raises(NotPossible) as created:
        await template_fixture.create(wrong)
    with pytest.raises(NotPossible) as replaced:
        await template_fixture.replace(ROOM, {**wrong, "kind": "equipment"})

    told = {(fault.pointer, fault.code) for fault in created.value.faults}
    assert told == {
        ("/domain", "domainNotVerified"),
        ("/defaults/domain", "domainNotVerified"),
        ("/naming/address", "ruleInvalid"),
        ("/defaults/autoMapping", "propertyNotApplicable"),
        ("/customFields/0/choices", "ruleInvalid"),
    }
    assert {(fault.pointer, fault.code) for fault in replaced.value.faults} == {*told, ("/kind", "templateOfOtherKind")}
    assert await audited(estate) == []


@pytest.mark.parametrize(("tenant", "theirs"), [(ESTATE, PROJECT_GROUP), (OTHER_HOUSE, ROOM)])
async def test_it_rejects_ids_that_belong_elsewhere(estate: Estate, tenant: TenantId, theirs: TemplateId) -> None:
    template_fixture = TemplateFixture(estate, application("Mail.Config.ReadWrite.All", tenant))

    for attempt in (
        template_fixture.read(theirs),
        template_fixture.replace(theirs, {}),
        template_fixture.delete(theirs),
    ):
        with pytest.raises(NotFound):
            await attempt


async def test_it_rejects_who_is_no_administrator(estate: Estate) -> None:
    template_fixture = TemplateFixture(estate, administrator(BEN))

    for attempt in (
        template_fixture.create(),
        template_fixture.page(),
        template_fixture.read(ROOM),
        template_fixture.replace(ROOM, {}),
        template_fixture.delete(ROOM),
    ):
        with pytest.raises(Forbidden) as refused:
            await attempt
        assert refused.value.code == "notAdministrator"


async def test_it_works_for_an_application(estate: Estate) -> None:
    template_fixture = TemplateFixture(estate, application("Mail.Config.ReadWrite.All"))

    made = await template_fixture.create()

    assert content(await template_fixture.read(made))["name"] == "Quiet room"
    with pytest.raises(Forbidden):
        await TemplateFixture(estate, application("Mail.Manage.ReadWrite.All")).create()


async def test_the_same_key_makes_one(template_fixture: TemplateFixture) -> None:
    first, second = await template_fixture.create(key="k"), await template_fixture.create(key="k")

    assert first == second
    assert len((await template_fixture.page()).items) == 4


async def test_lists_come_in_pages_newest_first(template_fixture: TemplateFixture) -> None:
    made = [await template_fixture.create({"name": f"Room {number}"}) for number in range(3)]

    first = await template_fixture.page(PageWanted(2, None))
    second = await template_fixture.page(PageWanted(2, first.next))

    ids = [each.stored.head.id for each in (*first.items, *second.items)]
    assert ids[:3] == made[::-1]
    assert len(set(ids)) == 4
    assert {each.stored.head.kind for each in (await template_fixture.page()).items} == {"shared", "equipment", "room"}


async def test_everybody_is_offered_what_is_for_them(estate: Estate, template_fixture: TemplateFixture) -> None:
    await template_fixture.create({"name": "For Ben", "audience": {"users": [str(BEN)], "groups": []}})
    await template_fixture.create({"name": "For staff", "audience": {"users": [], "groups": [STAFF]}})
    await template_fixture.create({"name": "For nobody", "audience": {"users": [], "groups": []}})
    await template_fixture.create({"name": "Not active", "active": False})

    offered = {user: await TemplateFixture(estate, asker(user)).offered() - USUAL for user in (BEN, NOBODY)}
    to_application = await TemplateFixture(estate, application("Mail.Manage.ReadWrite.All")).offered()

    assert offered == {BEN: {"For Ben", "For staff"}, NOBODY: set()}
    assert to_application == {*USUAL, "For Ben", "For staff", "For nobody"}


async def test_the_directory_is_asked_only_where_a_group_is_named(
    estate: Estate, template_fixture: TemplateFixture
) -> None:
    estate.people.error = TryAgain(timedelta(seconds=3), "Busy.")
    assert await TemplateFixture(estate, asker(BEN)).offered() == USUAL

    estate.people.error = None
    await template_fixture.create({"name": "For staff", "audience": {"users": [], "groups": [STAFF]}})
    estate.people.error = TryAgain(timedelta(seconds=3), "Busy.")

    with pytest.raises(Unavailable) as refused:
        await TemplateFixture(estate, asker(BEN)).offered()
    assert refused.value.code == "overloaded"


async def test_its_webhook_gets_a_secret_that_is_shown_once(estate: Estate, template_fixture: TemplateFixture) -> None:
    made = await template_fixture.answered({"webhook": {"url": "https://hooks.estate.example/"}})
    template_id = TemplateId(UUID(made["id"]))

    kept = await template_fixture.replace(template_id, {"webhook": {"url": "https://hooks.estate.example/"}})

    assert made["secret"].startswith("whsec_")
    assert (kept.made_secret, kept.secret_number) == (None, 1)
    ((_, _, after),) = await audited(estate)
    assert isinstance(after, dict)
    assert after["webhook"] == {"url": "https://hooks.estate.example/", "active": True, "secret": "***"}
    assert made["secret"] not in str(await stored_events(estate.databases))


async def test_it_rejects_people_and_groups_that_are_not_there(template_fixture: TemplateFixture) -> None:
    nobody = str(NOBODY)
    wrong: dict[str, object] = {
        "audience": {"users": [nobody], "groups": [STAFF, nobody]},
        "defaults": {"primaryOwner": nobody, "permissions": {nobody: "SendAs", str(BEN): "SendAs"}},
    }

    with pytest.raises(NotPossible) as refused:
        await template_fixture.create(wrong)

    assert {(fault.pointer, fault.code) for fault in refused.value.faults} == {
        ("/audience/users/0", "userUnknown"),
        ("/audience/groups/1", "groupUnknown"),
        ("/defaults/primaryOwner", "userUnknown"),
        (f"/defaults/permissions/{nobody}", "userUnknown"),
    }
