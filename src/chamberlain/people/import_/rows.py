# SPDX-License-Identifier: Apache-2.0
"""People of a CSV or LDIF file as bodies of SCIM."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from uuid import UUID

from chamberlain.cli.import_.table import FileFault, Table, unknown_column
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.core.text import find_unreadable
from chamberlain.people.import_.ldif import Entry

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
# As in docs/reference/scim.md.
_MOST_CHARACTERS = 1024

# Where the value of a column is in the body: (attribute,), (attribute, part) or (attribute, type, part) of one value.
_PLACES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "userName": ("userName",),
        "externalId": ("externalId",),
        "displayName": ("displayName",),
        "givenName": ("name", "givenName"),
        "familyName": ("name", "familyName"),
        "title": ("title",),
        "userType": ("userType",),
        "preferredLanguage": ("preferredLanguage",),
        "email": ("emails", "work", "value"),
        "phone": ("phoneNumbers", "work", "value"),
        "mobile": ("phoneNumbers", "mobile", "value"),
        "streetAddress": ("addresses", "work", "streetAddress"),
        "locality": ("addresses", "work", "locality"),
        "region": ("addresses", "work", "region"),
        "postalCode": ("addresses", "work", "postalCode"),
        "country": ("addresses", "work", "country"),
        "department": (ENTERPRISE, "department"),
        "organization": (ENTERPRISE, "organization"),
        "division": (ENTERPRISE, "division"),
        "costCenter": (ENTERPRISE, "costCenter"),
        "employeeNumber": (ENTERPRISE, "employeeNumber"),
    }
)
COLUMNS = ("id", *_PLACES, "active", "manager")
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class PersonRow:
    """A person of a file.

    `body` has the attributes of SCIM. `id` names an existing user. `manager` is a user name, an external id or an id.
    """

    line: int
    body: Mapping[str, object]
    id: str | None = None
    manager: str | None = None

    @property
    def name(self) -> str:
        """Return the user name."""
        return str(self.body["userName"])

    @property
    def content(self) -> object:
        """Return what makes the row different from others."""
        return [self.body, self.id, self.manager]

    @property
    def keys(self) -> frozenset[str]:
        """Return the names of this person as a manager."""
        named = (self.body.get("userName"), self.body.get("externalId"), self.id)
        return frozenset(str(one).casefold() for one in named if one is not None)


def read_table_rows(table: Table) -> tuple[Sequence[PersonRow], Sequence[FileFault]]:
    """Return the valid rows of a CSV file, and all faults."""
    faults = [*table.faults, *_column_faults(table)]
    if any(fault.column is not None or fault.line == 1 for fault in faults):
        return (), sorted(faults, key=lambda fault: fault.line)
    return _rows([(row.line, row.cells) for row in table.rows], faults)


def _column_faults(table: Table) -> Iterator[FileFault]:
    for name in table.columns:
        if name and name not in COLUMNS:
            yield FileFault(1, name, unknown_column("A person", name, COLUMNS))
    if table.columns and "userName" not in table.columns:
        yield FileFault(1, "userName", "This column is missing; every person needs it.")


def _rows(
    cells: Sequence[tuple[int, Mapping[str, str]]], faults: list[FileFault]
) -> tuple[Sequence[PersonRow], Sequence[FileFault]]:
    rows: list[PersonRow] = []
    first: dict[tuple[str, str], int] = {}
    for line, values in cells:
        found = [*_value_faults(line, values), *_repeated(line, values, first)]
        faults += found
        if not found:
            rows.append(_person(line, values))
    return rows, sorted(faults, key=lambda fault: fault.line)


def _value_faults(line: int, values: Mapping[str, str]) -> Iterator[FileFault]:
    if not values.get("userName", "").strip():
        yield FileFault(line, "userName", "The user name is missing.")
    for name, value in values.items():
        if len(value) > _MOST_CHARACTERS:
            yield FileFault(line, name, f"A value has at most {_MOST_CHARACTERS} characters.")
        if (character := find_unreadable(value)) is not None:
            yield FileFault(line, name, f"The character U+{ord(character):04X} is not allowed. Remove it.")
    if "active" in values and values["active"].strip().lower() not in _BOOLEANS:
        yield FileFault(line, "active", f"{values['active']!r} is neither true nor false.")
    if "id" in values and WRITTEN_ID.fullmatch(values["id"].strip()) is None:
        yield FileFault(line, "id", f"{values['id']!r} is no id.")


def _repeated(line: int, values: Mapping[str, str], first: dict[tuple[str, str], int]) -> Iterator[FileFault]:
    for name in ("userName", "externalId", "id"):
        value = values.get(name, "").strip()
        if value and (before := first.setdefault((name, value.casefold()), line)) != line:
            yield FileFault(line, name, f"This {name} is in line {before} already. Keep one of the rows.")


def _person(line: int, values: Mapping[str, str]) -> PersonRow:
    body: dict[str, object] = {}
    for name, place in _PLACES.items():
        if value := values.get(name, "").strip():
            _put(body, place, value)
    if "active" in values:
        body["active"] = _BOOLEANS[values["active"].strip().lower()]
    id_, manager = values.get("id", "").strip().lower(), values.get("manager", "").strip()
    return PersonRow(line, body, id_ or None, manager or None)


def _put(body: dict[str, object], place: tuple[str, ...], value: str) -> None:
    if len(place) == 1:
        body[place[0]] = value
        return
    if len(place) == 2:
        inner = body.setdefault(place[0], {})
        if isinstance(inner, dict):
            inner[place[1]] = value
        return
    attribute, type_, part = place
    listed = body.setdefault(attribute, [])
    if not isinstance(listed, list):
        return
    for one in listed:
        if one["type"] == type_:
            one[part] = value
            return
    listed.append({"type": type_, part: value})


# The attributes of LDAP for each column, the first with a value counts: RFC 2798 (inetOrgPerson), RFC 4519 and those
# of Active Directory.
_OF_LDAP: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "userName": ("userprincipalname", "mail", "uid"),
        "displayName": ("displayname", "cn"),
        "givenName": ("givenname",),
        "familyName": ("sn",),
        "title": ("title",),
        "preferredLanguage": ("preferredlanguage",),
        "email": ("mail",),
        "phone": ("telephonenumber",),
        "mobile": ("mobile",),
        "streetAddress": ("street", "streetaddress"),
        "locality": ("l",),
        "region": ("st",),
        "postalCode": ("postalcode",),
        "country": ("c", "co"),
        "department": ("department", "departmentnumber", "ou"),
        "organization": ("o", "company"),
        "employeeNumber": ("employeenumber", "employeeid"),
    }
)
_PERSON_CLASSES = frozenset({b"person", b"organizationalperson", b"inetorgperson", b"user"})
_NO_PERSON_CLASSES = frozenset({b"computer"})
# The bit of userAccountControl for a disabled account, by the reference of Active Directory.
_DISABLED = 0x2
# Active Directory has 32 bits.
_CONTROL = re.compile("[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class LdifPeople:
    """The people of an LDIF file, and the number of others."""

    rows: Sequence[PersonRow]
    others: int


def read_entries(entries: Sequence[Entry], faults: Sequence[FileFault]) -> tuple[LdifPeople, Sequence[FileFault]]:
    """Return the people among the entries, and all faults."""
    people = [one for one in entries if _is_person(one)]
    names: dict[str, str] = {}
    for entry in people:
        if (name := _text_or_none(entry, *_OF_LDAP["userName"])) is not None:
            names[_normal(entry.dn)] = name
    found: list[FileFault] = list(faults)
    cells: list[tuple[int, Mapping[str, str]]] = []
    for entry in people:
        try:
            cells.append((entry.line, _cells(entry, names)))
        except UnicodeDecodeError:
            found.append(FileFault(entry.line, None, f"{entry.dn} has a value that is not UTF-8."))
        except _ManagerUnknown as error:
            found.append(FileFault(entry.line, "manager", str(error)))
    rows, found_all = _rows(cells, found)
    if not people and not found_all:
        found_all = [FileFault(1, None, "No entry has the objectClass person, inetOrgPerson or user.")]
    return LdifPeople(rows, len(entries) - len(people)), found_all


class _ManagerUnknown(Exception):
    """The manager of an entry is not in the file."""


def _is_person(entry: Entry) -> bool:
    classes = {one.strip().lower() for one in entry.values.get("objectclass", ())}
    return bool(classes & _PERSON_CLASSES) and not classes & _NO_PERSON_CLASSES


def _cells(entry: Entry, names: Mapping[str, str]) -> Mapping[str, str]:
    cells = {column: text for column, attributes in _OF_LDAP.items() if (text := entry.text(*attributes)) is not None}
    if (external_id := _external_id(entry)) is not None:
        cells["externalId"] = external_id
    if (is_active := _is_active(entry)) is not None:
        cells["active"] = "true" if is_active else "false"
    manager = entry.text("manager")
    if manager is not None:
        if _normal(manager) not in names:
            raise _ManagerUnknown(
                f"The manager {manager} is no person of this file. Add the entry, or remove the line."
            )
        cells["manager"] = names[_normal(manager)]
    return cells


def _external_id(entry: Entry) -> str | None:
    """Return the id of the entry in its directory.

    It is `entryUUID` (RFC 4530), or `objectGUID` of Active Directory.
    """
    if (text := entry.text("entryuuid")) is not None:
        return text.lower()
    for value in entry.values.get("objectguid", ()):
        if len(value) == 16:
            return str(UUID(bytes_le=value))
    return None


def _is_active(entry: Entry) -> bool | None:
    """Return whether the account is enabled; None if unknown."""
    locked, control = entry.text("nsaccountlock"), entry.text("useraccountcontrol")
    if locked is not None:
        return locked.lower() != "true"
    if control is not None and _CONTROL.fullmatch(control):
        return not int(control) & _DISABLED
    return None


def _text_or_none(entry: Entry, *names: str) -> str | None:
    try:
        return entry.text(*names)
    except UnicodeDecodeError:
        return None


def _normal(dn: str) -> str:
    """Normalize spaces around commas, and letter case."""
    return ",".join(part.strip() for part in dn.split(",")).casefold()
