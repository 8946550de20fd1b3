# SPDX-License-Identifier: Apache-2.0
"""Branches and filters of an LDAP directory, and marks on entries. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from chamberlain.core.ids import WRITTEN_ID
from chamberlain.directory.opensuite.attributes import DEFAULT_NAMES, PERSON_ATTRIBUTES, Attributes
from chamberlain.directory.opensuite.entry import Entry, is_below

REQUEST_ID: Final = "chamberlainRequestId"
MARK: Final = "chamberlainMark"
# The mark with the name of the extension attribute that the others belong to.
_EXTENSION: Final = "extension"
_REQUEST: Final = "requestId"


@dataclass(frozen=True, slots=True)
class Branch:
    """Entries below a name, selected by a filter."""

    base: str
    filter: str


@dataclass(frozen=True, slots=True)
class Layout:
    """The branches of a tenant.

    `guests` is a filter for people of other organisations. `licensed` is one for people with a license for teams, None
    for all but guests. `disabled` is the attribute, and its value, that blocks a sign-in. `names` are those of
    attributes of groups and mailboxes, `person` those of the properties of users, `aliases` further ones with
    addresses. `log` is the access log of slapd, None without one.
    """

    people: Branch
    groups: Branch
    mailboxes: Branch
    guests: str = "(employeeType=Guest)"
    licensed: str | None = None
    disabled: tuple[str, str] = ("pwdAccountLockedTime", "000001010000Z")
    names: Attributes = DEFAULT_NAMES
    person: Mapping[str, str] = field(default_factory=lambda: PERSON_ATTRIBUTES)
    aliases: tuple[str, ...] = ()
    log: str | None = "cn=accesslog"

    @property
    def tops(self) -> Sequence[str]:
        """Return the bases of all branches without those below another one."""
        bases = list(dict.fromkeys(branch.base for branch in (self.people, self.groups, self.mailboxes)))
        return [base for base in bases if not any(base != other and is_below(base, other) for other in bases)]

    @property
    def addresses(self) -> Sequence[str]:
        """Return the attributes with addresses, and that of user names.

        Servers may have addresses as user names. Dovecot knows neither of two entries with one name.
        """
        return tuple(dict.fromkeys((self.names.address, self.names.mail, self.names.name, *self.aliases)))


def marks_of(entry: Entry, extension: str) -> Mapping[str, str]:
    """Return the marks of an entry under an extension attribute.

    An entry has the marks of one extension. A managed entry without that name has those of every extension.
    """
    marks = dict(each.partition("=")[::2] for each in entry.all(MARK) if "=" in each)
    if marks.pop(_EXTENSION, extension) != extension:
        return {}
    request_id = entry.one(REQUEST_ID)
    return marks if request_id is None else {**marks, _REQUEST: request_id}


def extension_of(entry: Entry) -> str | None:
    """Return the extension attribute of the marks of an entry.

    None if the entry does not name it.
    """
    named = [each.partition("=")[2] for each in entry.all(MARK) if each.startswith(f"{_EXTENSION}=")]
    return named[0] if named else None


def mark_values(marks: Mapping[str, str], extension: str) -> list[str]:
    """Return the values of the attribute for marks.

    The id of the request has an attribute of its own.
    """
    others = [f"{name}={value}" for name, value in sorted(marks.items()) if name != _REQUEST]
    return [f"{_EXTENSION}={extension}", *others]


def has_other_marks(entry: Entry, extension: str) -> bool:
    """Return whether an entry has marks under another extension attribute."""
    return any(each.startswith(f"{_EXTENSION}=") and each != f"{_EXTENSION}={extension}" for each in entry.all(MARK))


def id_in(marks: Mapping[str, str], name: str) -> UUID | None:
    """Return the id in a mark.

    A mark that contains no id is ignored.
    """
    found = marks.get(name, "")
    return UUID(found) if WRITTEN_ID.fullmatch(found) else None
