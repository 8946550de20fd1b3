# SPDX-License-Identifier: Apache-2.0
"""Permissions in Microsoft 365 for the templates and policies of a tenant."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import typer

from chamberlain.app.doctor.database import Opened, opened_to_look
from chamberlain.cli.errors import ExitCode
from chamberlain.cli.formats import Output
from chamberlain.cli.output import Column, Record, say
from chamberlain.connections import records as connection_records
from chamberlain.connections.models import Adapter
from chamberlain.core.ids import TenantId
from chamberlain.core.json import StoredDecoder
from chamberlain.database.transactions import Transaction
from chamberlain.directory.microsoft365.permissions import Feature, required
from chamberlain.guests.policies import records as policy_records
from chamberlain.guests.policies.models import PolicyAction, PolicyRules, StoredPolicy
from chamberlain.guests.policies.schema import PolicyShape, to_policy_rules
from chamberlain.settings import Settings
from chamberlain.templates import records as template_records
from chamberlain.templates.models import StoredTemplate, TemplateKind

_COLUMNS: Final = tuple(Column(name.upper(), name) for name in ("tenantId", "type", "name", "permission"))
_decode = StoredDecoder(PolicyShape).decode


def print_permissions(settings: Settings, output: Output) -> None:
    """Print one line for each permission of a template or policy.

    Exits 1 without the database.
    """
    found = asyncio.run(_find(settings))
    if found is None:
        say("The database cannot be read. Run `chamberlain doctor`.")
        raise typer.Exit(ExitCode.FAILED)
    output.show_records(found, _COLUMNS, "connections to Microsoft 365")


async def _find(settings: Settings) -> Sequence[Record] | None:
    async with opened_to_look(settings) as opened:
        return await permissions_in_use(opened)


async def permissions_in_use(opened: Opened) -> Sequence[Record] | None:
    """List the permissions of all tenants with Microsoft 365.

    None without the database.
    """
    if opened.worker is None:
        return None
    async with opened.worker.across_tenants() as tx:
        targets = await connection_records.find_targets(tx)
        connections = [each.connection for each in targets if each.connection.adapter is Adapter.MICROSOFT365]
        return [record for each in connections for record in await _of_tenant(tx, each.tenant_id)]


async def _of_tenant(tx: Transaction, tenant_id: TenantId) -> Sequence[Record]:
    templates = [each for each in await template_records.find_of(tx, [tenant_id]) if each.head.active]
    policies = [each for each in await policy_records.find_all(tx, [tenant_id]) if each.head.active]
    rows: list[Record] = list(_rows(tenant_id, "people", "", required([])))
    for template in templates:
        rows += _rows(tenant_id, str(template.head.kind), template.head.name, required(template_features(template)))
    for policy in policies:
        rows += _rows(tenant_id, "policy", policy.head.name, required(stored_policy_features(policy)))
    return rows


def template_features(template: StoredTemplate) -> frozenset[Feature]:
    """Return the features of a template. Templates of mailboxes have none yet."""
    match template.head.kind:
        case TemplateKind.GROUP:
            return frozenset({Feature.GROUPS})
        case TemplateKind.TEAM:
            return frozenset({Feature.TEAMS})
        case TemplateKind.GUEST:
            return frozenset({Feature.GUEST_RULES})
        case TemplateKind.SHARED | TemplateKind.EQUIPMENT | TemplateKind.ROOM:
            return frozenset()


def stored_policy_features(policy: StoredPolicy) -> frozenset[Feature]:
    """Return the features of a stored policy."""
    return policy_features(to_policy_rules(_decode(policy.content)))


def policy_features(rules: PolicyRules) -> frozenset[Feature]:
    """Return the features of the rules of a policy."""
    parts = (rules.expiry, rules.review, rules.inactivity, rules.minimum_owners)
    actions = {part.action for part in parts if part is not None}
    features = {
        PolicyAction.REMOVE: Feature.REMOVE_GUESTS,
        PolicyAction.DISABLE: Feature.DISABLE_GUESTS,
    }
    found = {feature for action, feature in features.items() if action in actions}
    return frozenset(found | ({Feature.INACTIVITY} if rules.inactivity is not None else set()))


def _rows(tenant_id: TenantId, type_: str, name: str, permissions: Iterable[str]) -> Iterator[Record]:
    for permission in permissions:
        yield {"tenantId": str(tenant_id), "type": type_, "name": name, "permission": permission}
