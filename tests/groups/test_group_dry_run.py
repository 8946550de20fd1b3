# SPDX-License-Identifier: Apache-2.0
"""A dry run: what then happens is what it said, and it changes no row of any table."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import cast

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from chamberlain.core.errors import Conflict, Forbidden, NotPossible, Refusal, TryAgain
from chamberlain.core.ids import RequestId, UserId
from chamberlain.core.reasons import Reason
from chamberlain.directory.models import NamedPerson
from chamberlain.groups.dry_run import GroupDryRun
from chamberlain.groups.wire import read_group_order
from chamberlain.requests.approvals import LevelDryRun
from chamberlain.requests.models import ApprovalMode
from tests.estates import (
    ADA,
    BEN,
    CLEO,
    CONFIDENTIAL_TEAM,
    DARA,
    INTERNAL,
    NOBODY,
    PROJECT_GROUP,
    PROJECT_TEAM,
    SALES_DEPARTMENT,
    Estate,
    apply,
    caller_of,
    changed_estate,
)
from tests.guests.assignments.fingerprints import fingerprint

ALL_STAFF = "94000000-0000-4000-8000-000000000001"
NAMED_DARA = NamedPerson(DARA, "Dara Lindqvist")
AWAY = TryAgain(timedelta(seconds=2), "The directory does not answer.")


async def preview(estate: Estate, sent: Mapping[str, object], *, caller: UserId = ADA) -> GroupDryRun:
    """A dry run, which leaves no trace whatever comes of it."""
    before = await fingerprint(estate.databases)
    body = msgspec.json.encode({"templateId": str(PROJECT_GROUP), **sent})
    try:
        return await estate.groups.dry_run(caller_of(caller), read_group_order(body))
    finally:
        assert await fingerprint(estate.databases) == before


async def told_approvers(estate: Estate, request_id: RequestId) -> Sequence[Mapping[str, str]]:
    ((data,),) = await estate.rows("SELECT data FROM chamberlain.event WHERE request_id = $1", request_id)
    approvers: Sequence[Mapping[str, str]] = msgspec.json.decode(str(data))["approvers"]
    return approvers


async def test_it_works(estate: Estate) -> None:
    dry_run = await preview(estate, {"displayName": "Dry", "templateId": str(CONFIDENTIAL_TEAM)})

    assert (dry_run.template.kind, dry_run.template.name) == ("team", "Confidential team")
    assert (dry_run.display_name, dry_run.mail_nickname) == ("CONF-Dry", "conf-dry")
    assert (dry_run.address, dry_run.member_ship_type) == ("conf-dry@estate.example", 0)
    assert dry_run.owners == (NamedPerson(ADA, "Ada Achterberg"),)
    assert dry_run.member_count == 1
    assert dry_run.approvals == (LevelDryRun(1, ApprovalMode.ANY, (NAMED_DARA,)),)
    assert dry_run.steps[:2] == ("createGroup", "createTeam")
    assert (dry_run.conflicts, dry_run.warnings) == ((), ())


async def test_it_finds_the_approvers_of_every_level(estate: Estate) -> None:
    levels = [
        {"mode": "any", "approvers": [{"type": "manager"}, {"type": "user", "id": str(DARA)}]},
        {"mode": "all", "approvers": [{"type": "group", "id": ALL_STAFF}]},
        {"mode": "any", "approvers": [{"type": "user", "id": str(CLEO)}, {"type": "user", "id": str(NOBODY)}]},
    ]
    await apply(estate.databases, changed_estate(project_group={"approval": {"levels": levels}}))

    dry_run = await preview(estate, {"displayName": "Levels"}, caller=CLEO)

    first, second, third = [[person.display_name.split()[0] for person in each.approvers] for each in dry_run.approvals]
    assert first == ["Ben", "Dara"]
    # Cleo is one of them, and never decides about her own request.
    assert second == ["Ada", "Ben", "Dara", "Eli", "Gil"]
    assert third == []
    assert dry_run.warnings == (Reason.build("noApprover", level=3),)


async def test_it_shows_zeros_for_what_is_drawn_later(estate: Estate) -> None:
    naming = {"displayName": "{input} {counter:4}", "mailNickname": None}
    await apply(estate.databases, changed_estate(project_group={"naming": naming}))
    dry_runs = [await preview(estate, {"displayName": "Apollo"}) for _ in range(2)]

    accepted = await estate.request("Apollo")

    assert {(each.display_name, each.mail_nickname) for each in dry_runs} == {("Apollo 0000", "apollo-0000")}
    assert [len(each.warnings) for each in dry_runs] == [1, 1]
    assert (await estate.record(accepted.request_id)).display_name == "Apollo 0001"


async def test_it_says_which_address_follows_when_the_first_is_taken(estate: Estate) -> None:
    await estate.request("Apollo")

    by_request = await preview(estate, {"displayName": "Apollo"})
    by_user = await preview(estate, {"displayName": "Ada"})

    assert (by_request.address, by_request.conflicts) == ("apollo-00000000@estate.example", ())
    assert (by_user.address, by_user.conflicts) == ("ada-00000000@estate.example", ())
    assert by_request.warnings[0].values == {"address": "apollo@estate.example"}


async def test_it_says_which_address_follows_when_the_number_is_cut_off(estate: Estate) -> None:
    long = "x" * 70
    naming = {"displayName": "{input} {counter:3}", "mailNickname": None}
    await apply(estate.databases, changed_estate(project_group={"naming": naming}))

    free = await preview(estate, {"displayName": long})
    first = await estate.request(long)
    taken = await preview(estate, {"displayName": long})
    second = await estate.request(long)

    await check_request(estate, first.request_id, free)
    await check_request(estate, second.request_id, taken)
    assert (free.mail_nickname, taken.mail_nickname) == ("x" * 64, f"{'x' * 55}-00000000")
    assert [len(each.warnings) for each in (free, taken)] == [1, 2]


async def test_nobody_has_the_digits_that_are_drawn_later(estate: Estate) -> None:
    await estate.request("Apollo")
    await estate.request("Apollo 00000000")

    dry_run = await preview(estate, {"displayName": "Apollo"})

    assert (dry_run.address, dry_run.conflicts) == ("apollo-00000000@estate.example", ())
    await check_request(estate, (await estate.request("Apollo")).request_id, dry_run)


async def test_it_tells_a_conflict_when_no_address_is_free(estate: Estate) -> None:
    await estate.request("Secret", templateId=str(CONFIDENTIAL_TEAM))
    sent = {"displayName": "Secret", "templateId": str(CONFIDENTIAL_TEAM)}

    dry_run = await preview(estate, sent)

    with pytest.raises(Conflict) as refused:
        await estate.ask(sent)
    [conflict] = dry_run.conflicts
    assert (conflict.code, conflict.pointer, conflict.detail) == (
        "addressTaken",
        "/displayName",
        refused.value.detail,
    )
    assert dry_run.address == "conf-secret@estate.example"


async def test_it_rejects_what_the_request_would_be_refused_for(estate: Estate) -> None:
    with pytest.raises(NotPossible) as impossible:
        await preview(estate, {"displayName": "Apollo", "owners": [str(NOBODY)], "labelId": "none"})
    with pytest.raises(Forbidden) as forbidden:
        await preview(estate, {"displayName": "Apollo", "templateId": str(PROJECT_TEAM)}, caller=CLEO)

    assert [fault.code for fault in impossible.value.faults] == ["userUnknown", "labelUnknown"]
    assert forbidden.value.code == "teamLicenseRequired"


async def test_it_uses_the_template_as_it_is_now(estate: Estate) -> None:
    await estate.request("Apollo")
    await apply(estate.databases, changed_estate(project_group={"naming": {"displayName": "NEW {input}"}}))

    assert (await preview(estate, {"displayName": "Borealis"})).display_name == "NEW Borealis"


async def test_it_does_not_count_the_members_of_a_dynamic_group(estate: Estate) -> None:
    dry_run = await preview(estate, {"displayName": "Sales", "templateId": str(SALES_DEPARTMENT)})

    assert (dry_run.member_ship_type, dry_run.member_count) == (2, None)


async def test_it_handles_a_directory_that_does_not_answer(estate: Estate) -> None:
    estate.people.error = AWAY

    dry_run = await preview(estate, {"displayName": "Secret", "templateId": str(CONFIDENTIAL_TEAM)})

    assert dry_run.steps[0] == "checkPeople"
    assert dry_run.owners == (NamedPerson(ADA, ""),)
    assert dry_run.warnings[0].code == "peopleNotChecked"
    accepted = await estate.ask({"displayName": "Secret", "templateId": str(CONFIDENTIAL_TEAM)})
    assert tuple(step.step for step in (await estate.record(accepted.request_id)).steps) == dry_run.steps


# --- A dry run equals what then happens, for generated templates and bodies ---

PEOPLE = [str(ADA), str(BEN), str(CLEO), str(DARA)]
APPROVERS = [
    {"type": "manager"},
    {"type": "group", "id": ALL_STAFF},
    {"type": "user", "id": str(ADA)},
    {"type": "user", "id": str(DARA)},
    {"type": "user", "id": str(NOBODY)},
]
LEVELS = st.lists(
    st.fixed_dictionaries(
        {
            "mode": st.sampled_from(["any", "all"]),
            "approvers": st.lists(st.sampled_from(APPROVERS), min_size=1, max_size=3, unique_by=str),
        }
    ),
    min_size=1,
    max_size=3,
)
DISPLAY_NAMES = [
    "{input}",
    "CONF-{input}",
    "{input} {metadata.el-text-1}",
    "{user.department} {input}",
    "{input} {counter:3}",
]
NICKNAMES = [None, None, "{input}", "x-{input}", "{input}-{counter:4}", "{user.department}.{input}"]
FIELDS: list[Mapping[str, object]] = [
    {"key": "el-text-1", "label": "Customer", "type": "text", "required": True},
    {"key": "el-text-2", "label": "Kind", "type": "choice", "choices": [{"value": "internal", "label": "Internal"}]},
    {"key": "lead", "label": "Lead", "type": "user"},
]
RULE = 'user.department -eq "Sales"'

TEMPLATES = st.fixed_dictionaries(
    {
        "naming": st.fixed_dictionaries(
            {"displayName": st.sampled_from(DISPLAY_NAMES), "mailNickname": st.sampled_from(NICKNAMES)}
        ),
        "memberShipType": st.sampled_from([0, 0, 1, 2]),
        "memberShipTypeChangeable": st.sampled_from([True, True, True, False]),
        "membershipRule": st.sampled_from([None, RULE, RULE]),
        "owners": st.lists(st.sampled_from(PEOPLE), max_size=2, unique=True),
        "members": st.lists(st.sampled_from(PEOPLE), max_size=2, unique=True),
        "minimumOwners": st.sampled_from([1, 1, 1, 1, 2, 3]),
        "customFields": st.lists(st.sampled_from(FIELDS), max_size=2, unique_by=lambda field: str(field["key"])),
        "labelId": st.sampled_from([None, None, INTERNAL]),
        "guestTemplateId": st.sampled_from([None, "7e000000-0000-4000-8000-000000000021"]),
        "approval": st.none() | st.none() | st.builds(lambda levels: {"levels": levels, "deadlineDays": 14}, LEVELS),
        "audience": st.sampled_from(
            [None, None, {"users": [str(ADA), str(BEN)], "groups": []}, {"users": [], "groups": [ALL_STAFF]}]
        ),
    }
)
# No zeros in any name: in a dry run they are placeholders.
NAMES = st.sampled_from(["Apollo", "Zürich", "Ada", "Häfen & Kräne", "Group of Sales", "北", "x" * 70]) | st.text(
    alphabet="abcXYZ ._-9", min_size=1, max_size=12
).filter(lambda text: bool(text.strip()))
BODIES = st.fixed_dictionaries(
    {"displayName": NAMES},
    optional={
        "memberShipType": st.sampled_from([0, 0, 1, 1, 2]),
        "owners": st.lists(st.sampled_from([*PEOPLE * 5, str(NOBODY)]), max_size=3),
        "members": st.lists(st.sampled_from([*PEOPLE * 5, str(NOBODY)]), max_size=4),
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "el-text-1": st.sampled_from(["Acme", "Initech", ""]),
                "el-text-2": st.sampled_from(["internal", "internal", "internal", "other"]),
                "lead": st.sampled_from([str(BEN), str(CLEO), str(BEN), str(NOBODY)]),
            },
        ),
        "labelId": st.sampled_from([INTERNAL, INTERNAL, INTERNAL, INTERNAL, "none"]),
    },
)


@pytest.mark.heavy
@settings(
    max_examples=40,
    deadline=None,
    # An example is small as it is, and making it smaller takes minutes.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    # One estate for all examples: names that are taken by earlier ones are part of what is tried.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    template=TEMPLATES,
    body=BODIES,
    asked=st.sampled_from(["project_group", "project_team"]),
    caller=st.sampled_from([ADA, ADA, BEN, BEN, CLEO]),
    # A later request has its address reserved, and the directory does not know it yet.
    carried_out=st.sampled_from(["at once", "later"]),
)
async def test_what_then_happens_is_what_was_said(
    estate: Estate,
    *,
    template: dict[str, object],
    body: dict[str, object],
    asked: str,
    caller: UserId,
    carried_out: str,
) -> None:
    if template["memberShipType"] == 2:
        template |= {"membershipRule": RULE, "members": []}
    # Copied, so that nothing in it is there twice: configuration files have no aliases.
    await apply(estate.databases, changed_estate(**{asked: msgspec.json.decode(msgspec.json.encode(template))}))
    sent = {**body, "templateId": str(PROJECT_TEAM if asked == "project_team" else PROJECT_GROUP)}
    # An example that fails may do so only because of those before it.
    taken = await estate.rows("SELECT value FROM chamberlain.reservation ORDER BY value")
    note(f"Taken before: {taken}")

    refusal = dry_run = None
    try:
        dry_run = await preview(estate, sent, caller=caller)
    except Refusal as error:
        refusal = error

    if dry_run is None or dry_run.conflicts:
        with pytest.raises(Refusal) as refused:
            await estate.ask(sent, caller=caller_of(caller))
        if dry_run is None:
            assert told(refused.value) == told(refusal)
        else:
            [conflict] = dry_run.conflicts
            assert told(refused.value) == (Conflict, conflict.code, conflict.detail, ())
        return
    try:
        accepted = await estate.ask(sent, caller=caller_of(caller))
    except Conflict as conflict:
        # Which number a counter gives is not known before, and so not whether another has that address. An address that
        # is made of the display name has a second one to fall back on.
        naming = cast("Mapping[str, str | None]", template["naming"])
        if conflict.code == "addressTaken" and "{counter" in (naming["mailNickname"] or ""):
            return
        raise
    await check_request(estate, accepted.request_id, dry_run)
    if carried_out == "at once":
        await estate.work()
        await check_group(estate, accepted.request_id, dry_run)


def told(refusal: Refusal | None) -> tuple[object, ...]:
    """All that a refusal says."""
    assert refusal is not None
    faults = refusal.faults if isinstance(refusal, NotPossible) else ()
    return type(refusal), refusal.code, refusal.detail, tuple(faults)


async def check_request(estate: Estate, request_id: RequestId, dry_run: GroupDryRun) -> None:
    record = await estate.record(request_id)
    assert record.template is not None
    assert (str(record.kind), record.template.name) == (str(dry_run.template.kind), dry_run.template.name)
    assert record.approval_required == bool(dry_run.approvals)
    assert tuple(step.step for step in record.steps) == dry_run.steps
    assert is_meant(record.display_name, dry_run.display_name, dry_run)
    ((nickname, mail),) = await estate.rows(
        "SELECT mail_nickname, address FROM chamberlain.request WHERE request_id = $1", request_id
    )
    assert is_meant(str(nickname), dry_run.mail_nickname, dry_run)
    assert is_meant(str(mail), dry_run.address, dry_run)
    if dry_run.approvals:
        first = dry_run.approvals[0].approvers
        approvers = [{"id": str(person.id), "displayName": person.display_name} for person in first]
        assert await told_approvers(estate, request_id) == approvers


async def check_group(estate: Estate, request_id: RequestId, dry_run: GroupDryRun) -> None:
    group = await estate.group(request_id)
    if dry_run.approvals:
        assert group is None
        return
    assert (await estate.record(request_id)).state == "succeeded"
    assert group is not None
    assert group.owners == {person.id for person in dry_run.owners}
    assert dry_run.member_count in (None, len(group.members))
    assert (group.channels is not None) == ("createTeam" in dry_run.steps)
    assert (group.label_id is not None) == ("setLabel" in dry_run.steps)
    assert is_meant(group.mail, dry_run.address, dry_run)
    ((visibility, rule),) = await estate.rows(
        "SELECT visibility, membership_rule FROM directory.groups WHERE id = $1", group.id
    )
    shown = 2 if rule is not None else int(visibility == "Public")
    assert shown == dry_run.member_ship_type


def is_meant(happened: str, previewed: str, dry_run: GroupDryRun) -> bool:
    """Check whether a name is the shown one.

    Zeros are placeholders only with a warning. The drawn value may be taken, so that digits of the request follow.
    """
    if not dry_run.warnings:
        return happened == previewed
    local, at, domain = (re.sub("0+", "[0-9a-f]+", re.escape(part)) for part in previewed.partition("@"))
    return re.fullmatch(f"{local}(-[0-9a-f]{{8}})?{at}{domain}", happened) is not None
