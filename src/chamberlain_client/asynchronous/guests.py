# SPDX-License-Identifier: Apache-2.0
"""Guest rules: policies, assignments to groups and sites, findings."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Generic, Literal, TypeVar, overload

from msgspec import UNSET, UnsetType

from chamberlain_client import operations
from chamberlain_client.asynchronous.transport import AsyncPages, AsyncResource, AsyncTransport
from chamberlain_client.calls import Id, build_change, build_get, build_post, encode_ids, format_time, parse_id
from chamberlain_client.models import (
    DryRunAssignment,
    Finding,
    FindingKind,
    FindingState,
    Managed,
    ManagedGroup,
    ManagedSite,
    NewPolicy,
    Policy,
    Request,
    SimulatedPolicy,
)
from chamberlain_client.operations import Operation
from chamberlain_client.responses import Response, decode, with_etag

M = TypeVar("M", bound=Managed)
PolicyBody = NewPolicy | Policy | Mapping[str, object]


class AsyncPolicies(AsyncResource):
    """Guest policies: expiry, review, inactivity, minimum of owners."""

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> AsyncPages[Policy]:
        """List all policies, active or not, newest first."""
        return self._list(Policy, operations.LIST_POLICIES, limit=limit, cursor=cursor)

    async def create(self, policy: PolicyBody, *, idempotency_key: str | None = None) -> Policy:
        """Create a policy. Raises NotPossible."""
        call = build_post(operations.CREATE_POLICY, body=policy, key=idempotency_key)
        return _read(await self._transport.send(call))

    async def get(self, policy_id: Id) -> Policy:
        """Read one policy with its `etag`. Raises NotFound."""
        return _read(await self._transport.send(build_get(operations.READ_POLICY, policy_id)))

    async def replace(self, policy_id: Id, policy: PolicyBody, *, if_match: str | None = None) -> Policy:
        """Replace a policy as a whole.

        You can send a policy that you have read and changed. Raises NotFound, NotPossible, and Stale if `if_match` is
        not its version any more.
        """
        call = build_change(operations.REPLACE_POLICY, policy_id, body=policy, if_match=if_match)
        return _read(await self._transport.send(call))

    async def delete(self, policy_id: Id, *, if_match: str | None = None) -> None:
        """Delete a policy.

        Raises NotFound, Stale, and Conflict if it is in use.
        """
        await self._transport.send(build_change(operations.DELETE_POLICY, policy_id, if_match=if_match))

    async def simulate(
        self, policy_id: Id, *, group_ids: Sequence[Id] | None = None, site_ids: Sequence[Id] | None = None
    ) -> SimulatedPolicy:
        """Simulate a policy from now on; nothing changes.

        By default, it covers all groups and sites. Raises NotFound, and NotPossible for unknown groups.
        """
        chosen = {"groupIds": group_ids, "siteIds": site_ids}
        body = {name: [parse_id(each) for each in ids] for name, ids in chosen.items() if ids is not None}
        return await self._post(SimulatedPolicy, operations.SIMULATE_POLICY, policy_id, body=body, key=None)


class AsyncSubjects(AsyncResource, Generic[M]):
    """Groups or sites with their guest rules.

    The id of a site is that of its security group.
    """

    def __init__(
        self, transport: AsyncTransport, type_: type[M], *, lists: Operation, reads: Operation, assigns: Operation
    ) -> None:
        super().__init__(transport)
        self._type = type_
        self._lists = lists
        self._reads = reads
        self._assigns = assigns

    def list(
        self,
        *,
        assigned: bool | None = None,
        template_id: Id | None = None,
        policy_id: Id | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[M]:
        """List by display name.

        `q` is a prefix of the name; `limit` is the size of a page.
        """
        query = {"assigned": assigned, "templateId": template_id, "policyId": policy_id, "q": q}
        return self._list(self._type, self._lists, **query, limit=limit, cursor=cursor)

    async def get(self, id_: Id) -> M:
        """Read one group or site with the `etag` of its assignment.

        Raises NotFound.
        """
        return self._decode(await self._transport.send(build_get(self._reads, id_)))

    @overload
    async def assign(
        self,
        id_: Id,
        *,
        template_id: Id | UnsetType | None = UNSET,
        policy_id: Id | UnsetType | None = UNSET,
        if_match: str | None = None,
        dry_run: Literal[False] = False,
    ) -> M: ...

    @overload
    async def assign(
        self,
        id_: Id,
        *,
        template_id: Id | UnsetType | None = UNSET,
        policy_id: Id | UnsetType | None = UNSET,
        if_match: str | None = None,
        dry_run: Literal[True],
    ) -> DryRunAssignment: ...

    async def assign(
        self,
        id_: Id,
        *,
        template_id: Id | UnsetType | None = UNSET,
        policy_id: Id | UnsetType | None = UNSET,
        if_match: str | None = None,
        dry_run: bool = False,
    ) -> M | DryRunAssignment:
        """Assign a guest template, a guest policy, or both.

        None clears; UNSET keeps. With `dry_run` nothing changes. The effects follow, as the request
        `assignment_request_id`. Raises NotFound, NotPossible, and Stale if `if_match` is not the version of the
        assignment any more.
        """
        body = encode_ids({"templateId": template_id, "policyId": policy_id})
        call = build_change(self._assigns, id_, body=body, if_match=if_match, dry_run=dry_run)
        response = await self._transport.send(call)
        return decode(response, DryRunAssignment) if dry_run else self._decode(response)

    def _decode(self, response: Response) -> M:
        return with_etag(decode(response, self._type), response)


class AsyncManagedGroups(AsyncSubjects[ManagedGroup]):
    """All groups of the directory except the security groups of managed sites."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(
            transport,
            ManagedGroup,
            lists=operations.LIST_MANAGED_GROUPS,
            reads=operations.READ_MANAGED_GROUP,
            assigns=operations.ASSIGN_TO_GROUP,
        )

    def list(
        self,
        *,
        assigned: bool | None = None,
        template_id: Id | None = None,
        policy_id: Id | None = None,
        q: str | None = None,
        metadata_key: str | None = None,
        metadata_value: str | bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[ManagedGroup]:
        """List by display name.

        `q` is a prefix of the name, `metadata_key` a key of the metadata with any value, or with `metadata_value`.
        `limit` is the size of a page.
        """
        query = {
            "assigned": assigned,
            "templateId": template_id,
            "policyId": policy_id,
            "q": q,
            "metadataKey": metadata_key,
            "metadataValue": metadata_value,
        }
        return self._list(ManagedGroup, operations.LIST_MANAGED_GROUPS, **query, limit=limit, cursor=cursor)


class AsyncManagedSites(AsyncSubjects[ManagedSite]):
    """Sites, each addressed by its security group."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(
            transport,
            ManagedSite,
            lists=operations.LIST_MANAGED_SITES,
            reads=operations.READ_MANAGED_SITE,
            assigns=operations.ASSIGN_TO_SITE,
        )


class AsyncFindings(AsyncResource):
    """Violations of guest rules, and drift."""

    def list(
        self,
        *,
        state: FindingState | str | None = None,
        kind: FindingKind | str | None = None,
        subject_id: Id | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[Finding]:
        """List findings, of all or of one group or site, newest first.

        `limit` is the size of a page.
        """
        query = {"state": state, "kind": kind, "subjectId": subject_id, "limit": limit, "cursor": cursor}
        return self._list(Finding, operations.LIST_FINDINGS, **query)

    async def accept(
        self,
        finding_id: Id,
        reason: str,
        *,
        until: datetime | UnsetType = UNSET,
        idempotency_key: str | None = None,
    ) -> Finding:
        """Accept a finding until a time, or for good.

        Raises NotFound, and Conflict if it is gone.
        """
        body = {"reason": reason} if isinstance(until, UnsetType) else {"reason": reason, "until": format_time(until)}
        return await self._post(Finding, operations.ACCEPT_FINDING, finding_id, body=body, key=idempotency_key)

    async def ignore(
        self, finding_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Finding:
        """Ignore the observed value of a finding, until another value is observed.

        Raises NotFound, and Conflict if it is closed or not about drift.
        """
        return await self._act(Finding, operations.IGNORE_FINDING, finding_id, comment=comment, key=idempotency_key)

    async def repair(
        self, finding_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Request:
        """Request the repair of a finding, and return the request to follow.

        Raises NotFound, and Conflict if no repair is possible or one is running.
        """
        return await self._act(Request, operations.REPAIR_FINDING, finding_id, comment=comment, key=idempotency_key)

    async def confirm(
        self, finding_id: Id, *, comment: str | UnsetType = UNSET, idempotency_key: str | None = None
    ) -> Finding:
        """Confirm the guest of a review.

        Raises NotFound, and Conflict if there is no open review. Callers who may not confirm get NotFound too.
        """
        return await self._act(Finding, operations.CONFIRM_FINDING, finding_id, comment=comment, key=idempotency_key)


def _read(response: Response) -> Policy:
    return with_etag(decode(response, Policy), response)
