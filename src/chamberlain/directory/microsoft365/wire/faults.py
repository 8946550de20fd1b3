# SPDX-License-Identifier: Apache-2.0
"""Faults of the ports for the answers of Graph. Pure.

A status or a code decides. Where Graph has one code for several errors, the text decides: `TEXTS` has them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

from chamberlain.core.errors import Cause, ConnectionBroken, OutsideFault, Rejected, TryAgain
from chamberlain.core.reasons import Reason
from chamberlain.directory.microsoft365.operations import CREATE_GROUP, UPSERT_GROUP, Request

# Delay of a retry that Graph gives no time for: our choice.
_DEFAULT_DELAY: Final = timedelta(seconds=30)
_AWAY_DELAY: Final = timedelta(seconds=10)
# Replicas usually agree within seconds.
_NOT_YET_DELAY: Final = timedelta(seconds=20)
_BROKEN_FOR: Final = timedelta(minutes=1)
_LONGEST_DELAY: Final = timedelta(hours=1)
_CONFLICTS: Final = frozenset({409, 412})
# Operations without an object that could refuse them.
_CREATIONS: Final = frozenset({CREATE_GROUP, UPSERT_GROUP})

# Texts of errors that share their code with others, in lower case.
TEXTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        # A reference to an object that is not replicated yet ("Designing for Eventual Consistency", 24 March 2026).
        "notReplicated": "one of the objects being referenced do not exist",
        # A member or owner that is there (pnpframework, pull request 139).
        "alreadyAdded": "added object references already exist",
        # PUT of a team before Teams knows the owners of the group (team-put-teams.md).
        "noOwnerYet": "must have at least one owner",
        # A channel with this name exists, or was deleted (microsoft-graph-docs, issues 6168 and 6649).
        "nameTaken": "name already existed",
        # An unregistered schema extension in `$select` or `$filter`.
        "unknownProperty": "could not find a property named",
        # The same in a body.
        "unknownExtension": "does not exist on type 'microsoft.graph.group'",
    }
)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of Graph. Names of headers are in lower case."""

    status: int
    body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


class Refused(Rejected):
    """A refusal by Graph. Callers that know the reason replace it.

    `graph_code` is the code of Graph. `targets` are the properties that conflict with another object.
    """

    def __init__(self, request: Request, answer: Answer) -> None:
        error = answer.body.get("error")
        said: Mapping[str, Any] = error if isinstance(error, dict) else {}
        self.request = request
        self.status = answer.status
        self.graph_code = str(said.get("code") or "")
        self.message = str(said.get("message") or "")
        listed = said.get("details")
        details = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        conflicts = ("ObjectConflict", "PropertyConflict", "ConflictingObjects")
        self.targets = frozenset(str(each.get("target")) for each in details if each.get("code") in conflicts)
        super().__init__("refusedByDirectory", _sentence(self, answer))

    @property
    def is_missing(self) -> bool:
        """Return whether the object, or one in the body, does not exist."""
        return self.status == 404

    @property
    def is_denied(self) -> bool:
        """Return whether the change is not permitted.

        A permission is missing, or the object permits no such change.
        """
        return self.status == 403 and self.graph_code != "Directory_QuotaExceeded"

    @property
    def is_conflict(self) -> bool:
        """Return whether another object or write is in conflict.

        An object has the same value, or the write came first.
        """
        return bool(self.targets) or self.status in {409, 412}

    def says(self, name: str) -> bool:
        """Return whether the text is one of TEXTS."""
        return TEXTS[name] in self.message.lower()


def fault_of(request: Request, answer: Answer) -> OutsideFault:
    """Return the fault of an answer with an error."""
    status = answer.status
    if status == 429 or (status == 503 and "retry-after" in answer.headers):
        return TryAgain(delay_of(answer), Reason.build("directoryBusy"), Cause.BUSY)
    # 424: a part of a batch was not run because another one failed.
    if status >= 500 or status in {408, 424} or status < 400:
        return away()
    if status == 401:
        return ConnectionBroken(_BROKEN_FOR, Reason.build("serverRefusesCredential", server="Microsoft Graph"))
    refused = Refused(request, answer)
    if refused.says("notReplicated"):
        return not_yet()
    if refused.says("unknownExtension"):
        name = next((each for each in request.body or {} if "_" in each and "@" not in each), "")
        problem = f"The schema extension {name} is not registered in the directory."
        return ConnectionBroken(_BROKEN_FOR, Reason.build("connectionBroken", problem=problem))
    if refused.is_denied and (request.operation.is_read or request.operation in _CREATIONS):
        # Neither has another reason. A write may be refused for its object alone, and breaks nothing.
        return permission_missing(request.operation.permission)
    return refused


def again_after_conflict(fault: OutsideFault) -> OutsideFault:
    """Return the fault of a step, temporary if another write came first.

    The next attempt reads the object, and decides again.
    """
    if isinstance(fault, Refused) and fault.status in _CONFLICTS:
        return TryAgain(_AWAY_DELAY, Reason.build("directoryBusy"), Cause.BUSY)
    return fault


def delay_of(answer: Answer) -> timedelta:
    """Return the delay that Graph asks for.

    It may be missing, and in a batch it may be decimal.
    """
    try:
        delay = timedelta(seconds=float(answer.headers.get("retry-after", "")))
    except (ValueError, OverflowError):
        return _DEFAULT_DELAY
    return min(max(delay, timedelta(seconds=1)), _LONGEST_DELAY)


def away() -> TryAgain:
    """Graph does not answer. A write may be done."""
    return TryAgain(_AWAY_DELAY, Reason.build("directoryNotAvailable"), Cause.AWAY)


def not_yet(reason: Reason | None = None) -> TryAgain:
    """An earlier write is not visible yet."""
    return TryAgain(_NOT_YET_DELAY, reason or Reason.build("groupNotVisible"), Cause.NOT_YET)


def permission_missing(permission: str) -> "PermissionMissing":
    """An administrator has to grant a permission."""
    return PermissionMissing(permission)


class PermissionMissing(ConnectionBroken):
    """The application lacks a permission. Optional features do without it."""

    def __init__(self, permission: str) -> None:
        problem = f"The application permission {permission} is missing, or has no consent of an administrator."
        super().__init__(_BROKEN_FOR, Reason.build("serverRefusesAccess", server="Microsoft Graph", problem=problem))


def _sentence(refused: Refused, answer: Answer) -> str:
    said = refused.message or refused.graph_code or f"status {refused.status}"
    request_id = answer.headers.get("request-id", "")
    traced = f" (request-id {request_id})" if request_id else ""
    if refused.is_denied:
        permission = refused.request.operation.permission
        return f"Microsoft 365 does not permit this, or the permission {permission} is missing: {said}{traced}"
    return f"Microsoft 365 refused a change ({refused.status} {refused.graph_code}): {said}{traced}"
