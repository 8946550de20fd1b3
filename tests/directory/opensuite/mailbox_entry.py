# SPDX-License-Identifier: Apache-2.0
"""Entries of mailboxes, and the people that they name."""

from uuid import UUID

from chamberlain.core.ids import UserId
from chamberlain.directory.opensuite.attributes import DEFAULT_NAMES
from chamberlain.directory.opensuite.entry import Entry, Values
from chamberlain.directory.opensuite.mailbox_values import Change, new_values
from chamberlain.directory.opensuite.users import User, Users
from chamberlain.directory.port import MailboxWork
from tests.directory.sample_directory import ADA, BEN, CLEO

ID = UUID("0a11b0c5-0000-4000-8000-000000000001")
DN = "uid=quay@estate.example,ou=mailboxes,dc=estate,dc=example"
PEOPLE = {ADA: "ada", BEN: "ben", CLEO: "cleo"}
USERS = Users([User(each, f"uid={name},ou=people,dc=estate,dc=example", name) for each, name in PEOPLE.items()])


def dns(*users: UserId) -> tuple[str, ...]:
    """The names of the entries of people."""
    return tuple(USERS.by_id[each].dn for each in users)


def entry_of(values: Values) -> Entry:
    """An entry with these values."""
    return Entry(DN, ID, "1", {name.lower(): tuple(each) for name, each in values.items()})


def new_entry(work: MailboxWork) -> Entry:
    """The entry of a new mailbox."""
    return entry_of(new_values(work, USERS, DEFAULT_NAMES))


def with_values(entry: Entry, values: Values) -> Entry:
    """An entry after a change. Attributes without values are removed."""
    changed = {**entry.values, **{name.lower(): tuple(each) for name, each in values.items()}}
    return entry_of({name: each for name, each in changed.items() if each})


def change_of(work: MailboxWork, entry: Entry) -> Change:
    """Work on an entry."""
    return Change(work.wanted, work.steps, entry, USERS, DEFAULT_NAMES)
