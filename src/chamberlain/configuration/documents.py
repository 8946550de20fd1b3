"""Tenants as documents, desired and current, in the form of the files."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import cast

import msgspec

from chamberlain.changes.models import Content
from chamberlain.configuration.files import Configuration, ConfigurationFault, ConfigurationInvalid, TenantEntry
from chamberlain.configuration.rules import (
    Configured,
    InUse,
    Noun,
    Picture,
    Plan,
    PlannedChange,
    Verb,
    picture_faults,
    plan_tenant,
)
from chamberlain.configuration.yaml import MOST_BYTES, write_document
from chamberlain.core.errors import FileInvalid
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
    )


def _picture(
    tenant: TenantShape, templates: tuple[TemplateShape, ...] | None, policies: tuple[PolicyShape, ...] | None
) -> Picture:
    return Picture(
        tenant_id=TenantId(tenant.id),
        settings=_settings(tenant),
        templates=None if templates is None else tuple(_document(each) for each in templates),
        policies=None if policies is None else tuple(_document(each) for each in policies),
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


def plan_configuration(configuration: Configuration, present: Mapping[TenantId, Configured], in_use: InUse) -> Plan:
    """Plan the changes.

    Raises ConfigurationInvalid with all conflicts.
    """
    faults: list[ConfigurationFault] = []
    changes: list[PlannedChange] = []
    # An issuer that one tenant of the files gives up may move to another.
    giving = {TenantId(entry.tenant.id) for entry in configuration.tenants if entry.tenant.issuers is not None}
    for entry in configuration.tenants:
        wanted, before = wanted_picture(entry), _present(present, entry)
        planned = plan_tenant(wanted, before)
        faults.extend(entry.place.below(each.pointer).fault(each.detail) for each in picture_faults(wanted, before))
        faults.extend(chain(_taken(entry, in_use, giving), _still_assigned(entry, planned, in_use)))
        changes.extend(planned)
    if faults:
        raise ConfigurationInvalid(faults)
    return Plan(tuple(changes))


def _present(present: Mapping[TenantId, Configured], entry: TenantEntry) -> Picture | None:
    configured = present.get(TenantId(entry.tenant.id))
    return None if configured is None else present_picture(configured)


def _taken(entry: TenantEntry, in_use: InUse, giving: AbstractSet[TenantId]) -> Iterator[ConfigurationFault]:
    """Report domains and issuers of other tenants."""
    for place, domain in enumerate(entry.tenant.domains):
        if (holder := in_use.domains.get(domain)) is not None:
            detail = f"{domain} belongs to tenant {holder}. Take it from that one first, or leave it out here."
            yield entry.place.below(f"/domains/{place}").fault(detail)
    for place, issuer in enumerate(entry.tenant.issuers or ()):
        holder = in_use.issuers.get((issuer.issuer, issuer.tid))
        if holder is not None and holder != entry.tenant.id and holder not in giving:
            detail = f"Its tokens speak for tenant {holder}. Take it from that one first, or leave it out here."
            yield entry.place.below(f"/issuers/{place}").fault(detail)


def _still_assigned(
    entry: TenantEntry, planned: Sequence[PlannedChange], in_use: InUse
) -> Iterator[ConfigurationFault]:
    for change in planned:
        if change.verb is Verb.REMOVE and (change.tenant_id, change.id) in in_use.assigned:
            detail = (
                f'The {change.noun} "{change.name}" ({change.id}) is not in this list and is assigned to groups or '
                "sites. Put it back, or clear it there first."
            )
            yield entry.place.below("/templates" if change.noun is Noun.TEMPLATE else "/policies").fault(detail)


_HEAD = """\
# Tenants with their templates and policies. Data of the embedded directory and identity platform is not included.
# Secrets are not included either: a webhook without a secret keeps its current one.
"""


class ConfigurationTooLarge(FileInvalid):
    """The file would exceed the size limit of files."""


def write_configuration(pictures: Sequence[Picture]) -> str:
    """Write documents as a configuration file. Raises ConfigurationTooLarge."""
    text = _HEAD + write_document({"tenants": [_file_document(each) for each in pictures]})
    if (size := len(text.encode())) > MOST_BYTES:
        advice = "Export one tenant at a time (--tenant)." if len(pictures) > 1 else "It cannot be exported."
        raise ConfigurationTooLarge(f"The file would have {size} bytes, and one of {MOST_BYTES} is read. {advice}")
    return text


def _file_document(picture: Picture) -> Json:
    issuers = picture.settings.get("issuers")
    members = {name: value for name, value in picture.settings.items() if name != "issuers"}
    lists = {"templates": _identified(picture.templates), "policies": _identified(picture.policies)}
    return _without_nulls({**members, "issuers": issuers, **lists})


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
