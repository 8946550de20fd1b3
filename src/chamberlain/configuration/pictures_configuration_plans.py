"""The plan of what configuration files ask for; what cannot be done is told with its place in them."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain

from chamberlain.configuration.files import Configuration, TenantEntry
from chamberlain.configuration.files_configuration_faults import ConfigurationFault, ConfigurationInvalid
from chamberlain.configuration.pictures import present_picture, wanted_picture
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
from chamberlain.core.ids import TenantId


def plan_configuration(configuration: Configuration, present: Mapping[TenantId, Configured], in_use: InUse) -> Plan:
    """What has to be done. Raises ConfigurationInvalid with everything that cannot be."""
    faults: list[ConfigurationFault] = []
    changes: list[PlannedChange] = []
    # What a tenant of the files gives up another one of them may have.
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
    """What there is one of, and another tenant has."""
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
