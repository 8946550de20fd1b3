# SPDX-License-Identifier: Apache-2.0
"""Results of health checks."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class HealthState(StrEnum):
    """A fault prevents work; a warning may become one."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The result of one health check.

    `seen` and `cure` are sentences. A healthy result has no cure.
    """

    name: str
    state: HealthState
    seen: str
    cure: str | None = None


def healthy(name: str, seen: str) -> HealthCheck:
    """Report a healthy result."""
    return HealthCheck(name, HealthState.OK, seen)


def warning(name: str, seen: str, cure: str) -> HealthCheck:
    """Report a result that needs attention."""
    return HealthCheck(name, HealthState.WARNING, seen, cure)


def fault(name: str, seen: str, cure: str) -> HealthCheck:
    """Report a fault."""
    return HealthCheck(name, HealthState.FAULT, seen, cure)


def has_fault(checkups: Collection[HealthCheck]) -> bool:
    """Return whether any check found a fault."""
    return any(each.state is HealthState.FAULT for each in checkups)
