# SPDX-License-Identifier: Apache-2.0
"""The part of a configuration that administrators of a tenant may apply.

Domains, issuers, limits and the extension prefix belong to the operator. Sections of embedded products do too.
"""

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from chamberlain.configuration.files import Configuration, ConfigurationFault, Place, TenantEntry, placed
from chamberlain.configuration.rules import Configured
from chamberlain.core.errors import Fault
from chamberlain.tenants.schema import IssuerShape, TenantShape, from_tenant

_BY_OPERATOR = " An operator changes it with the same file on the machine of the service."


def own_configuration(
    configuration: Configuration, configured: Configured
) -> tuple[Configuration, tuple[ConfigurationFault, ...]]:
    """Take the entry of one tenant.

    It gets the current settings of the operator. Returns it with the faults of all else.
    """
    current = from_tenant(configured.tenant, configured.issuers)
    faults = placed(list(_section_faults(configuration)), Place(None, configuration.lines, ""))
    entries: list[TenantEntry] = []
    for entry in configuration.tenants:
        if entry.tenant.id == current.id:
            faults.extend(placed(list(_setting_faults(entry, current)), entry.place))
            entries.append(replace(entry, tenant=_with_settings(entry.tenant, current)))
        else:
            sentence = "Your token is for tenant {tenant}. Send other tenants with tokens of their own."
            fault = Fault.build("/id", "otherTenant", sentence, tenant=str(current.id))
            faults.extend(placed([fault], entry.place))
    return Configuration(tuple(entries), {}, ()), tuple(faults)


def _section_faults(configuration: Configuration) -> Iterator[Fault]:
    for name, content in (("directory", configuration.directory), ("clients", configuration.clients)):
        if content:
            sentence = "This section is for the embedded products and cannot be sent. Leave it out."
            yield Fault.build(f"/{name}", "operatorSetting", sentence)


def _setting_faults(entry: TenantEntry, current: TenantShape) -> Iterator[Fault]:
    """Report given settings of the operator that differ."""
    wanted = entry.tenant
    if set(wanted.domains) != set(current.domains):
        sentence = "The domains of the tenant are {choices}, in any order." + _BY_OPERATOR
        yield Fault.build("/domains", "operatorSetting", sentence, choices=tuple(current.domains))
    if wanted.issuers is not None and _comparable(wanted.issuers) != _comparable(current.issuers or ()):
        sentence = "The tenant has other issuers. Leave issuers out." + _BY_OPERATOR
        yield Fault.build("/issuers", "operatorSetting", sentence)
    if "extensionPrefix" in entry.given and wanted.extension_prefix != current.extension_prefix:
        sentence = "The prefix of the tenant is {prefix}." + _BY_OPERATOR
        yield Fault.build("/extensionPrefix", "operatorSetting", sentence, prefix=current.extension_prefix)
    if "limits" in entry.given and wanted.limits != current.limits:
        sentence = "The tenant has other limits. Leave limits out." + _BY_OPERATOR
        yield Fault.build("/limits", "operatorSetting", sentence)


def _with_settings(wanted: TenantShape, current: TenantShape) -> TenantShape:
    return msgspec.structs.replace(
        wanted, issuers=None, extension_prefix=current.extension_prefix, limits=current.limits
    )


def _comparable(issuers: tuple[IssuerShape, ...]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    return sorted((each.issuer, each.tid or "", sorted(each.audiences.items())) for each in issuers)
