# SPDX-License-Identifier: Apache-2.0
"""Request a mailbox: all faults at once, or a queued request with its mailbox."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

import msgspec
import pytest

from chamberlain.auth.models import Caller
from chamberlain.core.errors import Conflict, Forbidden, KeyReused, NotPossible, TryAgain, Unavailable
from chamberlain.core.ids import UserId
from chamberlain.directory.models import NamedPerson
from chamberlain.mailboxes.models import AcceptedMailbox
from chamberlain.mailboxes.wire import read_mailbox_order, write_mailbox_order
from tests.databases import Databases
from tests.estates import (
    ADA,
    BEN,
    CLEO,
    DARA,
    EQUIPMENT_MAILBOX,
    ESTATE,
    NOBODY,
    OTHER_HOUSE,
    PROJECT_GROUP,
    ROOM_MAILBOX,
    SHARED_MAILBOX,
    ZOE,
    Estate,
    caller_of,
    mail_caller_of,
    open_estate,
)
from tests.example import configuration_in, example_document
from tests.mailboxes.mailbox_bodies import BODIES, EQUIPMENT, ROOM, SHARED, SMALL
from tests.requests.request_services import administrator, application, cancel

AWAY = TryAgain(timedelta(seconds=2), "The directory does not answer.")


def body_of(accepted: AcceptedMailbox) -> object:
    """The order of a record as a body."""
    return msgspec.json.decode(write_mailbox_order(accepted.record.order))


async def refused(estate: Estate, **sent: object) -> list[tuple[str, str]]:
    """The faults of an order that is refused, which leaves nothing behind."""
    before = await estate.counts()
    with pytest.raises(NotPossible) as caught:
        await estate.ask_mailbox({"name": "Info", "displayName": "Information", **sent})
    assert await estate.counts() == before
    return [(fault.pointer, fault.code) for fault in caught.value.faults]


async def conflict(estate: Estate, sent: Mapping[str, object], user: UserId = ADA) -> tuple[str, str | None]:
    """The code of a conflict, and who holds what was wanted."""
    before = await estate.counts()
    with pytest.raises(Conflict) as caught:
        await estate.ask_mailbox(sent, caller=mail_caller_of(user))
    assert await estate.counts() == before
    (fault,) = caught.value.faults
    is_alias = str(fault.values.get("address")).startswith(f"{str(sent.get('alias')).lower()}@")
    assert (fault.pointer, fault.code) == ("/alias" if is_alias else "/name", caught.value.code)
    return caught.value.code, caught.value.conflicting_id


async def changed(
    databases: Databases, *, tenant: Mapping[str, object] = MappingProxyType({}), **shared: object
) -> Estate:
    """The example estate with its template of shared mailboxes, or the tenant itself, changed."""
    document = example_document()
    document["tenants"][0].update(tenant)
    document["tenants"][0]["templates"][0].update(shared)
    return await open_estate(databases, configuration_in(document))


@pytest.mark.parametrize("kind", BODIES)
async def test_it_works_and_keeps_what_was_sent(estate: Estate, kind: str) -> None:
    accepted = await estate.ask_mailbox(BODIES[kind])

    record, request = accepted.record, await estate.record(accepted.accepted.request_id)
    assert body_of(accepted) == BODIES[kind]
    assert (record.type, record.provisioning_state, record.error, record.warnings) == (kind, "queued", None, ())
    assert (record.template_source, record.created_by.id) == ("request" if kind == "shared" else "default", ADA)
    assert (record.request_id, record.created_at, record.updated_at) == (
        request.request_id,
        request.created_at,
        request.created_at,
    )
    assert (request.kind, request.state, request.display_name) == (kind, "queued", record.order.display_name)
    assert await estate.rows("SELECT kind FROM chamberlain.job") == [("mailboxProvision",)]


async def test_the_audit_trail_says_who_asked_for_what(estate: Estate) -> None:
    accepted = await estate.ask_mailbox(SMALL)

    ((action, payload),) = await estate.rows(
        "SELECT action, payload FROM chamberlain.audit WHERE request_id = $1", accepted.accepted.request_id
    )
    assert action == "mailbox.create"
    assert msgspec.json.decode(str(payload))["after"] == {
        "displayName": "Information",
        "templateId": str(SHARED_MAILBOX),
    }


@pytest.mark.parametrize(
    ("sent", "template", "address"),
    [
        ({"roomMailboxMetadata": {}}, ROOM_MAILBOX, "info@rooms.estate.example"),
        ({"isWheelChairAccessible": False}, ROOM_MAILBOX, "info@rooms.estate.example"),
        ({"officeLocation": "HQ"}, ROOM_MAILBOX, "info@rooms.estate.example"),
        ({"metadata": {"equipmentType": "car"}}, EQUIPMENT_MAILBOX, "info@estate.example"),
        ({"autoMapping": False}, SHARED_MAILBOX, "info@estate.example"),
        ({"alias": "desk"}, SHARED_MAILBOX, "info@estate.example"),
        ({"alias": "desk", "domain": "rooms.estate.example"}, SHARED_MAILBOX, "info@rooms.estate.example"),
    ],
)
async def test_without_a_template_the_body_shows_the_type(
    estate: Estate, sent: dict[str, object], template: object, address: str
) -> None:
    record = (await estate.ask_mailbox({"name": "Info", "displayName": "Information", **sent})).record

    assert (record.template_id, record.template_source, record.mail) == (template, "default", address)
    assert record.order.template_id is None


async def test_it_rejects_a_body_that_shows_no_type_or_two_with_what_else_is_wrong(estate: Estate) -> None:
    somebody = {"primaryOwner": str(NOBODY)}

    assert await refused(estate, **somebody) == [("/templateId", "typeNotRecognised"), ("/primaryOwner", "userUnknown")]
    assert await refused(estate, alias="desk", officeLocation="HQ") == [("/templateId", "typeAmbiguous")]


async def test_it_rejects_a_type_without_a_default_template(databases: Databases) -> None:
    estate = await changed(databases, isDefault=False)

    assert await refused(estate, alias="desk") == [("/templateId", "noDefaultTemplate")]
    assert (await estate.ask_mailbox({**SMALL, "templateId": str(SHARED_MAILBOX)})).record.template_source == "request"


async def test_another_template_becomes_the_default_at_once(databases: Databases) -> None:
    estate = await changed(databases)
    await estate.ask_mailbox(SMALL)
    await changed(databases, active=False)

    assert await refused(estate, alias="desk") == [("/templateId", "noDefaultTemplate")]


async def test_it_rejects_templates_that_make_no_mailbox_or_are_not_there(estate: Estate) -> None:
    assert await refused(estate, templateId=str(PROJECT_GROUP)) == [("/templateId", "templateOfOtherKind")]
    assert await refused(estate, templateId=str(NOBODY)) == [("/templateId", "templateUnknown")]


async def test_it_rejects_everything_at_once(estate: Estate) -> None:
    found = await refused(
        estate,
        name="ß" * 33,
        templateId=str(SHARED_MAILBOX),
        domain="other.example",
        roomMailboxMetadata={"hasWhiteboard": True},
        officeLocation="HQ",
        primaryOwner=str(NOBODY),
        permissions={str(NOBODY): "None", str(BEN): "SendAs", str(ZOE): "FullAccess"},
    )

    assert sorted(found) == sorted(
        [
            ("/name", "nameTooLong"),
            ("/domain", "domainNotVerified"),
            ("/officeLocation", "propertyNotApplicable"),
            ("/roomMailboxMetadata", "propertyNotApplicable"),
            ("/primaryOwner", "userUnknown"),
            (f"/permissions/{NOBODY}", "userUnknown"),
            (f"/permissions/{ZOE}", "userUnknown"),
        ]
    )


async def test_a_tenant_may_have_properties_kept_that_do_not_apply(databases: Databases) -> None:
    estate = await changed(databases, tenant={"applicability": "warn"})

    accepted = await estate.ask_mailbox({**SMALL, "templateId": str(SHARED_MAILBOX), "officeLocation": "HQ"})

    assert accepted.record.order.office_location == "HQ"
    assert len(accepted.record.warnings) == 1
    assert (await estate.record(accepted.accepted.request_id)).warnings == accepted.record.warnings


async def test_defaults_of_the_template_are_there_where_nothing_was_sent(databases: Databases) -> None:
    estate = await changed(databases, defaults={"country": "Switzerland", "city": "Town", "hideFromGAL": True})

    record = (await estate.ask_mailbox({**SMALL, "city": "Village"})).record

    assert (record.order.country, record.order.city, record.order.hide_from_gal) == ("Switzerland", "Village", True)


async def test_names_are_the_same_in_every_letter_case_and_width(estate: Estate) -> None:
    first = await estate.ask_mailbox({**SMALL, "name": "Straße \uff21"})
    holder = str(first.record.id)

    assert await conflict(estate, {**SMALL, "name": "STRASSE a"}) == ("nameTaken", holder)
    assert await conflict(estate, {**SMALL, "name": "strasse A"}, BEN) == ("nameTaken", None)
    await estate.work()
    assert await conflict(estate, {**SMALL, "name": "STRASSE a"}) == ("nameTaken", holder)


async def test_an_address_is_one_mailbox_s_whether_it_is_the_first_or_an_alias_or_a_group_s(estate: Estate) -> None:
    first = await estate.ask_mailbox({**SMALL, "name": "Info", "alias": "desk"})
    group = await estate.request("Apollo")
    holder = str(first.record.id)

    assert await conflict(estate, {**SMALL, "name": "In#fo"}) == ("addressTaken", holder)
    assert await conflict(estate, {**SMALL, "name": "Desk"}) == ("addressTaken", holder)
    assert await conflict(estate, {**SMALL, "name": "Other", "alias": "INFO"}) == ("addressTaken", holder)
    assert await conflict(estate, {**SMALL, "name": "Other", "alias": "desk"}, BEN) == ("addressTaken", None)
    assert await conflict(estate, {**SMALL, "name": "Apollo"}) == ("addressTaken", str(group.request_id))
    assert (await conflict(estate, {**SMALL, "name": "All staff"}))[0] == "addressTaken"
    second = await estate.request("Desk")
    assert (await estate.record(second.request_id)).state == "queued"
    assert await estate.rows("SELECT address FROM chamberlain.request WHERE request_id = $1", second.request_id) == [
        (f"desk-{second.request_id.hex[:8]}@estate.example",)
    ]
    elsewhere = await estate.ask_mailbox({**SMALL, "name": "In#fo", "domain": "rooms.estate.example"})
    assert elsewhere.record.mail == "info@rooms.estate.example"


async def test_who_may_read_the_holder_is_reported_its_id(estate: Estate) -> None:
    first = await estate.ask_mailbox({**SMALL, "permissions": {str(BEN): "SendAs", str(DARA): "None"}})
    program = application("Mail.Manage.ReadWrite.All")

    assert await conflict(estate, SMALL, BEN) == ("nameTaken", str(first.record.id))
    assert await conflict(estate, SMALL, DARA) == ("nameTaken", None)
    with pytest.raises(Conflict) as caught:
        await estate.ask_mailbox(SMALL, caller=program)
    assert caught.value.conflicting_id == str(first.record.id)


async def test_an_administrator_is_reported_which_group_has_an_address_and_a_program_is_not(estate: Estate) -> None:
    group = await estate.request("AdmGrp", caller=caller_of(BEN))
    both = mail_caller_of(ADA).permissions | administrator(ADA).permissions
    body = {**SMALL, "name": "AdmGrp"}

    async def told(caller: Caller) -> tuple[str, str | None]:
        with pytest.raises(Conflict) as caught:
            await estate.ask_mailbox(body, caller=caller)
        return caught.value.code, caught.value.conflicting_id

    ada = replace(mail_caller_of(ADA), permissions=both)
    assert await told(ada) == ("addressTaken", str(group.request_id))
    # An administrator without the permission is none, and an application reads its own requests only.
    assert await told(mail_caller_of(ADA)) == ("addressTaken", None)
    assert await told(application("Mail.Manage.ReadWrite.All")) == ("addressTaken", None)
    await estate.work()
    made = await estate.group(group.request_id)
    assert made is not None
    assert await told(ada) == ("addressTaken", str(made.id))


async def test_a_name_is_told_to_be_taken_while_nobody_can_say_who_administers(databases: Databases) -> None:
    staff = {"administrators": {"users": [], "groups": ["94000000-0000-4000-8000-000000000001"]}}
    estate = await changed(databases, tenant=staff)
    both = mail_caller_of(BEN).permissions | administrator(BEN).permissions
    ben, cleo = (replace(mail_caller_of(user), permissions=both) for user in (BEN, CLEO))
    mine = await estate.ask_mailbox(SMALL, caller=ben)
    estate.people.error = AWAY

    told = {}
    for caller in (ben, cleo):
        with pytest.raises(Conflict) as caught:
            await estate.ask_mailbox(SMALL, caller=caller)
        told[caller.id] = caught.value.conflicting_id

    assert told == {BEN: str(mine.record.id), CLEO: None}


async def test_of_two_hundred_of_one_name_in_different_letter_case_one_gets_it(estate: Estate) -> None:
    names = [
        "".join(c.upper() if number >> place & 1 else c for place, c in enumerate("conference"))
        for number in range(200)
    ]

    answers = await asyncio.gather(
        *[estate.ask_mailbox({**SMALL, "name": name}) for name in names], return_exceptions=True
    )

    codes = Counter(each.code if isinstance(each, Conflict) else type(each).__name__ for each in answers)
    assert codes == {"AcceptedMailbox": 1, "nameTaken": 199}
    assert await estate.rows("SELECT count(*) FROM chamberlain.mailbox") == [(1,)]
    assert (await estate.counts())["reservation"] == 2


async def test_a_name_without_its_address_is_given_back(estate: Estate) -> None:
    await estate.ask_mailbox({**SMALL, "name": "Info"})

    assert (await conflict(estate, {**SMALL, "name": "In#fo"}))[0] == "addressTaken"
    accepted = await estate.ask_mailbox({**SMALL, "name": "In#fo", "domain": "rooms.estate.example"})

    assert accepted.record.mail == "info@rooms.estate.example"


async def test_after_a_cancel_name_address_and_alias_are_free_again(estate: Estate) -> None:
    first = await estate.ask_mailbox({**SMALL, "alias": "desk"})
    await cancel(estate, first.accepted.request_id, mail_caller_of(ADA))

    second = await estate.ask_mailbox({**SMALL, "alias": "desk"})

    assert second.record.id != first.record.id
    assert (await estate.counts())["reservation"] == 3


async def test_a_key_gives_the_same_mailbox_as_it_was_then(estate: Estate) -> None:
    first = await estate.ask_mailbox(SHARED, key="k1")
    await estate.work()

    second = await estate.ask_mailbox(SHARED, key="k1")

    assert second.record == first.record
    assert second.accepted == replace(first.accepted, replayed=True)
    with pytest.raises(KeyReused):
        await estate.ask_mailbox(ROOM, key="k1")


async def test_an_approval_is_waited_for_and_told(databases: Databases) -> None:
    approval = {"levels": [{"mode": "any", "approvers": [{"type": "user", "id": str(DARA)}]}]}
    estate = await changed(databases, approval=approval)

    accepted = await estate.ask_mailbox(SMALL)

    request = await estate.record(accepted.accepted.request_id)
    assert (accepted.record.provisioning_state, accepted.accepted.approval_required) == ("pendingApproval", True)
    assert request.state == "pendingApproval"
    assert request.approvals[0].approvers == (NamedPerson(DARA, "Dara Lindqvist"),)
    assert await estate.rows("SELECT type FROM chamberlain.event") == [("request.approvalRequired",)]
    assert await estate.rows("SELECT kind FROM chamberlain.job") == [("approvalAttend",)]


async def test_it_rejects_somebody_outside_the_audience_while_an_application_may(databases: Databases) -> None:
    estate = await changed(databases, audience={"users": [str(BEN)], "groups": []})

    with pytest.raises(Forbidden, match="template"):
        await estate.ask_mailbox(SMALL)
    program = application("Mail.Manage.ReadWrite.All")
    record = (await estate.ask_mailbox(SMALL, caller=program)).record
    assert (record.created_by.type, record.created_by.id) == ("application", program.id)


async def test_while_the_directory_is_away_people_are_checked_later(estate: Estate) -> None:
    estate.people.error = AWAY

    accepted = await estate.ask_mailbox({**EQUIPMENT, "primaryOwner": str(NOBODY)})

    steps = (await estate.record(accepted.accepted.request_id)).steps
    assert [step.step for step in steps][:2] == ["checkPeople", "createMailbox"]


async def test_it_rejects_an_address_that_needs_an_unreachable_directory(databases: Databases) -> None:
    estate = await changed(databases, naming={"address": "{user.department}-{input}"})
    estate.people.error = AWAY
    before = await estate.counts()

    with pytest.raises(Unavailable) as caught:
        await estate.ask_mailbox(SMALL)

    assert caught.value.code == "overloaded"
    assert await estate.counts() == before


async def test_a_number_of_the_address_is_drawn_once_for_what_is_right(databases: Databases) -> None:
    estate = await changed(databases, naming={"address": "m{counter:3}-{input}"})
    await refused(estate, templateId=str(SHARED_MAILBOX), primaryOwner=str(NOBODY))

    mails = [(await estate.ask_mailbox({**SMALL, "name": f"Info {n}"})).record.mail for n in range(2)]

    assert mails == ["m001-info-0@estate.example", "m002-info-1@estate.example"]


async def test_a_dry_run_tells_all_and_writes_nothing(estate: Estate) -> None:
    await estate.ask_mailbox(SMALL)
    before = await estate.counts()
    caller = mail_caller_of(ADA)

    fresh = await estate.mailboxes.dry_run(caller, read_mailbox_order(msgspec.json.encode(ROOM)))
    taken = await estate.mailboxes.dry_run(caller, read_mailbox_order(msgspec.json.encode(SMALL)))

    assert (fresh.address, fresh.template_source, fresh.conflicts) == ("zurich@estate.example", "default", ())
    assert fresh.owners[0].id == BEN
    assert "setPlace" in fresh.steps
    assert [(each.pointer, each.code) for each in taken.conflicts] == [
        ("/name", "nameTaken"),
        ("/name", "addressTaken"),
    ]
    assert await estate.counts() == before


async def test_another_tenant_may_have_the_same_name(databases: Databases) -> None:
    document = example_document()
    template = {"id": "7e000000-0000-4000-8000-0000000000f2", "kind": "shared", "name": "Shared", "isDefault": True}
    document["tenants"][1]["templates"] = [template]
    estate = await open_estate(databases, configuration_in(document))
    await estate.ask_mailbox(SMALL)

    other = await estate.ask_mailbox(SMALL, caller=mail_caller_of(ZOE, OTHER_HOUSE))

    assert other.record.tenant_id == OTHER_HOUSE != ESTATE
    assert await conflict(estate, SMALL, BEN) == ("nameTaken", None)
