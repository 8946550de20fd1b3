# SPDX-License-Identifier: Apache-2.0
"""Call all operations of a running service."""

import asyncio
from collections.abc import AsyncIterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from uuid import UUID, uuid4

import pytest
from msgspec import UNSET, structs, to_builtins

from chamberlain.configuration.yaml import write_document
from chamberlain_client import Chamberlain
from chamberlain_client.errors import Conflict, Forbidden, Malformed, NotFound, NotPossible, Stale
from chamberlain_client.events import (
    ApprovalRequired,
    Event,
    EventData,
    GroupCreated,
    RequestAccepted,
    StateChanged,
)
from chamberlain_client.models import (
    Action,
    CustomField,
    Delivery,
    Expiry,
    FieldType,
    GroupTemplate,
    Guests,
    GuestTemplate,
    MailboxProperties,
    MailboxType,
    MemberShipType,
    NewGroup,
    NewGroupTemplate,
    NewGuestTemplate,
    NewMailbox,
    NewMailboxTemplate,
    NewPolicy,
    PermissionLevel,
    PolicyAction,
    RequestState,
    SharingCapability,
    TemplateKind,
    TemplateWebhook,
)
from chamberlain_client.webhooks import verify_webhook
from tests.client.callers import Callers
from tests.client.scripted_server import Reply, scripted
from tests.services import ADA, APPROVED_TEMPLATE, BEN, GROUP_TEMPLATE, wait_until

ALL_STAFF = "94000000-0000-4000-8000-000000000001"
HANDBOOK = "51730000-0000-4000-8000-000000000001"
NO_GUESTS, NINETY_DAYS = "7e000000-0000-4000-8000-000000000021", "90110000-0000-4000-8000-000000000001"
DARA_MAIL = "dara@estate.example"


def group(name: str, template: str = GROUP_TEMPLATE) -> NewGroup:
    return NewGroup(display_name=name, template_id=UUID(template))


def test_it_works(ada: Chamberlain) -> None:
    wanted = structs.replace(group("Orchard"), members=(UUID(BEN),), metadata={"el-text-1": "x"})

    previewed = ada.groups.create(wanted, dry_run=True)
    accepted = ada.groups.create(wanted)
    timeline = list(ada.requests.watch(accepted.request_id))
    request = ada.wait_for_request(accepted.request_id)
    found = ada.wait_for_group(accepted)

    assert (previewed.mail_nickname, previewed.member_count, previewed.conflicts) == ("orchard", 2, ())
    assert (accepted.approval_required, accepted.group, accepted.retry_after) == (False, None, 1.0)
    assert isinstance(timeline[-1], StateChanged)
    assert timeline[-1].request.state is request.state is RequestState.SUCCEEDED
    assert request.body["displayName"] == "Orchard"
    assert request.result is not None
    assert (found.id, found.display_name) == (request.result.id, "Orchard")


def test_it_waits_for_the_group(ada: Chamberlain) -> None:
    accepted = ada.groups.create(group("Brook"), wait=20)

    assert accepted.group is not None
    assert (accepted.group.display_name, accepted.retry_after) == ("Brook", None)


def test_it_deduplicates_by_key(ada: Chamberlain) -> None:
    key = uuid4().hex
    first, second = (ada.groups.create(group("Twice"), idempotency_key=key) for _ in range(2))

    assert (first.request_id, first.replayed, second.replayed) == (second.request_id, False, True)


async def test_it_requests_a_mailbox(callers: Callers) -> None:
    async with callers.async_client(scope="mail/App.ReadWrite.All") as client:
        wanted = NewMailbox(
            name="Zürich",
            display_name="Room Zürich",
            capacity=12,
            is_wheel_chair_accessible=True,
            hide_from_gal=True,
            permissions={BEN: PermissionLevel.FULL_ACCESS},
            primary_owner=UUID(ADA),
        )
        previewed = await client.mailboxes.create(wanted, dry_run=True)
        accepted = await client.mailboxes.create(wanted, wait=20)
        mailbox = await client.mailboxes.get(accepted.id)
        with pytest.raises(Conflict) as taken:
            await client.mailboxes.create(
                {"name": "zürich", "displayName": "Z", "templateId": str(mailbox.template_id)}
            )
        listed = [each.id async for each in client.mailboxes.list(type=MailboxType.ROOM, q="z")]
        offered = [each.kind async for each in client.mailbox_templates.offered()]

    assert previewed.address == accepted.primary_smtp_address == "zurich@rooms.estate.example"
    assert (mailbox.provisioning_state, mailbox.hide_from_gal, mailbox.alias) == ("active", True, None)
    assert (mailbox.permissions, mailbox.primary_owner) == ({UUID(BEN): PermissionLevel.FULL_ACCESS}, UUID(ADA))
    assert (taken.value.code, taken.value.conflicting_id, listed) == ("nameTaken", str(mailbox.id), [mailbox.id])
    (fault,) = taken.value.faults
    assert (fault.pointer, fault.code, fault.values) == ("/name", "nameTaken", {"name": "zürich"})
    assert set(offered) == {TemplateKind.SHARED, TemplateKind.EQUIPMENT, TemplateKind.ROOM}


def test_it_reports_every_fault(ada: Chamberlain) -> None:
    stranger = "be000000-0000-4000-8000-000000000099"

    with pytest.raises(Malformed) as malformed:
        ada.groups.create({"displayNme": "A", "templateId": "x"})
    with pytest.raises(NotPossible) as refused:
        ada.groups.create(structs.replace(group("A"), owners=(UUID(stranger),), label_id="no"))

    assert {each.pointer for each in malformed.value.faults} == {"/displayNme", "/displayName", "/templateId"}
    assert {each.code: each.values for each in refused.value.faults} == {
        "userUnknown": {"user": stranger},
        "labelUnknown": UNSET,
    }
    assert refused.value.trace_id


def test_it_shows_the_code_of_a_warning(ada: Chamberlain) -> None:
    dry_run = ada.groups.create(group("Ada"), dry_run=True)

    (reason,) = dry_run.warning_reasons
    assert (reason.code, reason.values) == ("addressDigitsFollow", {"address": "ada@estate.example"})
    assert dry_run.warnings == (reason.detail,)


def test_it_approves_and_rejects(callers: Callers, ada: Chamberlain) -> None:
    first, second, third = (ada.groups.create(group(f"Secret {each}", APPROVED_TEMPLATE)) for each in range(3))
    with callers.client(DARA_MAIL) as dara:
        asked = {each.request_id for each in dara.requests.list(to_decide=True, limit=1)}
        actions = dara.requests.get(first.request_id).actions
        for end in (dara.requests.cancel, dara.requests.retry):
            with pytest.raises(Forbidden, match="notAdministrator"):
                end(first.request_id)
        approved = dara.requests.approve(first.request_id, comment="fine")
        rejected = dara.requests.reject(second.request_id)
        with pytest.raises(Conflict) as again:
            dara.requests.reject(second.request_id)
    with pytest.raises(Forbidden) as own:
        ada.requests.approve(third.request_id)
    cancelled = ada.requests.cancel(third.request_id, comment="by mistake")
    with pytest.raises(Conflict):
        ada.requests.retry(third.request_id)

    assert {each.request_id for each in (first, second, third)} <= asked
    assert set(actions) == {Action.APPROVE, Action.REJECT}
    assert approved.approvals[0].decisions[0].comment == "fine"
    assert (rejected.state, cancelled.state) == (RequestState.REJECTED, RequestState.CANCELLED)
    assert (again.value.code, own.value.code) == ("stateDoesNotAllow", "selfApproval")


def test_it_paginates(ada: Chamberlain) -> None:
    wanted = {ada.groups.create(group(f"Page {each}")).request_id for each in range(3)}

    pages = list(islice(ada.requests.list(mine=True, kind="group", limit=1).pages(), 3))

    assert {each.request_id for page in pages for each in page.items} == wanted
    assert all(page.next_cursor for page in pages)


def test_it_finds_requests_by_prefix_and_time(ada: Chamberlain) -> None:
    wanted = ada.groups.create(group("Zenith of the year")).request_id
    begin = datetime.now(UTC) - timedelta(hours=1)

    found = ada.requests.list(q="zenith", begin=begin, end=begin + timedelta(hours=2))
    earlier = ada.requests.list(q="zenith", end=begin)

    assert [each.request_id for each in found] == [wanted]
    assert list(earlier) == []


def test_it_hides_requests_of_others(callers: Callers, ada: Chamberlain) -> None:
    accepted = ada.groups.create(group("Mine"))

    with callers.client(DARA_MAIL) as dara, pytest.raises(NotFound):
        dara.requests.get(accepted.request_id)


def test_it_rejects_approvers_of_a_level_with_approvers(admin: Chamberlain, ada: Chamberlain) -> None:
    accepted = ada.groups.create(group("Named", APPROVED_TEMPLATE))

    with pytest.raises(Conflict, match="stateDoesNotAllow"):
        admin.requests.name_approvers(accepted.request_id, level=1, user_ids=[BEN])


def test_it_administers_templates_of_mailboxes(admin: Chamberlain) -> None:
    wanted = NewMailboxTemplate(
        kind=TemplateKind.ROOM,
        name="Quiet room",
        defaults=MailboxProperties(country="Switzerland", hide_from_gal=False),
        custom_fields=(CustomField(key="el-text-1", label="Customer", type=FieldType.TEXT),),
        webhook=TemplateWebhook(url="https://hooks.estate.example/chamberlain"),
    )
    made = admin.mailbox_templates.create(wanted)
    read = admin.mailbox_templates.get(made.id)
    replaced = admin.mailbox_templates.replace(read.id, structs.replace(read, active=False), if_match=read.etag)
    with pytest.raises(Stale):
        admin.mailbox_templates.replace(read.id, read, if_match=read.etag)
    rotated = admin.webhooks.rotate_of_mailbox_template(read.id, comment="Yearly change.")
    listed = {each.id: each for each in admin.mailbox_templates.list(limit=2)}
    admin.mailbox_templates.delete(read.id)

    assert made.webhook is not None
    assert str(made.webhook.secret).startswith("whsec_")
    assert (read.defaults.country, read.custom_fields[0].label, read.etag) == ("Switzerland", "Customer", read.etag)
    assert (replaced.active, replaced.defaults, listed[read.id].etag) == (False, read.defaults, None)
    assert (rotated.has_secret, str(rotated.secret)[:6]) == (True, "whsec_")
    with pytest.raises(NotFound):
        admin.mailbox_templates.get(read.id)


def test_it_administers_templates_of_groups_and_guests(admin: Chamberlain) -> None:
    guests = NewGuestTemplate(
        name="Nobody", guests=Guests(allowed=False), sharing_capability=SharingCapability.DISABLED
    )
    made = admin.collab_templates.create(guests)
    assert isinstance(made, GuestTemplate)
    team = admin.collab_templates.create(
        NewGroupTemplate(
            kind=TemplateKind.TEAM,
            name="Night team",
            channels=("General", "Night"),
            member_ship_type=MemberShipType.PRIVATE,
            guest_template_id=made.id,
        )
    )
    assert isinstance(team, GroupTemplate)
    with pytest.raises(Conflict, match="inUse"):
        admin.collab_templates.delete(made.id)
    read = admin.collab_templates.get(team.id)
    replaced = admin.collab_templates.replace(team.id, structs.replace(team, name="Day team"), if_match=read.etag)
    kinds = {each.id: each.kind for each in admin.collab_templates.list()}
    admin.collab_templates.delete(team.id, if_match=replaced.etag)
    admin.collab_templates.delete(made.id)

    assert (team.channels, replaced.name) == (("General", "Night"), "Day team")
    assert (kinds[made.id], kinds[team.id]) == (TemplateKind.GUEST, TemplateKind.TEAM)
    assert GROUP_TEMPLATE in {str(each) for each in kinds}


def test_it_offers_templates(ada: Chamberlain) -> None:
    offered = {str(each.id): each for each in ada.collab_templates.offered(limit=2)}

    assert [each.key for each in offered[GROUP_TEMPLATE].custom_fields] == ["el-text-1", "el-text-2"]
    assert offered[APPROVED_TEMPLATE].approval_required


def test_it_finds_people(ada: Chamberlain) -> None:
    found = list(ada.people.find("ben oka"))

    assert [(person.display_name, person.department, person.is_guest) for person in found] == [
        ("Ben Okafor", "Sales", False)
    ]
    with pytest.raises(Malformed):
        list(ada.people.find("b"))


def test_it_reads_what_a_form_needs(ada: Chamberlain, admin: Chamberlain) -> None:
    group = ada.collab_templates.form(GROUP_TEMPLATE)
    room = admin.mailbox_templates.form("7e000000-0000-4000-8000-000000000003")

    assert [(field.type, field.choices is UNSET) for field in group.custom_fields] == [
        (FieldType.TEXT, True),
        (FieldType.CHOICE, False),
    ]
    assert [label.display_name for label in group.labels or ()] == ["Confidential", "Internal"]
    assert (room.kind, room.domain) == (TemplateKind.ROOM, "rooms.estate.example")
    with pytest.raises(NotFound):
        ada.collab_templates.form(room.id)


def test_it_administers_policies(admin: Chamberlain) -> None:
    expiry = Expiry(after_days=30, action=PolicyAction.REMOVE, reminder_days=(7, 1))
    made = admin.policies.create(NewPolicy(name="30 days", expiry=expiry))
    read = admin.policies.get(made.id)
    replaced = admin.policies.replace(made.id, structs.replace(read, name="A month"), if_match=read.etag)
    listed = [each.name for each in admin.policies.list()]
    admin.policies.delete(made.id, if_match=replaced.etag)

    assert (read.expiry, replaced.name) == (expiry, "A month")
    assert {"A month", "90 days"} <= set(listed)


def test_it_assigns_changes_and_clears(admin: Chamberlain) -> None:
    before = admin.managed_groups.get(ALL_STAFF)
    ahead = admin.managed_groups.assign(ALL_STAFF, template_id=NO_GUESTS, if_match=before.etag, dry_run=True)
    assigned = admin.managed_groups.assign(
        ALL_STAFF, template_id=NO_GUESTS, policy_id=NINETY_DAYS, if_match=before.etag
    )
    with pytest.raises(Stale):
        admin.managed_groups.assign(ALL_STAFF, policy_id=None, if_match=before.etag)
    cleared = admin.managed_groups.assign(ALL_STAFF, policy_id=None)
    assert assigned.assignment_request_id is not None
    effects = admin.wait_for_request(assigned.assignment_request_id)
    listed = [str(each.id) for each in admin.managed_groups.list(assigned=True, template_id=NO_GUESTS, q="all")]
    findings = list(admin.findings.list(subject_id=ALL_STAFF))
    admin.managed_groups.assign(ALL_STAFF, template_id=None)

    assert ([each.name for each in ahead.effects], ahead.removals, len(ahead.findings)) == (
        ["markAssignment", "setGuestAccess", "setGuestDomains"],
        (),
        1,
    )
    assert (str(assigned.template_id), str(assigned.policy_id)) == (NO_GUESTS, NINETY_DAYS)
    assert (str(cleared.template_id), cleared.policy_id) == (NO_GUESTS, None)
    assert (effects.kind, effects.has_ended, listed) == ("assignment", True, [ALL_STAFF])
    assert all(str(each.subject.id) == ALL_STAFF for each in findings)


def test_it_finds_groups_by_metadata(ada: Chamberlain, admin: Chamberlain) -> None:
    wanted = structs.replace(group("Metadata"), metadata={"costCentre": "4711", "external": True})
    found = ada.wait_for_group(ada.groups.create(wanted))

    managed = admin.managed_groups.get(found.id)
    listed = list(admin.managed_groups.list(metadata_key="external", metadata_value=True))

    assert [each.id for each in listed] == [found.id]
    assert managed.metadata == {"costCentre": "4711", "external": True}
    assert list(admin.managed_groups.list(metadata_key="costCentre", metadata_value="4712")) == []


def test_it_simulates_a_policy(admin: Chamberlain) -> None:
    ahead = admin.policies.simulate(NINETY_DAYS, group_ids=[ALL_STAFF])

    assert (ahead.subjects, ahead.guests, ahead.is_whole) == (1, 1, True)
    assert (ahead.counts.reminders, ahead.counts.actions) == (3, {"remove": 1})
    assert [each.type for each in ahead.items] == ["reminder"] * 3 + ["finding", "action"]
    assert (ahead.until - ahead.since).days == 90
    with pytest.raises(NotPossible):
        admin.policies.simulate(NINETY_DAYS, site_ids=[ALL_STAFF])


def test_it_accepts_findings_and_confirms_only_reviews(admin: Chamberlain) -> None:
    assigned = admin.managed_groups.assign(ALL_STAFF, template_id=NO_GUESTS)
    assert assigned.assignment_request_id is not None
    admin.wait_for_request(assigned.assignment_request_id)
    (found,) = admin.findings.list(subject_id=ALL_STAFF, state="open")

    accepted = admin.findings.accept(found.id, "He stays.", until=datetime(2099, 1, 1, tzinfo=UTC))
    with pytest.raises(Conflict):
        admin.findings.confirm(found.id)
    admin.managed_groups.assign(ALL_STAFF, template_id=None)

    assert accepted.acceptance is not None
    assert (accepted.state, accepted.acceptance.reason) == ("accepted", "He stays.")
    assert accepted.acceptance.until == datetime(2099, 1, 1, tzinfo=UTC)


def test_it_assigns_to_sites(admin: Chamberlain) -> None:
    site = admin.managed_sites.get(HANDBOOK)
    assigned = admin.managed_sites.assign(HANDBOOK, template_id=NO_GUESTS, if_match=site.etag)
    names = {each.display_name for each in admin.managed_sites.list(q="Hand")}

    assert (str(assigned.template_id), assigned.site_url) == (NO_GUESTS, "https://sites.estate.example/handbook")
    assert names == {"Handbook"}


def test_it_reads_the_audit_trail(admin: Chamberlain, ada: Chamberlain) -> None:
    begin = datetime.now(UTC) - timedelta(hours=1)
    request_id = ada.groups.create(group("On record")).request_id

    rows = admin.audit.list(actor_id=ADA, action="group.create", begin=begin, limit=5).page().items
    lines = list(admin.audit.export(actor_id=ADA, action="group.create", end=begin + timedelta(days=1)))

    assert request_id in {row.request_id for row in rows}
    assert request_id in {row.request_id for row in lines}
    assert {row.client_address for row in rows} == {"127.0.0.1"}
    assert [row.sequence for row in lines] == sorted(row.sequence for row in lines)
    assert admin.jobs.list().page().items == ()
    with pytest.raises(NotFound):
        admin.jobs.release(uuid4())


def test_it_reads_and_changes_the_tenant(admin: Chamberlain) -> None:
    tenant = admin.tenant.get()
    changed = admin.tenant.replace(structs.replace(tenant, name="Example House"), if_match=tenant.etag)
    with pytest.raises(Stale):
        admin.tenant.replace(tenant, if_match=tenant.etag)
    back = admin.tenant.replace(tenant)

    assert (changed.name, back.name, back.domains[0]) == ("Example House", "Example Estate", "estate.example")


def test_it_plans_and_applies_a_configuration(admin: Chamberlain) -> None:
    tenant = admin.tenant.get()
    document = {
        "tenants": [
            {
                "id": str(tenant.id),
                "name": tenant.name,
                "domains": list(tenant.domains),
                "administrators": to_builtins(tenant.administrators),
                "repair": to_builtins(tenant.repair),
                "assignments": [{"group": ALL_STAFF, "policy": NINETY_DAYS}],
            }
        ]
    }
    cleared = {"tenants": [{**document["tenants"][0], "assignments": [{"group": ALL_STAFF}]}]}

    plan = admin.configuration.plan(document)
    applied = admin.configuration.apply(document, plan)
    assigned = admin.managed_groups.get(ALL_STAFF)
    with pytest.raises(Conflict) as late:
        admin.configuration.apply(document, plan)
    in_yaml = admin.configuration.plan(write_document(document))
    admin.configuration.apply(cleared, admin.configuration.plan(cleared).digest)

    assert [(each.verb, each.noun, str(each.id)) for each in plan.changes] == [("create", "assignment", ALL_STAFF)]
    assert applied == plan
    assert str(assigned.policy_id) == NINETY_DAYS
    assert late.value.code == "previewChanged"
    assert in_yaml.changes == ()


async def test_it_follows_events(callers: Callers) -> None:
    async with (
        callers.async_client(scope="admin/Config.ReadWrite.All") as admin,
        callers.async_client() as ada,
    ):
        feed = admin.events.list()
        async for _ in feed:
            pass
        made = await ada.groups.create(group("Followed"), wait=20)
        asked = await ada.groups.create(group("Asked", APPROVED_TEMPLATE))
        async with asyncio.timeout(20):
            polled = await read_until(admin.events.follow(feed.cursor, every=0.05), made.request_id, asked.request_id)
            # The cursors of the list and of the stream are the same.
            streamed = await read_until(admin.events.stream(feed.cursor), made.request_id, asked.request_id)

    assert streamed == polled
    assert [type(each) for each in polled[made.request_id]] == [RequestAccepted, GroupCreated]
    assert [type(each) for each in polled[asked.request_id]] == [RequestAccepted, ApprovalRequired]


async def read_until(events: AsyncIterable[Event], *request_ids: UUID) -> dict[UUID, list[EventData]]:
    """Read the first two events of these requests."""
    found: dict[UUID, list[EventData]] = {each: [] for each in request_ids}
    async for event in events:
        if event.request_id in found:
            found[event.request_id].append(event.data)
        if min(map(len, found.values())) == 2:
            break
    return found


def test_it_receives_webhooks(admin: Chamberlain, ada: Chamberlain) -> None:
    with scripted(Reply(204, b"")) as receiver:
        made = admin.collab_templates.create(
            NewGroupTemplate(
                kind=TemplateKind.GROUP, name="Hooked", webhook=TemplateWebhook(url=f"{receiver.url}/hook")
            )
        )
        assert isinstance(made, GroupTemplate)
        assert made.webhook is not None
        tested = admin.webhooks.test_of_collab_template(made.id)
        rotated = admin.webhooks.rotate_of_collab_template(made.id)
        again = admin.webhooks.test_of_collab_template(made.id)
        ada.groups.create(NewGroup(display_name="Hooked", template_id=made.id), wait=20)
        ended = wait_until(lambda: delivered(admin, made.id), within=20)
        count = admin.deliveries.redeliver_span(
            datetime(2026, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC), template_id=made.id
        )
        redelivered = admin.deliveries.redeliver(ended[0].id, comment="Once more.")
        events = [
            verify_webhook(each.body, each.headers, secret)
            for each, secret in zip(
                receiver.seen, (str(made.webhook.secret), str(rotated.secret), str(made.webhook.secret)), strict=False
            )
        ]

    assert (tested.status, again.status, tested.number) == (204, 204, 1)
    assert [event.type for event in events] == ["webhook.test", "webhook.test", "group.created"]
    assert (count, redelivered.template_id, redelivered.type) == (1, made.id, "group.created")


def delivered(admin: Chamberlain, template_id: UUID) -> list[Delivery]:
    return list(admin.deliveries.list(state="succeeded", template_id=template_id))
