# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from chamberlain.core.ids import UserId
from chamberlain.directory.mailboxes import (
    AddressFields,
    MailboxType,
    ObservedMailbox,
    PermissionLevel,
    Place,
    remaining_of_mailbox,
    written_mailbox,
)
from chamberlain.directory.opensuite.attributes import DEFAULT_NAMES
from chamberlain.directory.opensuite.doveadm import FULL_RIGHTS, INBOX, Folder, MailboxState
from chamberlain.directory.opensuite.entry import Entry
from chamberlain.directory.opensuite.mailbox_values import full_access_users, recorded_values, sends_replies
from chamberlain.directory.opensuite.observed_mailboxes import mailbox_summary, observed_mailbox
from chamberlain.directory.opensuite.sieve import render_reply
from chamberlain.directory.port import MailboxWork
from chamberlain.directory.steps import Step
from tests.directory.mailbox_work import Make, each_type, plain, room, shared
from tests.directory.opensuite.mailbox_entry import ID, USERS, change_of, dns, entry_of, new_entry, with_values
from tests.directory.sample_directory import ADA, BEN, CLEO

pytestmark = pytest.mark.pure

EXTENSION = "chamberlain_mailbox"
FULL = frozenset(FULL_RIGHTS)


def observe(entry: Entry, state: MailboxState | None) -> ObservedMailbox:
    return observed_mailbox(entry, state, USERS, DEFAULT_NAMES, EXTENSION)


def state_of(work: MailboxWork) -> MailboxState:
    """The state of Dovecot after all steps."""
    full = {USERS.by_id[each].name: FULL for each in full_access_users(work.wanted)}
    text = work.wanted.automatic_reply if sends_replies(work.wanted) else None
    script = None if text is None else render_reply(text, [work.wanted.mail])
    return MailboxState({INBOX: Folder(full, has_entries=bool(full))}, script)


def provisioned(work: MailboxWork) -> Entry:
    """The entry after all steps."""
    entry = new_entry(work)
    return with_values(entry, recorded_values(change_of(work, entry)))


@each_type
def test_it_works(make: Make) -> None:
    work = make()

    shown = observe(provisioned(work), state_of(work))

    place = (work.wanted.place or Place()) if work.wanted.type is MailboxType.ROOM else None
    assert shown == replace(written_mailbox(work.wanted, ID), place=place)
    assert remaining_of_mailbox(work.wanted, shown, work.steps) == ()


@each_type
def test_a_crash_before_dovecot_leaves_its_steps(make: Make) -> None:
    work = make()
    wanted = work.wanted

    shown = observe(new_entry(work), None)

    late = {Step.SET_PERMISSIONS} if full_access_users(wanted) else set()
    late |= {Step.SET_AUTOMATIC_REPLY} if wanted.automatic_reply and sends_replies(wanted) else set()
    assert set(remaining_of_mailbox(wanted, shown, work.steps)) == late


def test_a_crash_before_the_record_leaves_the_automatic_mapping() -> None:
    work = shared()

    shown = observe(new_entry(work), state_of(work))

    assert shown.permissions[ADA] is PermissionLevel.FULL_ACCESS
    assert shown.auto_mapped == frozenset()
    left = remaining_of_mailbox(work.wanted, shown, work.steps)
    assert set(left) == {Step.SET_PERMISSIONS, Step.SET_AUTOMATIC_REPLY}


def test_a_right_that_is_left_in_a_folder_is_shown() -> None:
    work = plain(revoked=frozenset({BEN}))
    folders = {INBOX: Folder({}, has_entries=False), "Ships": Folder({"ben": FULL}, has_entries=True)}

    shown = observe(provisioned(work), MailboxState(folders, None))

    assert shown.permissions == {BEN: PermissionLevel.NONE}
    assert Step.SET_PERMISSIONS in remaining_of_mailbox(work.wanted, shown, work.steps)


def test_rights_of_unknown_people_are_not_shown() -> None:
    folders = {INBOX: Folder({"gone": FULL}, has_entries=True)}

    assert observe(provisioned(plain()), MailboxState(folders, None)).permissions == {}


@pytest.mark.parametrize("script", [None, "keep;", render_reply("We are back.", [])])
def test_another_reply_is_drift(script: str | None) -> None:
    work = shared()
    state = MailboxState(state_of(work).folders, script)

    shown = observe(provisioned(work), state)

    assert shown.automatic_reply == ("We are back." if script and "back" in script else None)
    assert remaining_of_mailbox(work.wanted, shown, work.steps) == (Step.SET_AUTOMATIC_REPLY,)


@pytest.mark.parametrize(
    ("extension", "marks"), [(EXTENSION, {"requestId"}), ("other_mailbox", set()), ("chamberlain_group", set())]
)
def test_marks_are_of_one_extension(extension: str, marks: set[str]) -> None:
    assert mailbox_summary(provisioned(plain()), DEFAULT_NAMES, extension).marks.keys() == marks


def test_a_mailbox_of_the_operator() -> None:
    entry = entry_of(
        {"objectClass": ["inetOrgPerson"], "uid": ["quay"], "cn": ["Quay"], "mail": ["quay@estate.example"]}
    )

    shown = observe(entry, MailboxState({}, None))

    assert (shown.type, shown.name, shown.display_name) == (MailboxType.SHARED, "quay", "Quay")
    assert (shown.mail, shown.aliases, shown.marks) == ("quay@estate.example", (), {})
    assert shown.address_fields == AddressFields()


def test_an_empty_text_is_no_missing_one() -> None:
    fields = AddressFields(notes="", city="Basel")

    assert observe(provisioned(plain(address_fields=fields)), None).address_fields == fields


def test_deleted_owners_are_left_out() -> None:
    entry = with_values(
        provisioned(room()), {"owner": [*dns(CLEO), "uid=gone,ou=people,dc=estate,dc=example", *dns(ADA)]}
    )

    assert observe(entry, None).owners == (CLEO, ADA)


@pytest.mark.parametrize("owners", [(ADA, BEN), (BEN, ADA)])
def test_owners_have_an_order(owners: tuple[UserId, ...]) -> None:
    assert observe(provisioned(plain(owners=owners)), None).owners == owners
