# SPDX-License-Identifier: Apache-2.0
"""Values that steps set in the entry of a mailbox. Pure.

Full access, automatic mapping and the reply of a shared mailbox are in Dovecot as well. Their attributes are written
after Dovecot has them, so that an entry never claims more than is done. Everything else needs the entry only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from chamberlain.core.ids import UserId
from chamberlain.directory.mailboxes import MailboxType, PermissionLevel, WantedMailbox
from chamberlain.directory.opensuite.attributes import MAILBOX_CLASS, PERSON_CLASS, Attributes
from chamberlain.directory.opensuite.entry import Entry, Values, boolean, normalized_dn
from chamberlain.directory.opensuite.layout import MARK, REQUEST_ID, mark_values
from chamberlain.directory.opensuite.room_features import with_features
from chamberlain.directory.opensuite.users import Users
from chamberlain.directory.port import MailboxWork
from chamberlain.directory.steps import Step

# Kinds of resources for SOGo. A resource without one is a person for it, and answers invitations by hand.
_KINDS: Final[Mapping[MailboxType, str]] = MappingProxyType(
    {MailboxType.ROOM: "location", MailboxType.EQUIPMENT: "thing"}
)
# LDAP has no empty texts (RFC 4517, 3.3.6), so one space is stored.
_EMPTY: Final = " "


@dataclass(frozen=True, slots=True)
class Change:
    """Work on an entry.

    `users` has all people that the work names, except revoked ones who do not exist any more.
    """

    wanted: WantedMailbox
    steps: tuple[Step, ...]
    entry: Entry
    users: Users
    names: Attributes

    def present(self, attribute: str) -> Sequence[str]:
        """Return the values that the entry has."""
        return self.entry.all(attribute)


def mailbox_name(mail: str) -> str:
    """Return the name of a new mailbox on the servers: its address.

    It is the name of the entry, so it keeps a second mailbox with the address away. The names of people, and of
    mailboxes in other domains, differ from it.
    """
    return mail.lower()


def new_values(work: MailboxWork, users: Users, names: Attributes) -> Values:
    """Return all values of a new entry."""
    wanted = work.wanted
    display_name, name = stored_text(wanted.display_name), stored_text(wanted.name)
    values: dict[str, Sequence[str]] = {
        "objectClass": [PERSON_CLASS, MAILBOX_CLASS],
        names.name: [mailbox_name(wanted.mail)],
        "cn": [display_name],
        "sn": [name],
        names.mailbox_name: [name],
        names.display_name: [display_name],
        names.mail: [wanted.mail],
        names.address: [wanted.mail],
        names.type: [wanted.type.value],
        REQUEST_ID: [str(wanted.request_id)],
        MARK: mark_values(wanted.marks, wanted.extension),
    }
    begun = Entry("", wanted.request_id, "", {attribute.lower(): tuple(each) for attribute, each in values.items()})
    values |= changed_values(Change(wanted, work.steps, begun, users, names))
    return {attribute: each for attribute, each in values.items() if each}


def changed_values(change: Change) -> Values:
    """Return the values that the steps set before Dovecot takes part."""
    values: dict[str, Sequence[str]] = {**_adopted(change)}
    for step in change.steps:
        if step in _PARTS:
            values |= _PARTS[step](change)
    return {**values, **_bookings(change, values)}


def recorded_values(change: Change) -> Values:
    """Return the values that are written after Dovecot has them."""
    wanted, names, users = change.wanted, change.names, change.users
    values: dict[str, Sequence[str]] = {}
    if Step.SET_AUTOMATIC_REPLY in change.steps and wanted.automatic_reply is not None and sends_replies(wanted):
        values[names.automatic_reply] = [stored_text(wanted.automatic_reply)]
    if Step.SET_PERMISSIONS in change.steps:
        full = [users.by_id[user].dn for user in full_access_users(wanted)]
        values[names.full_access] = _replaced(change, names.full_access, full)
        values[names.auto_mapped] = _replaced(change, names.auto_mapped, full if wanted.auto_mapping else [])
    return values


def sends_replies(wanted: WantedMailbox) -> bool:
    """Return whether Dovecot sends the reply.

    Rooms and equipment reply to invitations only.
    """
    return wanted.type is MailboxType.SHARED


def full_access_users(wanted: WantedMailbox) -> Sequence[UserId]:
    """Return the users who are to have full access."""
    return [user for user, level in wanted.permissions.items() if level is PermissionLevel.FULL_ACCESS]


def missing_aliases(change: Change) -> Sequence[str]:
    """Return the aliases that an entry does not have.

    Addresses are compared without letter case.
    """
    present = {each.lower() for each in addresses_of(change.entry, change.names)}
    return list({each.lower(): each for each in change.wanted.aliases if each.lower() not in present}.values())


def addresses_of(entry: Entry, names: Attributes) -> Sequence[str]:
    """Return all addresses of an entry, the primary one first."""
    mail = entry.one(names.mail) or ""
    return [mail, *[each for each in entry.all(names.address) if each.lower() != mail.lower()]]


def stored_text(text: str) -> str:
    """Return a text as it is stored."""
    return text or _EMPTY


def read_text(value: str) -> str:
    """Return the text of a stored value."""
    return "" if value == _EMPTY else value


def address_attributes(names: Attributes) -> Mapping[str, str]:
    """Return the attributes of the address fields with one value."""
    return {
        "street_address": names.street_address,
        "office_location": names.office_location,
        "company_name": names.company_name,
        "postal_code": names.postal_code,
        "city": names.city,
        "country": names.country,
        "phone": names.phone,
        "department": names.department,
        "notes": names.description,
    }


def _adopted(change: Change) -> Values:
    """Return the class of mailboxes for an adopted one.

    It does not have the class before its first change.
    """
    entry, names = change.entry, change.names
    if entry.is_of(MAILBOX_CLASS):
        return {}
    return {
        "objectClass": [*entry.all("objectClass"), MAILBOX_CLASS],
        names.type: [change.wanted.type.value],
        names.address: addresses_of(entry, names),
    }


def _properties(change: Change) -> Values:
    text = stored_text(change.wanted.display_name)
    values = {change.names.display_name: [text]}
    # An adopted entry may have it in its name, and the server refuses to change that value.
    return values if change.entry.dn.lower().startswith("cn=") else {**values, "cn": [text]}


def _address_fields(change: Change) -> Values:
    fields, values = change.wanted.address_fields, dict[str, Sequence[str]]()
    for name, attribute in address_attributes(change.names).items():
        text = getattr(fields, name)
        if text is not None:
            values[attribute] = [stored_text(text)]
    if fields.business_phones:
        values[change.names.business_phones] = [stored_text(each) for each in fields.business_phones]
    return values


def _place(change: Change) -> Values:
    place, names = change.wanted.place, change.names
    if place is None:
        return {}
    features = {names.feature: with_features(change.present(names.feature), place)}
    return features if place.capacity is None else {**features, names.capacity: [str(place.capacity)]}


def _booking(change: Change) -> Values:
    kind = _KINDS.get(change.wanted.type) if change.wanted.books_automatically else None
    return {change.names.kind: [] if kind is None else [kind]}


def _automatic_reply(change: Change) -> Values:
    text = change.wanted.automatic_reply
    if text is None or sends_replies(change.wanted):
        return {}
    return {change.names.automatic_reply: [stored_text(text)]}


def _quota(change: Change) -> Values:
    quota = change.wanted.quota_megabytes
    return {} if quota is None else {change.names.quota: [str(quota)]}


def _capacity(change: Change) -> Values:
    capacity = change.wanted.capacity
    return {} if capacity is None else {change.names.capacity: [str(capacity)]}


def _visibility(change: Change) -> Values:
    is_hidden = change.wanted.is_hidden
    return {} if is_hidden is None else {change.names.hidden: [boolean(is_hidden)]}


def _aliases(change: Change) -> Values:
    return {change.names.address: [*addresses_of(change.entry, change.names), *missing_aliases(change)]}


def _senders(change: Change) -> Values:
    permissions = change.wanted.permissions
    senders = [user for user, level in permissions.items() if level is PermissionLevel.SEND_AS]
    dns = [change.users.by_id[user].dn for user in senders]
    return {change.names.send_as: _replaced(change, change.names.send_as, dns)}


def _owners(change: Change) -> Values:
    owners = [change.users.by_id[owner].dn for owner in change.wanted.owners]
    return {change.names.owner: owners} if owners else {}


# Steps without a part have no values, or those of `recorded_values`.
_PARTS: Final[Mapping[Step, Callable[[Change], Values]]] = MappingProxyType(
    {
        Step.SET_PROPERTIES: _properties,
        Step.SET_ADDRESS_FIELDS: _address_fields,
        Step.SET_PLACE: _place,
        Step.SET_BOOKING: _booking,
        Step.SET_AUTOMATIC_REPLY: _automatic_reply,
        Step.SET_QUOTA: _quota,
        Step.SET_CAPACITY: _capacity,
        Step.SET_VISIBILITY: _visibility,
        Step.SET_ALIASES: _aliases,
        Step.SET_PERMISSIONS: _senders,
        Step.SET_OWNERS: _owners,
    }
)


def _bookings(change: Change, values: Values) -> Values:
    """Return the number of concurrent bookings.

    It is one for a room, and the number of units for equipment.
    """
    names = change.names
    if names.kind not in values and names.capacity not in values:
        return {}
    if not values.get(names.kind, change.present(names.kind)):
        return {names.bookings: []}
    [capacity] = values.get(names.capacity) or [str(change.entry.number(names.capacity) or 1)]
    return {names.bookings: ["1" if change.wanted.type is MailboxType.ROOM else str(max(1, int(capacity)))]}


def _replaced(change: Change, attribute: str, wanted: Sequence[str]) -> Sequence[str]:
    """Return the values with these people instead of those named."""
    users = change.users.by_id
    named = [user for each in (*change.wanted.permissions, *change.wanted.revoked) if (user := users.get(each))]
    gone = {normalized_dn(user.dn) for user in named}
    return [*[each for each in change.present(attribute) if normalized_dn(each) not in gone], *wanted]
