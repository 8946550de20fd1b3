# SPDX-License-Identifier: Apache-2.0
"""A dry run of a mailbox: what then happens is what it said, and it changes no row of any table."""

import re
from collections.abc import Mapping
from datetime import timedelta
from itertools import count
from typing import cast

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from chamberlain.configuration.files import Configuration
from chamberlain.core.errors import Conflict, NotPossible, Refusal, TryAgain
from chamberlain.core.ids import UserId
from chamberlain.directory.models import NamedPerson
from chamberlain.mailboxes.dry_run import MailboxDryRun
from chamberlain.mailboxes.models import AcceptedMailbox
from chamberlain.mailboxes.wire import read_mailbox_order
from tests.estates import (
    ADA,
    BEN,
    CLEO,
    DARA,
    EQUIPMENT_MAILBOX,
    NOBODY,
    ROOM_MAILBOX,
    SHARED_MAILBOX,
    Estate,
    apply,
    mail_caller_of,
)
from tests.example import configuration_in, example_document
from tests.guests.assignments.fingerprints import fingerprint

ALL_STAFF = "94000000-0000-4000-8000-000000000001"
TEMPLATES = {"shared": str(SHARED_MAILBOX), "equipment": str(EQUIPMENT_MAILBOX), "room": str(ROOM_MAILBOX)}
# The properties that show the type of a body without a template.
MARKS: Mapping[str, Mapping[str, object]] = {
    "shared": {"autoMapping": True},
    "equipment": {"metadata": {"equipmentType": "projector"}},
    "room": {"roomMailboxMetadata": {"hasWhiteboard": True}},
}
AWAY = TryAgain(timedelta(seconds=2), "The directory does not answer.")


async def preview(estate: Estate, sent: Mapping[str, object], *, caller: UserId = ADA) -> MailboxDryRun:
    """A dry run, which leaves no trace whatever comes of it."""
    before = await fingerprint(estate.databases)
    order = read_mailbox_order(msgspec.json.encode(sent))
    try:
        return await estate.mailboxes.dry_run(mail_caller_of(caller), order)
    finally:
        assert await fingerprint(estate.databases) == before


def changed(kind: str, template: Mapping[str, object], *, applicability: str = "refuse") -> Configuration:
    """The example estate with another template of one type."""
    document = example_document()
    tenant = document["tenants"][0]
    tenant["applicability"] = applicability
    (found,) = [each for each in tenant["templates"] if each["id"] == TEMPLATES[kind]]
    # Copied, so that nothing in it is there twice: configuration files have no aliases.
    found.update(msgspec.json.decode(msgspec.json.encode(template)))
    return configuration_in(document)


async def test_it_works(estate: Estate) -> None:
    dry_run = await preview(estate, {"name": "Zürich", "displayName": "Room Zürich", **MARKS["room"]})

    assert (dry_run.template.kind, dry_run.template_source) == ("room", "default")
    assert (dry_run.address, dry_run.steps[0]) == ("zurich@rooms.estate.example", "createMailbox")
    assert (dry_run.approvals, dry_run.conflicts, dry_run.warnings) == ((), (), ())


async def test_it_handles_a_directory_that_does_not_answer(estate: Estate) -> None:
    estate.people.error = AWAY
    sent = {"name": "Desk", "displayName": "Desk", "primaryOwner": str(BEN), **MARKS["shared"]}

    dry_run = await preview(estate, sent)

    assert dry_run.steps[0] == "checkPeople"
    assert dry_run.owners == (NamedPerson(BEN, ""),)
    accepted = await estate.ask_mailbox(sent)
    steps = (await estate.record(accepted.record.request_id)).steps
    assert tuple(step.step for step in steps) == dry_run.steps


async def test_zeros_that_stand_for_a_number_are_nobody_s_address(estate: Estate) -> None:
    await apply(estate.databases, changed("shared", {"naming": {"address": "{input}-{counter:3}"}}))
    await estate.ask_mailbox({"name": "Desk-000", "displayName": "Beamer", **MARKS["equipment"]})

    dry_run = await preview(estate, {"name": "Desk", "displayName": "Desk", **MARKS["shared"]})

    assert (dry_run.address, dry_run.conflicts) == ("desk-000@estate.example", ())
    accepted = await estate.ask_mailbox({"name": "Desk", "displayName": "Desk", **MARKS["shared"]})
    assert accepted.record.mail == "desk-001@estate.example"


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
    st.builds(
        lambda mode, approvers: {"mode": mode, "approvers": approvers},
        st.sampled_from(["any", "all"]),
        st.lists(st.sampled_from(APPROVERS), min_size=1, max_size=3, unique_by=str),
    ),
    min_size=1,
    max_size=3,
)
RULES = [
    "{input}", "{input}", "desk-{input}", "{input}-{metadata.el-text-1}", "{user.department}.{input}",
    "{input}-{counter:3}",
]  # fmt: skip
FIELDS: list[Mapping[str, object]] = [
    {"key": "el-text-1", "label": "Customer", "type": "text", "required": True},
    {"key": "el-text-2", "label": "Kind", "type": "choice", "choices": [{"value": "internal", "label": "Internal"}]},
    {"key": "lead", "label": "Lead", "type": "user"},
]
DEFAULTS: list[Mapping[str, object]] = [
    {}, {"country": "Switzerland"}, {"primaryOwner": str(CLEO)}, {"hideFromGAL": True, "notes": "By template"},
]  # fmt: skip
BY_TEMPLATE = st.fixed_dictionaries(
    {
        "naming": st.sampled_from(RULES).map(lambda rule: {"address": rule}),
        "domain": st.sampled_from([None, "estate.example", "rooms.estate.example"]),
        "defaults": st.sampled_from(DEFAULTS),
        "customFields": st.lists(st.sampled_from(FIELDS), max_size=2, unique_by=lambda field: str(field["key"])),
        "approval": st.none() | st.none() | st.builds(lambda levels: {"levels": levels, "deadlineDays": 14}, LEVELS),
        "audience": st.sampled_from(
            [None, None, {"users": [str(ADA), str(BEN)], "groups": []}, {"users": [], "groups": [ALL_STAFF]}]
        ),
        "isDefault": st.sampled_from([True, True, True, False]),
        "active": st.sampled_from([True, True, True, True, False]),
    }
).map(lambda template: {**template, "isDefault": template["isDefault"] and template["active"]})
# No zeros in any name: in a dry run they are placeholders. Some names are taken sooner or later; the others have a
# number that no other example has.
NUMBERS = count(1)
TAKEN = st.sampled_from(["Info", "Zürich", "Ada", "北", "a@b", "x" * 64])
FREE = st.text(alphabet="abcXYZ ._-9", max_size=12).map(lambda text: f"{text}{str(next(NUMBERS)).replace('0', 'o')}")
NAMES = st.sampled_from([TAKEN, FREE, FREE, FREE]).flatmap(lambda names: names)
BODIES = st.fixed_dictionaries(
    {"name": NAMES, "displayName": st.sampled_from(["Desk", "Zürich"])},
    optional={
        "domain": st.sampled_from(["estate.example", "rooms.estate.example", "estate.example", "other.example"]),
        "primaryOwner": st.sampled_from([*PEOPLE * 5, str(NOBODY)]),
        "secondaryOwner": st.sampled_from(PEOPLE),
        "permissions": st.dictionaries(
            st.sampled_from([*PEOPLE * 5, str(NOBODY)]), st.sampled_from(["None", "SendAs", "FullAccess"]), max_size=2
        ),
        "capacity": st.sampled_from([1, 12]),
        "automaticReply": st.just("Thanks."),
        "hideFromGAL": st.booleans(),
        "country": st.just("Austria"),
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "el-text-1": st.sampled_from(["Acme", "Initech", ""]),
                "el-text-2": st.sampled_from(["internal", "internal", "internal", "other"]),
                "lead": st.sampled_from([str(BEN), str(CLEO), str(BEN), str(NOBODY)]),
            },
        ),
    },
)
# Properties of one type; another type refuses them, or stores them with a warning.
OWN = st.fixed_dictionaries(
    {},
    optional={
        "alias": st.sampled_from(["help", "desk", "ada", "info"]),
        "officeLocation": st.just("HQ"),
        "isWheelChairAccessible": st.booleans(),
    },
)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, Mapping[str, object]]:
    """A type and a body, mostly one that is right for it."""
    kind = draw(st.sampled_from(list(TEMPLATES)))
    body: dict[str, object] = draw(BODIES)
    if draw(st.sampled_from([True, False, False])):
        body |= draw(OWN)
    by_name = draw(st.booleans())
    if not by_name or draw(st.booleans()):
        body |= {**MARKS[kind], "metadata": {**metadata_of(body), **metadata_of(MARKS[kind])}}
    return kind, {**body, "templateId": TEMPLATES[kind]} if by_name else body


def metadata_of(body: Mapping[str, object]) -> Mapping[str, object]:
    return cast("Mapping[str, object]", body.get("metadata", {}))


@pytest.mark.heavy
@settings(
    max_examples=60,
    deadline=None,
    # An example is small as it is, and making it smaller takes minutes.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    # One estate for all examples: names that are taken by earlier ones are part of what is tried.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    one=bodies(),
    template=BY_TEMPLATE,
    applicability=st.sampled_from(["refuse", "warn"]),
    caller=st.sampled_from([ADA, ADA, BEN, BEN, CLEO]),
    # A later request has its address reserved, and the directory does not know it yet.
    carried_out=st.sampled_from(["at once", "later"]),
)
async def test_what_then_happens_is_what_was_said(
    estate: Estate,
    *,
    one: tuple[str, Mapping[str, object]],
    template: Mapping[str, object],
    applicability: str,
    caller: UserId,
    carried_out: str,
) -> None:
    kind, sent = one
    await apply(estate.databases, changed(kind, template, applicability=applicability))

    refusal = dry_run = None
    try:
        dry_run = await preview(estate, sent, caller=caller)
    except Refusal as error:
        refusal = error

    if dry_run is None or dry_run.conflicts:
        with pytest.raises(Refusal) as refused:
            await estate.ask_mailbox(sent, caller=mail_caller_of(caller))
        if dry_run is None:
            assert told(refused.value) == told(refusal)
        else:
            conflict = dry_run.conflicts[0]
            assert told(refused.value) == (Conflict, conflict.code, conflict.detail, ())
        return
    accepted = await estate.ask_mailbox(sent, caller=mail_caller_of(caller))
    await check_request(estate, accepted, dry_run)
    if carried_out == "at once":
        await estate.work()
        await check_mailbox(estate, accepted, dry_run)


def told(refusal: Refusal | None) -> tuple[object, ...]:
    """All that a refusal says."""
    assert refusal is not None
    faults = refusal.faults if isinstance(refusal, NotPossible) else ()
    return type(refusal), refusal.code, refusal.detail, tuple(faults)


async def check_request(estate: Estate, accepted: AcceptedMailbox, dry_run: MailboxDryRun) -> None:
    record, mailbox = await estate.record(accepted.record.request_id), accepted.record
    assert record.template is not None
    assert (str(record.kind), record.template.name) == (str(dry_run.template.kind), dry_run.template.name)
    assert (mailbox.template_id, mailbox.template_source) == (dry_run.template.id, dry_run.template_source)
    assert (mailbox.order.name, mailbox.order.display_name) == (dry_run.name, dry_run.display_name)
    assert record.approval_required == bool(dry_run.approvals)
    assert tuple(step.step for step in record.steps) == dry_run.steps
    assert set(record.warnings) <= set(dry_run.warnings)
    assert is_meant(mailbox.mail, dry_run.address, dry_run)
    if dry_run.approvals:
        assert record.approvals[0].approvers == dry_run.approvals[0].approvers


async def check_mailbox(estate: Estate, accepted: AcceptedMailbox, dry_run: MailboxDryRun) -> None:
    mailbox = await estate.mailbox(accepted.record.request_id)
    if dry_run.approvals:
        assert mailbox is None
        return
    assert (await estate.record(accepted.record.request_id)).state == "succeeded"
    assert mailbox is not None
    assert (mailbox.name, mailbox.display_name) == (dry_run.name, dry_run.display_name)
    assert str(mailbox.type) == str(dry_run.template.kind)
    assert mailbox.owners == tuple(person.id for person in dry_run.owners)
    assert is_meant(mailbox.mail, dry_run.address, dry_run)


def is_meant(happened: str, previewed: str, dry_run: MailboxDryRun) -> bool:
    """Check whether an address is the shown one. Zeros are placeholders only with a warning."""
    if not dry_run.warnings:
        return happened == previewed
    return re.fullmatch(re.sub("0+", "[0-9]+", re.escape(previewed)), happened) is not None
