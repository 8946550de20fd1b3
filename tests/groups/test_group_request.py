# SPDX-License-Identifier: Apache-2.0
"""Request a group or team: all faults at once, or a queued request."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from chamberlain.auth.models import ActorType
from chamberlain.core.errors import Conflict, Forbidden, KeyReused, NotPossible, Refusal, TryAgain, Unavailable
from chamberlain.core.ids import TemplateId, UserId
from chamberlain.directory.models import NamedPerson
from chamberlain.requests.models import Accepted
from tests.databases import Databases
from tests.estates import (
    ADA,
    BEN,
    CLEO,
    CONFIDENTIAL_TEAM,
    DARA,
    ESTATE,
    INTERNAL,
    NOBODY,
    OTHER_GROUP,
    OTHER_HOUSE,
    PROJECT_GROUP,
    PROJECT_TEAM,
    SALES_DEPARTMENT,
    ZOE,
    Estate,
    apply,
    caller_of,
    changed_estate,
    open_estate,
)
from tests.requests.request_services import administrator

NOTHING = {"request": 0, "reservation": 0, "idempotency_key": 0, "job": 0, "audit": 0, "event": 0}
WRITTEN = ("request", "reservation", "job", "audit")
AWAY = TryAgain(timedelta(seconds=2), "The directory does not answer.")


def codes(error: BaseException) -> list[tuple[str, str]]:
    """Where and what, of every fault."""
    assert isinstance(error, NotPossible)
    return [(fault.pointer, fault.code) for fault in error.faults]


async def refused(estate: Estate, **sent: object) -> list[tuple[str, str]]:
    """The faults of an order that is refused, which leaves nothing behind."""
    with pytest.raises(NotPossible) as caught:
        await estate.ask({"displayName": "Apollo", **sent})
    assert await estate.counts() == NOTHING
    return codes(caught.value)


async def test_it_works(estate: Estate) -> None:
    accepted = await estate.request("Apollo", members=[str(BEN)])

    record = await estate.record(accepted.request_id)
    assert accepted == Accepted(accepted.request_id, ESTATE, approval_required=False)
    assert await estate.counts() == {**NOTHING, **dict.fromkeys(WRITTEN, 1)}
    assert (record.kind, record.state, record.display_name) == ("group", "queued", "Apollo")
    assert [(step.step, step.state) for step in record.steps] == [("createGroup", "pending"), ("addMembers", "pending")]
    assert (record.created_by.id, record.created_by.display_name) == (ADA, "Ada Achterberg")
    assert record.template is not None
    assert record.template.name == "Project group"
    assert msgspec.json.decode(record.body)["members"] == [str(BEN)]


async def test_the_audit_trail_says_who_asked_for_what(estate: Estate) -> None:
    accepted = await estate.request("Apollo")

    ((action, payload),) = await estate.rows(
        "SELECT action, payload FROM chamberlain.audit WHERE request_id = $1", accepted.request_id
    )
    assert action == "group.create"
    assert msgspec.json.decode(str(payload)) == {
        "actor": {"type": "user", "id": str(ADA), "displayName": "Ada Achterberg"},
        "client": {"id": "c11e0000-0000-4000-8000-000000000001"},
        "subject": {"type": "request", "id": str(accepted.request_id), "displayName": "Apollo"},
        "before": None,
        "after": {"displayName": "Apollo", "templateId": str(PROJECT_GROUP)},
    }


async def test_the_caller_is_an_owner_owners_are_members_and_each_is_there_once(estate: Estate) -> None:
    accepted = await estate.request(owners=[str(BEN), str(ADA), str(BEN)], members=[str(CLEO), str(BEN), str(CLEO)])
    await estate.work()

    group = await estate.group(accepted.request_id)
    assert group is not None
    assert group.owners == {ADA, BEN}
    assert group.members == {ADA, BEN, CLEO}


async def test_a_dynamic_group_gets_the_rule_and_the_members_that_follow_it(estate: Estate) -> None:
    accepted = await estate.request("Sales", templateId=str(SALES_DEPARTMENT))
    await estate.work()

    group = await estate.group(accepted.request_id)
    record = await estate.record(accepted.request_id)
    assert record.state == "succeeded"
    assert group is not None
    assert group.owners == {ADA}
    assert group.members == {BEN, CLEO}


async def test_a_team_is_asked_for_by_its_template(estate: Estate) -> None:
    accepted = await estate.request(templateId=str(PROJECT_TEAM))
    await estate.work()

    group = await estate.group(accepted.request_id)
    assert (await estate.record(accepted.request_id)).kind == "team"
    assert group is not None
    assert group.channels == ("General", "Planning")


async def test_a_label_is_kept_and_set(estate: Estate) -> None:
    accepted = await estate.request(labelId=INTERNAL)
    await estate.work()

    group = await estate.group(accepted.request_id)
    assert group is not None
    assert group.label_id == INTERNAL


async def test_a_label_in_upper_case_is_stored_as_the_directory_has_it(estate: Estate) -> None:
    accepted = await estate.request(labelId=INTERNAL.upper())
    await estate.work()

    record, group = await estate.record(accepted.request_id), await estate.group(accepted.request_id)
    assert msgspec.json.decode(record.body)["labelId"] == INTERNAL
    assert group is not None
    assert group.label_id == INTERNAL


async def test_metadata_of_other_keys_is_kept_as_it_was_sent(estate: Estate) -> None:
    metadata = {"el-text-1": "Acme", "el-text-2": "internal", "own": " As sent ", "flag": True}
    accepted = await estate.request(metadata=metadata)

    record = await estate.record(accepted.request_id)
    assert msgspec.json.decode(record.body)["metadata"] == metadata


async def test_it_rejects_everything_at_once(estate: Estate) -> None:
    found = await refused(
        estate,
        owners=[str(NOBODY)],
        members=[str(BEN), str(NOBODY), str(ZOE)],
        memberShipType=2,
        labelId="nonesuch",
        metadata={"el-text-2": "both"},
    )

    assert sorted(found) == [
        ("/labelId", "labelUnknown"),
        ("/memberShipType", "dynamicRuleMissing"),
        ("/members", "membersOfDynamicGroup"),
        ("/members/1", "userUnknown"),
        ("/members/2", "userUnknown"),
        ("/metadata/el-text-2", "customFieldInvalid"),
        ("/owners/0", "userUnknown"),
    ]


async def test_it_rejects_an_unknown_template_and_unknown_people_in_one_answer(estate: Estate) -> None:
    found = await refused(estate, templateId=str(OTHER_GROUP), owners=[str(NOBODY)], members=[str(NOBODY)])

    assert found == [("/templateId", "templateUnknown"), ("/owners/0", "userUnknown"), ("/members/0", "userUnknown")]


async def test_it_rejects_a_template_of_another_kind(estate: Estate) -> None:
    found = await refused(estate, templateId="7e000000-0000-4000-8000-000000000003")

    assert found == [("/templateId", "templateOfOtherKind")]


async def test_it_rejects_another_member_ship_type_where_it_is_fixed(estate: Estate) -> None:
    found = await refused(estate, templateId=str(SALES_DEPARTMENT), memberShipType=1)

    assert found == [("/memberShipType", "memberShipTypeFixed")]


@pytest.mark.parametrize(
    ("template", "sent", "faults"),
    [
        ({"minimumOwners": 2}, {}, [("/owners", "tooFewOwners")]),
        ({"active": False}, {}, [("/templateId", "templateInactive")]),
        (
            {"customFields": [{"key": "must", "label": "Must", "type": "text", "required": True}]},
            {},
            [("/metadata/must", "customFieldRequired")],
        ),
        (
            {"customFields": [{"key": "who", "label": "Who", "type": "user"}]},
            {"metadata": {"who": str(NOBODY)}},
            [("/metadata/who", "customFieldInvalid")],
        ),
        ({"naming": {"mailNickname": "{input}" + "x" * 60}}, {}, [("/displayName", "nameTooLong")]),
    ],
)
async def test_it_rejects_what_a_template_does_not_allow(
    databases: Databases,
    template: dict[str, object],
    sent: dict[str, object],
    faults: Sequence[tuple[str, str]],
) -> None:
    estate = await open_estate(databases, changed_estate(project_group=template))

    assert await refused(estate, **sent) == faults


async def test_it_rejects_a_team_for_somebody_without_a_license(estate: Estate) -> None:
    with pytest.raises(Forbidden) as caught:
        await estate.request(caller=caller_of(CLEO), templateId=str(PROJECT_TEAM), owners=[str(NOBODY)])

    assert caught.value.code == "teamLicenseRequired"
    assert await estate.counts() == NOTHING
    assert (await estate.request(caller=caller_of(CLEO))).request_id is not None


async def test_it_rejects_whoever_is_not_in_the_audience(databases: Databases) -> None:
    staff = "94000000-0000-4000-8000-000000000001"
    configuration = changed_estate(
        project_group={"audience": {"users": [], "groups": [staff]}}, project_team={"audience": {"users": [str(BEN)]}}
    )
    estate = await open_estate(databases, configuration)

    member = await estate.request("One")
    named = await estate.request("Two", caller=caller_of(BEN), templateId=str(PROJECT_TEAM))
    with pytest.raises(Forbidden) as caught:
        await estate.request("Three", templateId=str(PROJECT_TEAM))

    assert caught.value.code == "templateNotAllowed"
    assert member.request_id != named.request_id


async def test_it_rejects_an_application(estate: Estate) -> None:
    with pytest.raises(Forbidden) as caught:
        await estate.request(caller=replace(caller_of(ADA), type=ActorType.APPLICATION))

    assert caught.value.code == "applicationNotSupported"


async def test_it_rejects_templates_and_people_of_another_tenant(estate: Estate) -> None:
    zoe = caller_of(ZOE, OTHER_HOUSE)
    with pytest.raises(NotPossible) as caught:
        await estate.request(caller=zoe, members=[str(ADA)])

    own = await estate.request(caller=zoe, templateId=str(OTHER_GROUP))

    assert codes(caught.value) == [("/templateId", "templateUnknown"), ("/members/0", "userUnknown")]
    assert own.tenant_id == OTHER_HOUSE


async def test_a_request_for_approval_waits_and_is_attended_to(estate: Estate) -> None:
    accepted = await estate.request("Secret", templateId=str(CONFIDENTIAL_TEAM))

    record = await estate.record(accepted.request_id)
    assert accepted.approval_required
    assert (record.state, record.display_name, record.approval_required) == ("pendingApproval", "CONF-Secret", True)
    assert await estate.counts() == {**NOTHING, "request": 1, "reservation": 1, "job": 1, "audit": 1, "event": 1}
    assert await estate.rows("SELECT kind, subject FROM chamberlain.job") == [("approvalAttend", accepted.request_id)]
    assert await estate.rows("SELECT type, request_id FROM chamberlain.event") == [
        ("request.approvalRequired", accepted.request_id)
    ]
    assert await estate.rows("SELECT mail_nickname FROM chamberlain.request") == [("conf-secret",)]


async def test_the_approvers_of_the_first_level_are_reported_and_kept(estate: Estate) -> None:
    accepted = await estate.request("Secret", templateId=str(CONFIDENTIAL_TEAM))

    record = await estate.record(accepted.request_id)
    ((data,),) = await estate.rows("SELECT data FROM chamberlain.event")
    told = msgspec.json.decode(str(data))
    [level] = record.approvals
    assert (level.level, level.mode, level.state) == (1, "any", "pending")
    assert level.approvers == (NamedPerson(DARA, "Dara Lindqvist"),)
    assert (told["level"], told["approvers"]) == (1, [{"id": str(DARA), "displayName": "Dara Lindqvist"}])
    assert record.blocked is None


async def test_a_request_that_nobody_can_approve_is_blocked(estate: Estate) -> None:
    accepted = await estate.request("Secret", caller=caller_of(DARA), templateId=str(CONFIDENTIAL_TEAM))

    record = await estate.record(accepted.request_id)
    assert [(level.state, level.approvers) for level in record.approvals] == [("blocked", ())]
    assert (record.state, record.blocked) == ("pendingApproval", "noApprover")


async def test_requests_of_one_batch_have_approvals_of_their_own(estate: Estate) -> None:
    callers = [caller_of(ADA), caller_of(DARA), caller_of(ADA)]
    templates = [CONFIDENTIAL_TEAM, CONFIDENTIAL_TEAM, PROJECT_GROUP]
    accepted = await asyncio.gather(
        *[
            estate.request(f"Batch {number}", caller=caller, templateId=str(template))
            for number, (caller, template) in enumerate(zip(callers, templates, strict=True))
        ]
    )

    records = [await estate.record(each.request_id) for each in accepted]
    assert [[level.state for level in record.approvals] for record in records] == [["pending"], ["blocked"], []]
    assert [record.blocked for record in records] == [None, "noApprover", None]


async def test_an_address_that_is_reserved_gets_the_digits_of_the_request(estate: Estate) -> None:
    first, second = await asyncio.gather(estate.request("Apollo"), estate.request("Apollo"))

    addresses = {address for (address,) in await estate.rows("SELECT address FROM chamberlain.request")}
    short = {f"apollo-{str(each.request_id)[:8]}@estate.example" for each in (first, second)}
    assert "apollo@estate.example" in addresses
    assert len(short & addresses) == 1


async def test_an_address_that_is_taken_in_the_directory_gets_the_digits_of_the_request(estate: Estate) -> None:
    accepted = await estate.request("All staff")

    assert await estate.rows("SELECT address FROM chamberlain.request") == [
        (f"all-staff-{str(accepted.request_id)[:8]}@estate.example",)
    ]


RULE = {"naming": {"displayName": "{input}", "mailNickname": "p-{input}"}}


@pytest.mark.parametrize("provisioned", [False, True])
async def test_it_rejects_an_address_by_rule_that_is_taken_and_names_ones_own_holder(
    databases: Databases, *, provisioned: bool
) -> None:
    estate = await open_estate(databases, changed_estate(project_group=RULE))
    first = await estate.request("Apollo")
    if provisioned:
        await estate.work()

    with pytest.raises(Conflict) as own:
        await estate.request("apollo")
    with pytest.raises(Conflict) as others:
        await estate.request("APOLLO", caller=caller_of(BEN))

    group = await estate.group(first.request_id)
    holder = first.request_id if group is None else group.id
    assert (own.value.code, own.value.conflicting_id) == ("addressTaken", str(holder))
    assert (others.value.code, others.value.conflicting_id) == ("addressTaken", None)
    assert (await estate.counts())["request"] == 1


async def test_an_administrator_is_reported_whose_request_holds_an_address(databases: Databases) -> None:
    estate = await open_estate(databases, changed_estate(project_group=RULE))
    first = await estate.request("Apollo", caller=caller_of(BEN))
    both = caller_of(ADA).permissions | administrator(ADA).permissions

    told = []
    for caller in (replace(caller_of(ADA), permissions=both), caller_of(ADA)):
        with pytest.raises(Conflict) as caught:
            await estate.request("apollo", caller=caller)
        told.append(caught.value.conflicting_id)

    assert told == [str(first.request_id), None]


async def test_it_rejects_an_address_by_rule_that_the_directory_has_given_to_somebody(databases: Databases) -> None:
    rule = {"naming": {"displayName": "{input}", "mailNickname": "all-{input}"}}
    estate = await open_estate(databases, changed_estate(project_group=rule))

    with pytest.raises(Conflict) as caught:
        await estate.request("Staff")

    assert (caught.value.code, caught.value.conflicting_id) == ("addressTaken", None)


async def test_numbers_in_names_are_never_given_twice(databases: Databases) -> None:
    rule = {"naming": {"displayName": "{input} {counter:4}", "mailNickname": "g{counter:3}-{input}"}}
    estate = await open_estate(databases, changed_estate(project_group=rule))

    accepted = await asyncio.gather(*(estate.request("Apollo") for _ in range(20)))

    names = await estate.rows("SELECT display_name, mail_nickname FROM chamberlain.request")
    assert len({each.request_id for each in accepted}) == 20
    assert {name for name, _ in names} == {f"Apollo {number:04}" for number in range(1, 21)}
    assert {nickname for _, nickname in names} == {f"g{number:03}-apollo" for number in range(1, 21)}


async def test_a_refused_request_uses_up_no_number(databases: Databases) -> None:
    rule = {"naming": {"displayName": "{input} {counter:4}"}}
    estate = await open_estate(databases, changed_estate(project_group=rule))
    await refused(estate, owners=[str(NOBODY)])

    await estate.request("Apollo")

    assert await estate.rows("SELECT display_name FROM chamberlain.request") == [("Apollo 0001",)]


async def test_names_may_hold_what_the_directory_knows_of_the_caller(databases: Databases) -> None:
    rule = {"naming": {"displayName": "{user.department} {input}", "mailNickname": "{user.jobTitle}{input}"}}
    estate = await open_estate(databases, changed_estate(project_group=rule))

    await estate.request("Apollo", caller=caller_of(BEN))

    assert await estate.rows("SELECT display_name, mail_nickname FROM chamberlain.request") == [
        ("Sales Apollo", "apollo")
    ]


async def test_a_template_that_was_stricter_when_it_was_read_does_not_refuse_any_more(databases: Databases) -> None:
    estate = await open_estate(databases, changed_estate(project_group={"minimumOwners": 3}))
    with pytest.raises(NotPossible):
        await estate.request("Before")
    await apply(databases, changed_estate(project_group={"minimumOwners": 1}))

    await estate.request("After")

    assert await estate.rows("SELECT display_name, template_revision FROM chamberlain.request") == [("After", 2)]


async def test_a_template_that_is_stricter_now_than_when_it_was_read_refuses(estate: Estate) -> None:
    await estate.request("Before")
    await apply(estate.databases, changed_estate(project_group={"minimumOwners": 3}))

    with pytest.raises(NotPossible) as caught:
        await estate.request("After")

    assert codes(caught.value) == [("/owners", "tooFewOwners")]
    assert (await estate.counts())["request"] == 1


async def test_the_revision_that_was_true_at_the_write_is_the_one_of_the_request(estate: Estate) -> None:
    await estate.request("Before")
    await apply(estate.databases, changed_estate(project_group={"name": "Renamed"}))

    accepted = await estate.request("After")

    record = await estate.record(accepted.request_id)
    assert record.template is not None
    assert record.template.name == "Renamed"


async def test_fifty_equal_calls_with_one_key_are_one_request(estate: Estate) -> None:
    answers = await asyncio.gather(*(estate.request("Apollo", key="k1") for _ in range(50)))

    assert len({answer.request_id for answer in answers}) == 1
    assert [answer.replayed for answer in answers].count(False) == 1
    assert await estate.counts() == {**NOTHING, **dict.fromkeys(WRITTEN, 1), "idempotency_key": 1}


async def test_a_replay_is_answered_though_it_would_be_refused_by_now(databases: Databases) -> None:
    estate = await open_estate(databases, changed_estate(project_group=RULE))
    first = await estate.request("Apollo", key="k1")
    await estate.work()
    await apply(databases, changed_estate(project_group={"active": False}))

    again = await estate.request("Apollo", key="k1")

    assert again == replace(first, replayed=True)


async def test_it_rejects_a_key_for_something_else(estate: Estate) -> None:
    await estate.request("Apollo", key="k1")

    answers = [
        await asyncio.gather(estate.request("Other", key="k1"), return_exceptions=True),
        await asyncio.gather(estate.request("Other", key="k1", owners=[str(NOBODY)]), return_exceptions=True),
    ]

    assert [type(answer) for (answer,) in answers] == [KeyReused, KeyReused]


async def test_a_key_of_somebody_else_is_another_key(estate: Estate) -> None:
    mine = await estate.request("Apollo", key="k1")
    other = await estate.request("Borealis", key="k1", caller=caller_of(BEN))

    assert mine.request_id != other.request_id


async def test_while_the_directory_is_away_a_request_is_accepted_and_its_people_are_checked_first(
    estate: Estate,
) -> None:
    estate.people.error = AWAY

    accepted = await estate.request("Apollo", owners=[str(BEN)])

    record = await estate.record(accepted.request_id)
    assert record.state == "queued"
    assert [step.step for step in record.steps] == ["checkPeople", "createGroup", "addOwners"]
    estate.people.error = None
    await estate.work()
    record = await estate.record(accepted.request_id)
    assert [(step.step, step.state) for step in record.steps] == [
        ("checkPeople", "succeeded"),
        ("createGroup", "succeeded"),
        ("addOwners", "succeeded"),
    ]
    assert record.state == "succeeded"


async def test_it_rejects_what_it_can_while_the_directory_is_away(estate: Estate) -> None:
    estate.people.error = AWAY

    assert await refused(estate, memberShipType=2) == [("/memberShipType", "dynamicRuleMissing")]


async def test_what_the_check_of_a_worker_finds_is_what_the_answer_would_have_said(estate: Estate) -> None:
    sent = {"owners": [str(NOBODY)], "members": [str(BEN), str(ZOE)], "labelId": "nonesuch"}
    expected = await refused(estate, **sent)
    estate.people.error = AWAY
    accepted = await estate.ask({"displayName": "Apollo", **sent})
    estate.people.error = None

    await estate.work()

    record = await estate.record(accepted.request_id)
    assert record.state == "failed"
    assert record.error is not None
    assert (record.error.step, record.error.code) == ("checkPeople", "notPossible")
    assert [(fault.pointer, fault.code) for fault in record.error.faults] == expected
    assert [step.state for step in record.steps] == ["failed", "pending", "pending", "pending", "pending"]
    assert await estate.group(accepted.request_id) is None
    assert await estate.rows("SELECT type FROM chamberlain.event") == [("request.failed",)]


@pytest.mark.parametrize(
    ("template", "user", "code"),
    [(PROJECT_TEAM, CLEO, "teamLicenseRequired"), (PROJECT_GROUP, DARA, "templateNotAllowed")],
)
async def test_permission_is_checked_by_the_worker_too(
    databases: Databases, template: TemplateId, user: UserId, code: str
) -> None:
    estate = await open_estate(databases, changed_estate(project_group={"audience": {"users": [str(ADA)]}}))
    estate.people.error = AWAY
    accepted = await estate.request("Apollo", caller=caller_of(user), templateId=str(template))
    estate.people.error = None

    await estate.work()

    record = await estate.record(accepted.request_id)
    assert record.error is not None
    assert (record.state, record.error.step, record.error.code) == ("failed", "checkPeople", code)
    assert await estate.group(accepted.request_id) is None


async def test_it_rejects_for_now_a_name_that_only_the_directory_could_make(databases: Databases) -> None:
    rule = {"naming": {"displayName": "{user.department} {input}"}}
    estate = await open_estate(databases, changed_estate(project_group=rule))
    estate.people.error = AWAY

    with pytest.raises(Unavailable) as refused:
        await estate.request("Apollo")

    assert refused.value.code == "overloaded"
    assert await estate.counts() == NOTHING


async def test_one_bad_call_among_sixty_four_spoils_only_itself(estate: Estate) -> None:
    calls = [estate.request(f"Group {number}") for number in range(63)]

    answers = await asyncio.gather(*calls, estate.request("Bad", owners=[str(NOBODY)]), return_exceptions=True)

    assert [type(answer) for answer in answers].count(Accepted) == 63
    assert isinstance(answers[-1], Refusal)
    assert (await estate.counts())["request"] == 63
