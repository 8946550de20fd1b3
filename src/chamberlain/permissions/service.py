# SPDX-License-Identifier: Apache-2.0
"""Report held, used and needed permissions."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from chamberlain.auth.authorization import Authorization
from chamberlain.auth.models import ActorType, Caller, ClientNames
from chamberlain.auth.permissions import Operation
from chamberlain.core.errors import TryAgain
from chamberlain.core.ids import TenantId, UserId
from chamberlain.core.json import StoredDecoder
from chamberlain.database.transactions import Database
from chamberlain.directory.features import Feature
from chamberlain.directory.models import PeopleQuestion
from chamberlain.directory.port import People
from chamberlain.guests.policies import records as policy_records
from chamberlain.guests.policies.models import StoredPolicy
from chamberlain.guests.policies.schema import PolicyShape, to_policy_rules
from chamberlain.permissions import store
from chamberlain.permissions.models import Needer, NeederKind, PermissionReport, PermissionUse
from chamberlain.permissions.rules import (
    caller_permissions,
    directory_permissions,
    policy_features,
    template_features,
)
from chamberlain.templates import records as template_records
from chamberlain.templates.models import StoredTemplate

# Days of a report, today included.
REPORTED: Final = timedelta(days=30)
# Callers of one report, the newest ones. Each takes about a kilobyte.
MOST_CALLERS: Final = 1_000
_decode_policy = StoredDecoder(PolicyShape).decode


@dataclass(frozen=True, slots=True)
class PermissionService:
    """Report permissions. `required` returns those of features in the directory.

    Every method raises Forbidden for callers who are not administrators, and Unavailable.
    """

    database: Database
    authorization: Authorization
    people: People
    client_names: ClientNames
    required: Callable[[Iterable[Feature]], Sequence[str]]
    now: Callable[[], datetime]

    async def report(self, caller: Caller) -> PermissionReport:
        """Report the permissions of the last 30 days."""
        await self.authorization.require(caller, Operation.ADMINISTER_SERVICE)
        tenant_id = caller.tenant_id
        since = (self.now().astimezone(UTC) - REPORTED + timedelta(days=1)).date()
        async with self.database.transaction(tenant_id) as tx:
            uses = await store.read(tx, tenant_id, since, most=MOST_CALLERS)
            templates = await template_records.find_of(tx, [tenant_id])
            policies = await policy_records.find_all(tx, [tenant_id])
        callers = caller_permissions(uses, await self._names(tenant_id, uses))
        features = [*map(features_of_template, templates), *map(features_of_policy, policies)]
        needs = [(needer, self.required(used)) for needer, used in features]
        return PermissionReport(callers, len(callers) == MOST_CALLERS, directory_permissions(needs))

    async def _names(self, tenant_id: TenantId, uses: Collection[PermissionUse]) -> Mapping[UUID, str]:
        """Return the names of the callers.

        Those that the directory does not know, or while it does not answer, are missing.
        """
        users = frozenset(UserId(use.caller_id) for use in uses if use.caller_type is ActorType.USER)
        clients = await self.client_names(tenant_id)
        names = {UUID(client): name for client, name in clients.items() if _is_uuid(client)}
        try:
            answer = await self.people.look_up(PeopleQuestion(tenant_id, users=users))
        except TryAgain:
            return names
        return {**names, **{user: person.display_name for user, person in answer.people.items()}}


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def features_of_template(stored: StoredTemplate) -> tuple[Needer, frozenset[Feature]]:
    """Return a template and its features."""
    head = stored.head
    return Needer(NeederKind.TEMPLATE, head.id, head.name), template_features(head.kind)


def features_of_policy(stored: StoredPolicy) -> tuple[Needer, frozenset[Feature]]:
    """Return a policy and its features."""
    needer = Needer(NeederKind.POLICY, stored.head.id, stored.head.name)
    return needer, policy_features(to_policy_rules(_decode_policy(stored.content)))
