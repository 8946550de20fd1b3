# SPDX-License-Identifier: Apache-2.0
"""Reads mailboxes from their LDAP entries and from Dovecot. Pure."""

from collections.abc import Mapping

from chamberlain.core.ids import UserId
from chamberlain.core.text import clean_line, clean_lines
from chamberlain.directory.mailboxes import (
    AddressFields,
    MailboxSummary,
    MailboxType,
    ObservedMailbox,
    PermissionLevel,
)
from chamberlain.directory.opensuite.attributes import Attributes
from chamberlain.directory.opensuite.doveadm import MailboxState
from chamberlain.directory.opensuite.entry import Entry
from chamberlain.directory.opensuite.layout import marks_of
from chamberlain.directory.opensuite.mailbox_values import address_attributes, addresses_of, read_text
from chamberlain.directory.opensuite.rights import permission_level
from chamberlain.directory.opensuite.room_features import read_place
from chamberlain.directory.opensuite.sieve import parse_reply
from chamberlain.directory.opensuite.users import Users


def observed_mailbox(
    entry: Entry, state: MailboxState | None, users: Users, names: Attributes, extension: str
) -> ObservedMailbox:
    """Join an entry with the state of its mailbox.

    The state is None before Dovecot knows the mailbox.
    """
    mailbox_type = type_of(entry, names)
    mail, *aliases = [clean_line(each) for each in addresses_of(entry, names)]
    permissions = _permissions(entry, state, users, names)
    full = {user for user, level in permissions.items() if level is PermissionLevel.FULL_ACCESS}
    capacity = entry.number(names.capacity)
    return ObservedMailbox(
        id=entry.id,
        type=mailbox_type,
        name=_name(entry, names),
        display_name=_display_name(entry, names),
        mail=mail,
        aliases=tuple(aliases),
        address_fields=_address_fields(entry, names),
        place=read_place(entry.all(names.feature), capacity) if mailbox_type is MailboxType.ROOM else None,
        books_automatically=entry.one(names.kind) is not None,
        automatic_reply=_automatic_reply(entry, state, names),
        quota_megabytes=entry.number(names.quota),
        capacity=capacity if mailbox_type is MailboxType.EQUIPMENT else None,
        is_hidden=entry.flag(names.hidden) is True,
        permissions=permissions,
        auto_mapped=frozenset(user.id for user in users.with_dns(entry.all(names.auto_mapped)) if user.id in full),
        owners=tuple([user.id for user in users.with_dns(entry.all(names.owner))]),
        marks=marks_of(entry, extension),
    )


def mailbox_summary(entry: Entry, names: Attributes, extension: str) -> MailboxSummary:
    """Return the mailbox of an entry in a list."""
    return MailboxSummary(
        id=entry.id,
        type=type_of(entry, names),
        name=_name(entry, names),
        display_name=_display_name(entry, names),
        mail=clean_line(entry.one(names.mail) or ""),
        marks=marks_of(entry, extension),
    )


def type_of(entry: Entry, names: Attributes) -> MailboxType:
    """Return the type of a mailbox.

    Mailboxes of the operator have none, and are shared ones.
    """
    found = entry.one(names.type)
    return next((each for each in MailboxType if each.value == found), MailboxType.SHARED)


def has_reply(entry: Entry, names: Attributes) -> bool:
    """Return whether Dovecot replies to mail, according to the entry."""
    return type_of(entry, names) is MailboxType.SHARED and entry.one(names.automatic_reply) is not None


def _permissions(
    entry: Entry, state: MailboxState | None, users: Users, names: Attributes
) -> Mapping[UserId, PermissionLevel]:
    folders = {} if state is None else state.folders
    recorded = {user.id for user in users.with_dns(entry.all(names.full_access))}
    senders = {user.id for user in users.with_dns(entry.all(names.send_as))}
    with_rights = {name for folder in folders.values() for name in folder.rights}
    present = {user.id for name in with_rights if (user := users.with_name(name)) is not None}
    levels = {
        each: permission_level(folders, users.by_id[each].name, may_send=each in senders, is_recorded=each in recorded)
        for each in sorted(recorded | senders | present)
    }
    return {user: level for user, level in levels.items() if level is not None}


def _automatic_reply(entry: Entry, state: MailboxState | None, names: Attributes) -> str | None:
    """Return the text of the reply.

    That of a shared mailbox is in its script, that of others in the entry.
    """
    text = entry.one(names.automatic_reply)
    if has_reply(entry, names):
        text = None if state is None or state.script is None else parse_reply(state.script)
    return None if text is None else clean_lines(read_text(text))


def _name(entry: Entry, names: Attributes) -> str:
    return clean_line(read_text(entry.one(names.mailbox_name) or entry.one(names.name) or ""))


def _display_name(entry: Entry, names: Attributes) -> str:
    return clean_line(read_text(entry.one(names.display_name) or entry.one("cn") or ""))


def _address_fields(entry: Entry, names: Attributes) -> AddressFields:
    texts = {name: _line(entry, attribute) for name, attribute in address_attributes(names).items()}
    notes = entry.one(names.description)
    return AddressFields(
        street_address=texts["street_address"],
        office_location=texts["office_location"],
        company_name=texts["company_name"],
        postal_code=texts["postal_code"],
        city=texts["city"],
        country=texts["country"],
        phone=texts["phone"],
        department=texts["department"],
        business_phones=tuple([clean_line(read_text(each)) for each in entry.all(names.business_phones)]),
        notes=None if notes is None else clean_lines(read_text(notes)),
    )


def _line(entry: Entry, attribute: str) -> str | None:
    value = entry.one(attribute)
    return None if value is None else clean_line(read_text(value))
