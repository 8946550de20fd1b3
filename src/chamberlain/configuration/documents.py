# SPDX-License-Identifier: Apache-2.0
"""Tenants as documents, desired and current, in the form of the files."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import cast
from uuid import UUID

import msgspec
from msgspec import UnsetType

from chamberlain.changes.models import Content
from chamberlain.configuration.assignments import KnownSubject, plan_assignments, subjects_assigned
from chamberlain.configuration.connections import connection_document, plan_connection
from chamberlain.configuration.files import Configuration, ConfigurationFault, ConfigurationInvalid, TenantEntry, placed
from chamberlain.configuration.rules import (
    ChangeVerb,
    ConfigurationNoun,
    Configured,
    InUse,
    Picture,
    Plan,
    PlannedChange,
    picture_faults,
    plan_tenant,
)
from chamberlain.configuration.yaml import MOST_BYTES, write_document
from chamberlain.connections.models import Connection
from chamberlain.core.errors import Fault, FileInvalid
from chamberlain.core.fields import Shape
from chamberlain.core.ids import TenantId
from chamberlain.core.json import StoredDecoder
from chamberlain.core.values import Json
from chamberlain.guests.policies.schema import PolicyShape
from chamberlain.template_admin.documents import TemplateShape, decode_template
from chamberlain.tenants.schema import AdministratorsShape, TenantShape, from_tenant

_decode_policy = StoredDecoder(PolicyShape).decode


def wanted_picture(entry: TenantEntry) -> Picture:
    """Return the desired document of a tenant."""
    return _picture(entry.tenant, entry.templates, entry.policies)


def present_picture(configured: Configured) -> Picture:
    """Return the current document of a tenant.

    Stored rows without newer properties get their defaults.
    """
    return _picture(
        from_tenant(configured.tenant, configured.issuers),
        tuple(decode_template(each) for each in configured.templates),
        tuple(_decode_policy(each.content) for each in configured.policies),
        configured.connection,
    )


def _picture(
    tenant: TenantShape,
    templates: tuple[TemplateShape, ...] | None,
    policies: tuple[PolicyShape, ...] | None,
    connection: Connection | None = None,
) -> Picture:
    return Picture(
        tenant_id=TenantId(tenant.id),
        settings=_settings(tenant),
        templates=None if templates is None else tuple(_document(each) for each in templates),
        policies=None if policies is None else tuple(_document(each) for each in policies),
        connection=None if connection is None else connection_document(connection),
    )


def _settings(tenant: TenantShape) -> Mapping[str, Json]:
    """Sort lists without order, so that equal settings have equal documents."""
    own = tenant.administrators
    administrators = AdministratorsShape(users=tuple(sorted({*own.users})), groups=tuple(sorted({*own.groups})))
    issuers = tenant.issuers and tuple(sorted(tenant.issuers, key=lambda each: (each.issuer, each.tid or "")))
    settings = _document(msgspec.structs.replace(tenant, administrators=administrators, issuers=issuers))
    left_out = {"issuers"} if tenant.issuers is None else set()
    return {name: value for name, value in settings.items() if name not in left_out}


def _document(shape: Shape) -> dict[str, Json]:
    return cast("dict[str, Json]", msgspec.json.decode(msgspec.json.encode(shape)))


def plan_configuration(
    configuration: Configuration,
    present: Mapping[TenantId, Configured],
    subjects: Sequence[KnownSubject],
    in_use: InUse,
    *,
    hosts: Collection[str],
) -> Plan:
    """Plan the changes.

    `subjects` are those that the assignments name. `hosts` are permitted for connections. Raises ConfigurationInvalid
    with all conflicts.
    """
    faults: list[ConfigurationFault] = []
    changes: list[PlannedChange] = []
    # An issuer that one tenant of the files gives up may move to another.
    giving = {TenantId(entry.tenant.id) for entry in configuration.tenants if entry.tenant.issuers is not None}
    for entry in configuration.tenants:
        wanted, before = wanted_picture(entry), _present(present, entry)
        planned = plan_tenant(wanted, before)
        assigned = plan_assignments(
            entry, wanted, before, [each for each in subjects if each.tenant_id == entry.tenant.id]
        )
        faults.extend(placed(tuple(picture_faults(wanted, before)), entry.place))
        faults.extend(placed(assigned.faults, entry.place.top))
        others = (*_taken(entry, in_use, giving), *_still_assigned(planned, assigned.left, in_use))
        faults.extend(placed(others, entry.place))
        changes.extend(_in_order(planned, assigned.changes, in_use))
        if isinstance(entry.connection, UnsetType):
            continue
        configured = present.get(wanted.tenant_id)
        connected = plan_connection(
            wanted.tenant_id,
            entry.connection,
            None if configured is None else configured.connection,
            hosts=hosts,
            # Assignments of the same file are made in the present directory.
            manages=wanted.tenant_id in in_use.managing or bool(assigned.changes),
        )
        faults.extend(placed(connected.faults, entry.place))
        changes.extend(() if connected.change is None else (connected.change,))
    if faults:
        raise ConfigurationInvalid(faults)
    return Plan(tuple(changes))


def _present(present: Mapping[TenantId, Configured], entry: TenantEntry) -> Picture | None:
    configured = present.get(TenantId(entry.tenant.id))
    return None if configured is None else present_picture(configured)


def _taken(entry: TenantEntry, in_use: InUse, giving: AbstractSet[TenantId]) -> Iterator[Fault]:
    """Report domains and issuers of other tenants."""
    for place, domain in enumerate(entry.tenant.domains):
        if (holder := in_use.domains.get(domain)) is not None:
            sentence = "{domain} belongs to tenant {tenant}. Take it from that one first, or leave it out here."
            pointer = f"/domains/{place}"
            yield Fault.build(pointer, "domainNotVerified", sentence, domain=domain, tenant=str(holder))
    for place, issuer in enumerate(entry.tenant.issuers or ()):
        holder = in_use.issuers.get((issuer.issuer, issuer.tid))
        if holder is not None and holder != entry.tenant.id and holder not in giving:
            sentence = "Its tokens speak for tenant {tenant}. Take it from that one first, or leave it out here."
            yield Fault.build(f"/issuers/{place}", "unknownValue", sentence, tenant=str(holder))


def _in_order(
    planned: Sequence[PlannedChange], assigned: Sequence[PlannedChange], in_use: InUse
) -> Iterator[PlannedChange]:
    """Assign after templates and policies exist, and remove assigned ones last."""
    last = [each for each in planned if each.verb is ChangeVerb.REMOVE and (each.tenant_id, each.id) in in_use.assigned]
    yield from (each for each in planned if each not in last)
    yield from assigned
    yield from last


def _still_assigned(planned: Sequence[PlannedChange], left: Mapping[UUID, int], in_use: InUse) -> Iterator[Fault]:
    sentence = (
        'The {type} "{name}" ({id}) is not in this list and is assigned to groups or sites. Put it back, or clear it '
        "there first (`assignments`)."
    )
    for change in planned:
        if change.verb is not ChangeVerb.REMOVE:
            continue
        if in_use.assigned.get((change.tenant_id, change.id), 0) > left.get(change.id, 0):
            pointer = "/templates" if change.noun is ConfigurationNoun.TEMPLATE else "/policies"
            noun, id_ = str(change.noun), str(change.id)
            yield Fault.build(pointer, "inUse", sentence, type=noun, name=change.name, id=id_)


_HEAD = """\
# Tenants with their templates and policies. Data of the embedded directory and identity platform is not included.
# Secrets are not included either: webhooks and connections without a secret keep their current one.
"""


class ConfigurationTooLarge(FileInvalid):
    """The file would exceed the size limit of files."""


def write_configuration(pictures: Sequence[Picture], subjects: Sequence[KnownSubject]) -> str:
    """Write documents as a configuration file. Raises ConfigurationTooLarge.

    `subjects` are those whose assignments are written.
    """
    text = _HEAD + write_document({"tenants": [_file_document(each, subjects) for each in pictures]})
    if (size := len(text.encode())) > MOST_BYTES:
        advice = "Export one tenant at a time (--tenant), or leave out the assignments (--without-assignments)."
        raise ConfigurationTooLarge(f"The file would have {size} bytes, and one of {MOST_BYTES} is read. {advice}")
    return text


def _file_document(picture: Picture, subjects: Sequence[KnownSubject]) -> Json:
    issuers = picture.settings.get("issuers")
    members = {name: value for name, value in picture.settings.items() if name != "issuers"}
    lists = {"templates": _identified(picture.templates), "policies": _identified(picture.policies)}
    assigned = list(subjects_assigned([each for each in subjects if each.tenant_id == picture.tenant_id]))
    # An empty list would say nothing.
    assignments = {"assignments": assigned} if assigned else {}
    # Null would remove the connection.
    connection = {} if picture.connection is None else {"connection": dict(picture.connection)}
    return _without_nulls({**members, "issuers": issuers, **connection, **lists, **assignments})


def _identified(things: Sequence[Content] | None) -> list[Content]:
    """Put the identifying properties first."""
    first = ("id", "kind", "name")
    return [{**{name: each[name] for name in first if name in each}, **each} for each in things or ()]


def _without_nulls(value: object) -> Json:
    """Remove nulls, which are absent in a file."""
    match value:
        case dict():
            return {str(name): _without_nulls(each) for name, each in value.items() if each is not None}
        case list():
            return [_without_nulls(each) for each in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            raise TypeError(f"{value!r} is nothing that JSON can hold.")
