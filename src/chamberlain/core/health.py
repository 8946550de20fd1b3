"""Results of health checks."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class HealthState(StrEnum):
    """How something stands: a fault is in the way of somebody's work, a warning may come to be."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One thing that was looked at. `seen` and `cure` are sentences; nothing is to be done where all is well."""

    name: str
    state: HealthState
    seen: str
    cure: str | None = None


def healthy(name: str, seen: str) -> HealthCheck:
    """Nothing is to be done."""
    return HealthCheck(name, HealthState.OK, seen)


def warning(name: str, seen: str, cure: str) -> HealthCheck:
    """It works, and somebody should know."""
    return HealthCheck(name, HealthState.WARNING, seen, cure)


def fault(name: str, seen: str, cure: str) -> HealthCheck:
    """Something does not work, or will not."""
    return HealthCheck(name, HealthState.FAULT, seen, cure)


def has_fault(checkups: Collection[HealthCheck]) -> bool:
    """Whether somebody has to do something."""
    return any(each.state is HealthState.FAULT for each in checkups)
