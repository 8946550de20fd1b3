# SPDX-License-Identifier: Apache-2.0
"""Read configuration files.

They have tenants with templates and policies, and data of embedded products. The sections `directory` and `clients` are
passed on unchanged: the embedded products validate them.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, islice
from typing import TypeVar
from uuid import UUID

from msgspec import UNSET, UnsetType

from chamberlain.configuration.connections import read_connection
from chamberlain.configuration.yaml import Document, DocumentInvalid, Lines, read_document
from chamberlain.connections.models import ConnectionSettings
from chamberlain.core.errors import MOST_FAULTS, BodyInvalid, Fault, FileInvalid
from chamberlain.core.fields import ADDED_BY_THE_SERVICE, Name, Shape
from chamberlain.core.sentences import NO_VALUES, Values, phrase
from chamberlain.core.text import find_unreadable
from chamberlain.core.validation import Reader, join_pointer, split_pointer
from chamberlain.directory.subjects import SubjectType
from chamberlain.guests.policies.models import policy_faults
from chamberlain.guests.policies.schema import PolicyShape, to_policy_rules
from chamberlain.template_admin.documents import TemplateShape, read_template, template_faults
from chamberlain.templates.schema import MailboxTemplateShape
from chamberlain.tenants.schema import TenantShape, repair_faults

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class ConfigurationFault:
    """One fault with its file, line and path, if they are known.

    `pointer` and `code` are those of the API.
    """

    file: str | None
    line: int | None
    path: str
    detail: str
    pointer: str
    code: str
    values: Values = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        place = _joined(self.file, self.line, self.path)
        # One line for each fault, even if a file name has line breaks.
        return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", f"{place}: {self.detail}" if place else self.detail)


class ConfigurationInvalid(FileInvalid):
    """The files are invalid.

    The message has one line for each fault.
    """

    def __init__(self, faults: Sequence[ConfigurationFault]) -> None:
        super().__init__("\n".join(str(each) for each in faults))
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file.

    `lines` has the line of each part of the file.
    """

    file: str | None
    lines: Lines = field(repr=False)
    pointer: str

    def __str__(self) -> str:
        return _joined(self.file, self.line, self.path)

    @property
    def line(self) -> int | None:
        """Return the line of the smallest part around the place."""
        return self.lines.find(self.pointer)

    @property
    def path(self) -> str:
        """Return the pointer in the form `tenants[0].name`."""
        return re.sub(
            r"\.\[", "[", ".".join(f"[{part}]" if part.isdecimal() else part for part in split_pointer(self.pointer))
        )

    @property
    def top(self) -> "Place":
        """Return the whole file."""
        return Place(self.file, self.lines, "")

    def below(self, pointer: str) -> "Place":
        """Return a place below this one."""
        return Place(self.file, self.lines, self.pointer + pointer)

    def fault(self, code: str, detail: str, values: Values = NO_VALUES) -> ConfigurationFault:
        """Build a fault of this place."""
        return ConfigurationFault(self.file, self.line, self.path, detail, self.pointer, code, values)


def placed(faults: Sequence[Fault], within: Place) -> list[ConfigurationFault]:
    """Convert faults of a part to faults of the file."""
    found = [within.below(each.pointer).fault(each.code, each.detail, each.values) for each in faults]
    return sorted(found, key=lambda each: each.line or 0)


def _joined(file: str | None, line: int | None, path: str) -> str:
    return ", ".join(part for part in (file, line and f"line {line}", path) if part)


T = TypeVar("T")

# A longer list helps no reader, and each fault costs processor time.
MOST_FILE_FAULTS = 1_000
_SECTIONS = ("tenants", "directory", "clients")
_SEPARATE = frozenset({"templates", "policies", "assignments", "connection"})
_TENANT = Reader(TenantShape)
_POLICY = Reader(PolicyShape)


class AssignmentShape(Shape, frozen=True, kw_only=True):
    """A group or site, with its guest template and policy.

    Each is given by id or name. A site is given by the id of its security group, its name or its address.
    """

    group: Name | None = None
    site: Name | None = None
    template: Name | None = None
    policy: Name | None = None


_ASSIGNMENT = Reader(AssignmentShape)
# The all-zero id clears an assignment, and is the tenant of jobs without one. No object may have it.
_NOTHING = UUID(int=0)
_PLAIN_FOR_TEXT = re.compile(r"must be a string, and is (?:a whole number|a number|true or false)\.$")


@dataclass(frozen=True, slots=True)
class AssignmentEntry:
    """The whole assignment of a group or site, by ids or names."""

    type: SubjectType
    subject: str
    template: str | None
    policy: str | None
    pointer: str


@dataclass(frozen=True, slots=True)
class TenantEntry:
    """A tenant with its templates, policies and place.

    Templates or policies of None are omitted, and stay, and so does an unset connection. A connection of None is
    removed. `given` has the names of the settings in the file.
    """

    tenant: TenantShape
    templates: tuple[TemplateShape, ...] | None
    policies: tuple[PolicyShape, ...] | None
    place: Place
    assignments: tuple[AssignmentEntry, ...] = ()
    given: frozenset[str] = frozenset()
    connection: ConnectionSettings | UnsetType | None = UNSET


@dataclass(frozen=True, slots=True)
class Configuration:
    """The content of all configuration files.

    `lines` are those of a single document.
    """

    tenants: tuple[TenantEntry, ...]
    directory: Mapping[str, object]
    clients: tuple[Mapping[str, object], ...]
    lines: Lines = field(default_factory=Lines, repr=False)

    @property
    def domains(self) -> Sequence[str]:
        """Return the domains of all tenants."""
        return [domain for entry in self.tenants for domain in entry.tenant.domains]

    @property
    def issuers(self) -> Sequence[tuple[str, str | None]]:
        """Return the issuers of all tenants, each with its tid."""
        return [(each.issuer, each.tid) for entry in self.tenants for each in entry.tenant.issuers or ()]


@dataclass(frozen=True, slots=True)
class ConfigurationFile:
    """The bytes of a file, and its name unless it is alone."""

    name: str | None
    text: bytes


def read_configuration(text: bytes) -> Configuration:
    """Read one file. Raises ConfigurationInvalid with all faults."""
    return read_configurations([ConfigurationFile(None, text)])


def read_value(document: Document) -> Configuration:
    """Read a parsed document. Raises ConfigurationInvalid with all faults."""
    faults: list[ConfigurationFault] = []
    configuration = _read_value(document, None, faults)
    faults.extend(_doubled(_unique_of(configuration.tenants)))
    if faults:
        raise ConfigurationInvalid(sorted(faults, key=lambda fault: fault.line or 0))
    return replace(configuration, lines=document.lines)


def read_configurations(files: Sequence[ConfigurationFile]) -> Configuration:
    """Read several files. Raises ConfigurationInvalid with all faults."""
    faults: list[ConfigurationFault] = []
    each = [_read_file(file, faults) for file in files]
    tenants = tuple(chain.from_iterable(found.tenants for found in each))
    faults.extend(_doubled(_unique_of(tenants)))
    if faults:
        order = {file.name: place for place, file in reversed(list(enumerate(files)))}
        raise ConfigurationInvalid(sorted(faults, key=lambda fault: (order[fault.file], fault.line or 0)))
    return Configuration(
        tenants=tenants,
        directory=next((found.directory for found in each if found.directory), {}),
        clients=tuple(chain.from_iterable(found.clients for found in each)),
    )


def _read_file(file: ConfigurationFile, faults: list[ConfigurationFault]) -> Configuration:
    try:
        document = read_document(file.text)
    except DocumentInvalid as error:
        faults.append(ConfigurationFault(file.name, error.line, "", error.detail, "", "notYaml"))
        return Configuration((), {}, ())
    return _read_value(document, file.name, faults)


def _read_value(document: Document, file: str | None, faults: list[ConfigurationFault]) -> Configuration:
    top, found = Place(file, document.lines, ""), list[Fault]()
    configuration = _read(document.value, top, found)
    known = {each.pointer for each in found}
    unreadable = islice(_unreadable(document.value), MOST_FILE_FAULTS)
    found.extend(each for each in unreadable if each.pointer not in known)
    faults.extend(placed([_with_cure(each) for each in found], top))
    return configuration


def _unreadable(value: object, *path: str | int) -> Iterator[Fault]:
    """Report control characters in texts and property names of all sections.

    An escape of YAML, such as \\0, can write any character. Pointers are joined for faults only, because they are long
    in deep documents.
    """
    if isinstance(value, str) and (found := find_unreadable(value)) is not None:
        sentence = "The character {character} is not allowed here. Remove it."
        yield Fault.build(reduce(join_pointer, path, ""), "invalidText", sentence, character=f"U+{ord(found):04X}")
    elif isinstance(value, dict):
        for name, each in value.items():
            if find_unreadable(name) is not None:
                sentence = "The name of a property may not hold control characters. Remove them."
                yield Fault.build(reduce(join_pointer, (*path, name), ""), "invalidText", sentence)
            yield from _unreadable(each, *path, name)
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _unreadable(each, *path, place)


def _with_cure(fault: Fault) -> Fault:
    """Suggest quotation marks for a text that YAML reads as another type."""
    if fault.code == "wrongType" and _PLAIN_FOR_TEXT.search(fault.detail):
        return replace(fault, detail=f"{fault.detail} Put it in quotation marks.")
    return fault


def _read(value: object, top: Place, faults: list[Fault]) -> Configuration:
    sections = _object(value, "", faults)
    faults.extend(
        Fault.build(
            join_pointer("", name),
            "unknownProperty",
            "There is no such section; known are {choices}.",
            choices=tuple(_SECTIONS),
        )
        for name in sections
        if name not in _SECTIONS
    )

    def read_tenant(value: object, pointer: str, faults: list[Fault]) -> TenantEntry | None:
        return _read_tenant(value, top.below(pointer), faults)

    return Configuration(
        tenants=tuple(entry for _, entry in _read_each(sections.get("tenants"), "/tenants", read_tenant, faults)),
        directory=_object(sections.get("directory"), "/directory", faults),
        clients=tuple(each for _, each in _read_each(sections.get("clients"), "/clients", _object, faults)),
    )


def _read_tenant(value: object, place: Place, faults: list[Fault]) -> TenantEntry | None:
    pointer = place.pointer
    members = _object(value, pointer, faults)
    own = {name: each for name, each in members.items() if name not in _SEPARATE}
    tenant = _attempt(lambda: _TENANT.read_value(own, pointer), pointer, faults)
    templates: list[tuple[str, TemplateShape]] = _read_each(
        members.get("templates"), f"{pointer}/templates", _read_template, faults
    )
    policies = _read_each(members.get("policies"), f"{pointer}/policies", _read_policy, faults)
    assignments = _read_each(members.get("assignments"), f"{pointer}/assignments", _read_assignment, faults)
    connection = _read_connection(members, pointer, faults)
    things: list[tuple[str, TemplateShape | PolicyShape]] = [*templates, *policies]
    faults.extend(_ids_doubled(things, place))
    faults.extend(_defaults_doubled(templates, place))
    if tenant is None:
        return None
    faults.extend(_nothings([(pointer, tenant), *things]))
    faults.extend(_foreign_domains(templates, tenant))
    faults.extend(repair_faults(tenant.repair, f"{pointer}/repair"))
    return TenantEntry(
        tenant=tenant,
        templates=None if members.get("templates") is None else tuple(each for _, each in templates),
        policies=None if members.get("policies") is None else tuple(each for _, each in policies),
        place=place,
        assignments=tuple(each for _, each in assignments),
        given=frozenset(name for name, each in own.items() if each is not None),
        connection=connection,
    )


def _read_template(value: object, pointer: str, faults: list[Fault]) -> TemplateShape | None:
    template = _attempt(lambda: read_template(value, pointer=pointer), pointer, faults)
    if template is not None:
        faults.extend(template_faults(template, pointer))
    return template


def _read_policy(value: object, pointer: str, faults: list[Fault]) -> PolicyShape | None:
    members = _object(value, pointer, faults)
    own = {name: each for name, each in members.items() if name not in ADDED_BY_THE_SERVICE}
    policy = _attempt(lambda: _POLICY.read_value(own, pointer), pointer, faults)
    if policy is not None:
        faults.extend(policy_faults(to_policy_rules(policy), pointer))
    return policy


def _read_assignment(value: object, pointer: str, faults: list[Fault]) -> AssignmentEntry | None:
    shape = _attempt(lambda: _ASSIGNMENT.read_value(value, pointer), pointer, faults)
    match shape:
        case None:
            return None
        case AssignmentShape(group=str(group), site=None):
            return AssignmentEntry(SubjectType.GROUP, group, shape.template, shape.policy, pointer)
        case AssignmentShape(group=None, site=str(site)):
            return AssignmentEntry(SubjectType.SITE, site, shape.template, shape.policy, pointer)
        case AssignmentShape():
            code = "missingProperty" if shape.group is None else "ruleInvalid"
            sentence = "An assignment needs either a group or a site. Write one of them, by id or name."
            faults.append(Fault.build(pointer, code, sentence))
            return None


def _read_connection(
    members: Mapping[str, object], tenant: str, faults: list[Fault]
) -> ConnectionSettings | UnsetType | None:
    """Read the connection of a tenant, unset if it is missing.

    Only an explicit null is none: it removes the connection.
    """
    if "connection" not in members:
        return UNSET
    pointer = f"{tenant}/connection"
    return _attempt(lambda: read_connection(members["connection"], pointer), pointer, faults)


def _read_each(
    value: object, pointer: str, read: Callable[[object, str, list[Fault]], T | None], faults: list[Fault]
) -> list[tuple[str, T]]:
    """Read the valid entries of a list, each with its pointer.

    A missing list is empty.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        sentence = "A list is expected here, each entry behind a dash."
        faults.append(Fault.build(pointer, "wrongType", sentence))
        return []
    found: list[tuple[str, T]] = []
    for here, each in _placed(value, pointer):
        if len(faults) > MOST_FILE_FAULTS:
            faults.append(Fault.build(pointer, "invalidBody", "There may be more errors below. Fix those first."))
            break
        if (entry := read(each, here, faults)) is not None:
            found.append((here, entry))
    return found


def _placed(values: Sequence[T], pointer: str) -> list[tuple[str, T]]:
    return [(join_pointer(pointer, place), each) for place, each in enumerate(values)]


def _object(value: object, pointer: str, faults: list[Fault]) -> Mapping[str, object]:
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    sentence = "An object is expected here, each property with a name and a colon."
    faults.append(Fault.build(pointer, "wrongType", sentence))
    return {}


def _attempt(read: Callable[[], T], pointer: str, faults: list[Fault]) -> T | None:
    try:
        return read()
    except BodyInvalid as error:
        faults.extend(error.faults)
        if error.are_truncated:
            sentence = "This part has more than {max} faults. Fix those above first."
            faults.append(Fault.build(pointer, "invalidBody", sentence, max=MOST_FAULTS))
        return None


def _unique_of(tenants: Iterable[TenantEntry]) -> Iterator[tuple[Place, str, Hashable]]:
    """List the values that must be unique in all files.

    Each has its name in messages.
    """
    for entry in tenants:
        tenant, place = entry.tenant, entry.place
        yield place.below("/id"), str(tenant.id), tenant.id
        for pointer, domain in _placed(tenant.domains, "/domains"):
            yield place.below(pointer), domain, domain
        for pointer, issuer in _placed(tenant.issuers or (), "/issuers"):
            called = issuer.issuer if issuer.tid is None else f"{issuer.issuer} with tid {issuer.tid}"
            yield place.below(pointer), called, (issuer.issuer, issuer.tid)


def _doubled(unique: Iterable[tuple[Place, str, Hashable]]) -> Iterator[ConfigurationFault]:
    first: dict[Hashable, Place] = {}
    for place, called, value in unique:
        if value in first:
            values = {"value": called, "first": _first_place(first[value], place)}
            sentence = "{value} is there twice (first at {first}). Each may be there once."
            yield place.fault("unknownValue", phrase(sentence, values), values)
        first.setdefault(value, place)


def _first_place(first: Place, second: Place) -> str:
    return f"{Place(None, first.lines, first.pointer)}" if first.file == second.file else f"{first}"


def _ids_doubled(things: Iterable[tuple[str, TemplateShape | PolicyShape]], within: Place) -> Iterator[Fault]:
    first: dict[UUID, Place] = {}
    for pointer, thing in things:
        place = Place(within.file, within.lines, f"{pointer}/id")
        if thing.id in first:
            sentence = "{value} is there twice (first at {first}). Each may be there once."
            where = _first_place(first[thing.id], place)
            yield Fault.build(place.pointer, "unknownValue", sentence, value=str(thing.id), first=where)
        first.setdefault(thing.id, place)


def _nothings(things: Iterable[tuple[str, TenantShape | TemplateShape | PolicyShape]]) -> Iterator[Fault]:
    for pointer, thing in things:
        if thing.id == _NOTHING:
            yield Fault.build(f"{pointer}/id", "malformedId", "The all-zero id is reserved. Choose another.")


def _defaults_doubled(templates: Iterable[tuple[str, TemplateShape]], within: Place) -> Iterator[Fault]:
    first: dict[str, Place] = {}
    for pointer, template in templates:
        if not isinstance(template, MailboxTemplateShape) or not (template.active and template.is_default):
            continue
        if template.kind in first:
            sentence = "Kind {kind} has a default already, at {first}. Keep one of them."
            path = first[template.kind].path
            yield Fault.build(f"{pointer}/isDefault", "unknownValue", sentence, kind=str(template.kind), first=path)
        first.setdefault(template.kind, Place(within.file, within.lines, pointer))


def _foreign_domains(templates: Iterable[tuple[str, TemplateShape]], tenant: TenantShape) -> Iterator[Fault]:
    for pointer, template in templates:
        if not isinstance(template, MailboxTemplateShape):
            continue
        for name, domain in (("domain", template.domain), ("defaults/domain", template.defaults.domain)):
            if domain and domain.lower() not in tenant.domains:
                sentence = '"{domain}" is no domain of the tenant: expected one of {choices}.'
                choices = tuple(tenant.domains)
                yield Fault.build(f"{pointer}/{name}", "domainNotVerified", sentence, domain=domain, choices=choices)
