# SPDX-License-Identifier: Apache-2.0
"""Events: each is written once, in the transaction of its cause, and read by administrators."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Forbidden, Rejected
from chamberlain.core.ids import EventId, RequestId
from chamberlain.core.paging import FeedPosition, FeedWanted
from chamberlain.database.notify import Watchers
from chamberlain.directory.subjects import SubjectType
from chamberlain.events.feed import EventRecord
from chamberlain.events.followers import Followers
from chamberlain.events.service import EventService
from chamberlain.requests.events import request_accepted, summary_of
from tests.databases import Databases
from tests.estates import (
    ADA,
    BEN,
    DARA,
    ESTATE,
    OTHER_HOUSE,
    PROJECT_GROUP,
    PROJECT_TEAM,
    ZOE,
    Estate,
    caller_of,
    changed_estate,
    mail_caller_of,
    open_estate,
)
from tests.guests.assignments.guest_fixture import (
    ALL_STAFF,
    GIL,
    HANDBOOK,
    NINETY_DAYS,
    NO_GUESTS,
    PARTNERS,
    ZERO,
    expire_leases,
    guest_fixture,
    later,
    make_due,
)
from tests.mailboxes.mailbox_bodies import BODIES
from tests.queue.crash_injection import CrashingDirectory, InjectedCrash
from tests.requests.request_services import administrator, application, cancel, retry

REFUSED = Rejected("ruleInvalid", "The directory does not take it.")
NO_ERROR = {"detail": None}


def event_service(estate: Estate) -> EventService:
    database = estate.databases.application
    return EventService(database, estate.authorization(), Followers(database, Watchers()))


async def read(estate: Estate, caller: Caller | None = None) -> list[EventRecord]:
    """All that there is, three at a time."""
    service, found, place = event_service(estate), list[EventRecord](), FeedPosition(0)
    while True:
        page = await service.list(caller or administrator(ADA), FeedWanted(3, place))
        found += page.items
        place = page.next
        if not page.items:
            return found


async def types(estate: Estate) -> list[str]:
    return [each.type for each in await read(estate)]


async def told(estate: Estate, request_id: RequestId) -> list[tuple[str, Mapping[str, object]]]:
    """The events of one request."""
    return [(each.type, json.loads(each.data)) for each in await read(estate) if each.request_id == request_id]


async def test_it_works(estate: Estate) -> None:
    accepted = await estate.request("Apollo", metadata={"el-text-1": "x"})
    await estate.work()

    (event,) = await read(estate)

    group = await estate.group(accepted.request_id)
    assert group is not None
    assert (event.type, event.request_id, event.tenant_id) == ("group.created", accepted.request_id, ESTATE)
    assert event.timestamp == estate.moment
    assert json.loads(event.data) == {
        "group": {
            "id": str(group.id),
            "displayName": "Apollo",
            "mail": "apollo@estate.example",
            "mailNickname": "apollo",
        },
        "templateId": "7e000000-0000-4000-8000-000000000011",
        "metadata": {"el-text-1": "x"},
        "createdBy": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
    }


@pytest.mark.parametrize("kind", ["group", "team", *BODIES])
async def test_what_was_made_is_reported(estate: Estate, kind: str) -> None:
    request_id = await ask(estate, kind)
    await estate.work()
    await estate.work()

    ((type_, data),) = await told(estate, request_id)

    assert type_ == ("mailbox.created" if kind in BODIES else f"{kind}.created")
    assert data["createdBy"] == {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"}
    assert set(data) == {"mailbox" if kind in BODIES else "group", "templateId", "metadata", "createdBy"}


@pytest.mark.parametrize("kind", ["group", "team", *BODIES])
async def test_what_failed_and_was_cancelled_is_reported(estate: Estate, kind: str) -> None:
    request_id = await ask(estate, kind)
    estate.directory.faults[(await estate.record(request_id)).display_name] = REFUSED
    caller = mail_caller_of(ADA) if kind in BODIES else caller_of(ADA)
    await estate.work()
    await retry(estate, request_id, caller)
    await estate.work()
    await cancel(estate, request_id, caller)

    happened = await told(estate, request_id)

    ends = ["request.failed", "request.retried", "request.failed", "request.cancelled"]
    assert [type_ for type_, _ in happened] == ends
    assert happened[1][1]["changedBy"] == {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"}
    record = await estate.record(request_id)
    for (_, data), state in zip(happened, ("failed", "queued", "failed", "cancelled"), strict=True):
        request = data["request"]
        assert isinstance(request, dict)
        assert (request["requestId"], request["kind"], request["state"]) == (str(request_id), kind, state)
        assert request["displayName"] == record.display_name
        assert (request["error"] or NO_ERROR)["detail"] == (None if state == "queued" else REFUSED.detail)


async def test_what_was_cancelled_before_it_began_is_reported(estate: Estate) -> None:
    request_id = await ask(estate, "group")
    await cancel(estate, request_id, caller_of(ADA))

    ((type_, data),) = await told(estate, request_id)

    request = data["request"]
    assert isinstance(request, dict)
    assert (type_, request["error"]) == ("request.cancelled", None)


async def test_what_has_to_be_approved_is_reported(databases: Databases) -> None:
    def approval() -> Mapping[str, object]:
        return {"approval": {"levels": [{"mode": "any", "approvers": [{"type": "user", "id": str(DARA)}]}]}}

    estate = await open_estate(databases, changed_estate(project_group=approval(), project_team=approval()))
    for kind in ("group", "team"):
        request_id = await ask(estate, kind)

        *_, (type_, data) = await told(estate, request_id)

        assert (type_, data["level"]) == ("request.approvalRequired", 1)
        assert data["approvers"] == [{"id": str(DARA), "displayName": "Dara Lindqvist"}]


@pytest.mark.parametrize(("kind", "subject"), [(SubjectType.GROUP, ALL_STAFF), (SubjectType.SITE, HANDBOOK)])
async def test_what_was_assigned_is_reported_once(estate: Estate, kind: SubjectType, subject: object) -> None:
    guest_rules = guest_fixture(estate)
    group_id = ALL_STAFF if kind is SubjectType.GROUP else HANDBOOK
    for sent in ({"templateId": str(NO_GUESTS)}, {"templateId": str(NO_GUESTS)}, {"templateId": ZERO}):
        await guest_rules.ask(sent, group_id, kind=kind)
        await guest_rules.work()

    found = [(each.type, json.loads(each.data)) for each in await read(estate)]

    # A guest of the group violates the template.
    events = [each for each in found if not each[0].startswith("finding.")]
    nothing, something = {"templateId": None, "policyId": None}, {"templateId": str(NO_GUESTS), "policyId": None}
    assert [type_ for type_, _ in events] == [f"{kind}.assignmentChanged"] * 2
    assert [(data["before"], data["after"]) for _, data in events] == [(nothing, something), (something, nothing)]
    assert {data[str(kind)]["id"] for _, data in events} == {str(subject)}
    assert {data["changedBy"]["id"] for _, data in events} == {str(ADA)}


async def test_effects_that_failed_and_were_cancelled_are_reported(estate: Estate) -> None:
    guest_rules = guest_fixture(estate)
    guest_rules.guests.faults[ALL_STAFF] = REFUSED
    record = await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()
    assert record.assignment_request_id is not None
    await cancel(estate, record.assignment_request_id, administrator(ADA))

    happened = await told(estate, record.assignment_request_id)

    assert [type_ for type_, _ in happened] == [
        "group.assignmentChanged",
        "request.failed",
        "request.cancelled",
    ]
    for _, data in happened[1:]:
        request = data["request"]
        assert isinstance(request, dict)
        assert request["kind"] == "assignment"


async def test_what_a_template_assigns_to_its_groups_is_reported(databases: Databases) -> None:
    rules = {"guestTemplateId": str(PARTNERS), "guestPolicyId": str(NINETY_DAYS)}
    estate = await open_estate(databases, changed_estate(project_group=rules, project_team=rules))
    await ask(estate, "group")
    await ask(estate, "team")
    await estate.work()

    found = await types(estate)

    assert sorted(found) == ["group.assignmentChanged"] * 2 + ["group.created", "team.created"]
    assert found[0] in {"group.created", "team.created"}


async def test_what_was_accepted_is_reported_while_the_feed_is_read(databases: Databases) -> None:
    approval = {"approval": {"levels": [{"mode": "any", "approvers": [{"type": "user", "id": str(DARA)}]}]}}
    estate = await open_estate(databases, changed_estate(project_group=approval))
    unread = await ask(estate, "shared")
    assert await read(estate) == []

    long_name = "N" * 256
    waiting = (await estate.request(long_name, templateId=str(PROJECT_GROUP))).request_id
    mailbox = await ask(estate, "room")
    assigned = (await guest_fixture(estate).assign(templateId=str(NO_GUESTS))).assignment_request_id
    assert assigned is not None
    found = [await told(estate, each) for each in (waiting, mailbox, assigned)]

    assert [[type_ for type_, _ in each] for each in found] == [
        ["request.accepted", "request.approvalRequired"],
        ["request.accepted"],
        ["request.accepted", "group.assignmentChanged"],
    ]
    for request_id, ((_, data), *_) in zip((waiting, mailbox, assigned), found, strict=True):
        record = await estate.record(request_id)
        assert data == request_accepted(EventId(request_id), summary_of(record), now=estate.moment).data
    assert await told(estate, unread) == []
    shortened = "SELECT chamberlain.short_name(name) FROM unnest($1::text[]) name"
    assert await estate.rows(shortened, [long_name, f"{long_name}N"]) == [(long_name,), (f"{'N' * 255}…",)]


@pytest.mark.parametrize(("days", "expected"), [(30, ["request.accepted"]), (32, [])])
async def test_accepted_requests_have_events_a_month_after_the_last_read(
    estate: Estate, days: int, expected: list[str]
) -> None:
    await read(estate)
    aged = "UPDATE chamberlain.tenant SET events_read_at = now() - $1::integer * interval '1 day' RETURNING 1"
    await estate.rows(aged, days)

    request_id = await ask(estate, "group")

    types = [type_ for type_, _ in await estate.rows("SELECT type, request_id FROM chamberlain.event")]
    assert types == expected
    # A read begins a new month.
    await read(estate)
    again = await ask(estate, "team")
    assert [type_ for type_, _ in await told(estate, again)] == ["request.accepted"]
    assert [type_ for type_, _ in await told(estate, request_id)] == expected


async def test_no_event_names_who_is_in_a_group(estate: Estate) -> None:
    guest_rules = guest_fixture(estate)
    await estate.request("Apollo", owners=[str(BEN)], members=[str(DARA)])
    await estate.work()
    await guest_rules.assign(templateId=str(NO_GUESTS))
    await guest_rules.work()

    everything = b"".join(each.data for each in await read(estate)).decode()

    assert [str(user) in everything for user in (BEN, DARA, GIL)] == [False, False, False]


async def test_an_event_is_there_with_what_it_tells_and_not_before(estate: Estate) -> None:
    """The worker dies after the directory has made the group: there is neither an end of the request nor an event."""
    accepted = await estate.request("Apollo")
    with pytest.raises(InjectedCrash):
        await replace(estate.provision_groups, directory=CrashingDirectory(estate.directory)).provision(
            await estate.claim()
        )
    assert await estate.group(accepted.request_id) is not None
    assert await types(estate) == []

    later(estate, minutes=1)
    await expire_leases(estate)
    await make_due(estate)
    await estate.work()

    assert await types(estate) == ["group.created"]
    assert (await estate.record(accepted.request_id)).state == "succeeded"


async def test_an_application_that_configures_reads_them(estate: Estate) -> None:
    await estate.request("Apollo")
    await estate.work()

    for permission in ("Collab.Config.ReadWrite.All", "Mail.Config.ReadWrite.All"):
        assert len(await read(estate, application(permission))) == 1


async def test_another_tenant_reads_its_own_and_nothing_else(estate: Estate) -> None:
    await estate.request("Apollo")
    await estate.work()
    stranger = application("Collab.Config.ReadWrite.All", OTHER_HOUSE)

    assert await read(estate, stranger) == []
    with pytest.raises(Forbidden):
        await read(estate, administrator(ADA, OTHER_HOUSE))


@pytest.mark.parametrize(
    ("caller", "code"),
    [
        (caller_of(ADA), "insufficientScope"),
        (mail_caller_of(ADA), "insufficientScope"),
        (administrator(BEN), "notAdministrator"),
        (administrator(ZOE), "notAdministrator"),
        (application("Mail.Manage.ReadWrite.All"), "insufficientScope"),
        (application("Collab.Manage.ReadWrite.All"), "insufficientScope"),
    ],
)
async def test_it_rejects_callers_who_do_not_administer(estate: Estate, caller: Caller, code: str) -> None:
    with pytest.raises(Forbidden) as refused:
        await read(estate, caller)

    assert refused.value.code == code


async def ask(estate: Estate, kind: str) -> RequestId:
    """Ask for something of a kind."""
    if kind in BODIES:
        return (await estate.ask_mailbox(BODIES[kind])).accepted.request_id
    template = PROJECT_TEAM if kind == "team" else PROJECT_GROUP
    return (await estate.request(f"Some {kind}", templateId=str(template))).request_id
