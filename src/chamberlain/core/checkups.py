"""Results of health checks."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class CheckupState(StrEnum):
    """How something stands: a fault is in the way of somebody's work, a warning may come to be."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Checkup:
    """One thing that was looked at. `seen` and `cure` are sentences; nothing is to be done where all is well."""

    name: str
    state: CheckupState
    seen: str
    cure: str | None = None


def well(name: str, seen: str) -> Checkup:
    """Nothing is to be done."""
    return Checkup(name, CheckupState.OK, seen)


def doubtful(name: str, seen: str, cure: str) -> Checkup:
    """It works, and somebody should know."""
    return Checkup(name, CheckupState.WARNING, seen, cure)


def faulty(name: str, seen: str, cure: str) -> Checkup:
    """Something does not work, or will not."""
    return Checkup(name, CheckupState.FAULT, seen, cure)


def has_fault(checkups: Collection[Checkup]) -> bool:
    """Whether somebody has to do something."""
    return any(each.state is CheckupState.FAULT for each in checkups)
