"""The configuration file: tenants with their templates and policies, and what the embedded products begin with.

The sections `directory` and `clients` are handed through as they are: their shapes belong to those products.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from chamberlain.rules.errors import BodyInvalid, ChamberlainError, Fault
from chamberlain.shapes.documents import DocumentInvalid, read_document
from chamberlain.shapes.mailbox_templates import MailboxTemplateShape
from chamberlain.shapes.pointers import child, parts
from chamberlain.shapes.policies import PolicyShape
from chamberlain.shapes.reading import Reader
from chamberlain.shapes.templates import ADDED_BY_THE_SERVICE, TemplateShape, read_template, template_faults
from chamberlain.shapes.tenants import TenantShape

T = TypeVar("T")

_SECTIONS = ("tenants", "directory", "clients")
_TENANT = Reader(TenantShape)
_POLICY = Reader(PolicyShape)


@dataclass(frozen=True, slots=True)
class TenantEntry:
    """A tenant with what belongs to it."""

    tenant: TenantShape
    templates: tuple[TemplateShape, ...]
    policies: tuple[PolicyShape, ...]


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a configuration file says."""

    tenants: tuple[TenantEntry, ...]
    directory: Mapping[str, object]
    clients: tuple[Mapping[str, object], ...]


@dataclass(frozen=True, slots=True)
class ConfigurationFault:
    """One thing wrong with the file: on which line and where in it, if that can be said, and how to mend it."""

    line: int | None
    path: str
    detail: str

    def __str__(self) -> str:
        place = ", ".join(part for part in (self.line and f"line {self.line}", self.path) if part)
        return f"{place}: {self.detail}" if place else self.detail


class ConfigurationInvalid(ChamberlainError):
    """The file cannot be used; the message has all faults, a line for each."""

    def __init__(self, faults: Sequence[ConfigurationFault]) -> None:
        super().__init__("\n".join(str(each) for each in faults))
        self.faults = tuple(faults)


def read_configuration(text: bytes) -> Configuration:
    """What these bytes say. Raises ConfigurationInvalid with all faults."""
    try:
        document = read_document(text)
    except DocumentInvalid as error:
        raise ConfigurationInvalid([ConfigurationFault(error.line, "", error.detail)]) from error
    faults: list[Fault] = []
    configuration = _read(document.value, faults)
    if faults:
        raise ConfigurationInvalid(sorted_by_line(faults, document.lines))
    return configuration


def sorted_by_line(faults: Iterable[Fault], lines: Mapping[str, int]) -> list[ConfigurationFault]:
    """The faults as they stand in the file, each with the line of the smallest part that is in it."""
    named = [ConfigurationFault(_line_of(each.pointer, lines), _path(each.pointer), each.detail) for each in faults]
    return sorted(named, key=lambda each: each.line or 0)


def _read(value: object, faults: list[Fault]) -> Configuration:
    sections = _object(value, "", faults)
    faults.extend(
        Fault(child("", name), "unknownProperty", f"There is no such section; known are {', '.join(_SECTIONS)}.")
        for name in sections
        if name not in _SECTIONS
    )
    tenants = _read_each(sections.get("tenants"), "/tenants", _read_tenant, faults)
    faults.extend(_doubled([(f"{pointer}/id", entry.tenant.id) for pointer, entry in tenants]))
    faults.extend(_doubled(_domains_of(tenants)))
    return Configuration(
        tenants=tuple(entry for _, entry in tenants),
        directory=_object(sections.get("directory"), "/directory", faults),
        clients=tuple(each for _, each in _read_each(sections.get("clients"), "/clients", _object, faults)),
    )


def _read_tenant(value: object, pointer: str, faults: list[Fault]) -> TenantEntry | None:
    members = _object(value, pointer, faults)
    own = {name: each for name, each in members.items() if name not in {"templates", "policies"}}
    tenant = _attempt(lambda: _TENANT.read_value(own, pointer), faults)
    templates: list[tuple[str, TemplateShape]] = _read_each(
        members.get("templates"), f"{pointer}/templates", _read_template, faults
    )
    policies = _read_each(members.get("policies"), f"{pointer}/policies", _read_policy, faults)
    faults.extend(_doubled([*_ids_of(templates), *_ids_of(policies)]))
    faults.extend(_defaults_doubled(templates))
    if tenant is None:
        return None
    faults.extend(_foreign_domains(templates, tenant))
    return TenantEntry(
        tenant=tenant,
        templates=tuple(each for _, each in templates),
        policies=tuple(each for _, each in policies),
    )


def _read_template(value: object, pointer: str, faults: list[Fault]) -> TemplateShape | None:
    template = _attempt(lambda: read_template(value, pointer=pointer), faults)
    if template is not None:
        faults.extend(template_faults(template, pointer))
    return template


def _read_policy(value: object, pointer: str, faults: list[Fault]) -> PolicyShape | None:
    members = _object(value, pointer, faults)
    own = {name: each for name, each in members.items() if name not in ADDED_BY_THE_SERVICE}
    return _attempt(lambda: _POLICY.read_value(own, pointer), faults)


def _read_each(
    value: object, pointer: str, read: Callable[[object, str, list[Fault]], T | None], faults: list[Fault]
) -> list[tuple[str, T]]:
    """Every entry of a list that could be read, with its pointer. A list that is not there is empty."""
    if value is None:
        return []
    if not isinstance(value, list):
        faults.append(Fault(pointer, "wrongType", "A list is expected here, each entry behind a dash."))
        return []
    found = [(here, read(each, here, faults)) for here, each in _placed(value, pointer)]
    return [(here, each) for here, each in found if each is not None]


def _placed(values: Sequence[T], pointer: str) -> list[tuple[str, T]]:
    return [(child(pointer, place), each) for place, each in enumerate(values)]


def _object(value: object, pointer: str, faults: list[Fault]) -> Mapping[str, object]:
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    faults.append(Fault(pointer, "wrongType", "An object is expected here, each property with a name and a colon."))
    return {}


def _attempt(read: Callable[[], T], faults: list[Fault]) -> T | None:
    try:
        return read()
    except BodyInvalid as error:
        faults.extend(error.faults)
        return None


def _doubled(placed: Iterable[tuple[str, UUID | str]]) -> Iterator[Fault]:
    first: dict[UUID | str, str] = {}
    for pointer, value in placed:
        if value in first:
            detail = f"{value} is there twice (first at {_path(first[value])}). Each may be there once."
            yield Fault(pointer, "unknownValue", detail)
        first.setdefault(value, pointer)


def _ids_of(placed: Iterable[tuple[str, TemplateShape | PolicyShape]]) -> list[tuple[str, UUID]]:
    return [(f"{pointer}/id", each.id) for pointer, each in placed]


def _domains_of(tenants: Iterable[tuple[str, TenantEntry]]) -> Iterator[tuple[str, str]]:
    for pointer, entry in tenants:
        yield from _placed(entry.tenant.domains, f"{pointer}/domains")


def _defaults_doubled(templates: Iterable[tuple[str, TemplateShape]]) -> Iterator[Fault]:
    first: dict[str, str] = {}
    for pointer, template in templates:
        if not isinstance(template, MailboxTemplateShape) or not (template.active and template.is_default):
            continue
        if template.kind in first:
            detail = f"Kind {template.kind} has a default already, at {_path(first[template.kind])}. Keep one of them."
            yield Fault(f"{pointer}/isDefault", "unknownValue", detail)
        first.setdefault(template.kind, pointer)


def _foreign_domains(templates: Iterable[tuple[str, TemplateShape]], tenant: TenantShape) -> Iterator[Fault]:
    for pointer, template in templates:
        if isinstance(template, MailboxTemplateShape) and template.domain not in {None, *tenant.domains}:
            detail = f'"{template.domain}" is no domain of the tenant: expected {" or ".join(tenant.domains)}.'
            yield Fault(f"{pointer}/domain", "domainNotVerified", detail)


def _line_of(pointer: str, lines: Mapping[str, int]) -> int | None:
    while pointer not in lines and pointer:
        pointer = pointer.rpartition("/")[0]
    return lines.get(pointer)


def _path(pointer: str) -> str:
    """A JSON Pointer as people write it: tenants[0].name."""
    return re.sub(r"\.\[", "[", ".".join(f"[{part}]" if part.isdecimal() else part for part in parts(pointer)))
