# SPDX-License-Identifier: Apache-2.0
"""The faults of the fake: planned ones by a test, and drawn ones by a seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from random import Random


class Fault(Enum):
    """A fault of one request, or of one part of a batch."""

    # 429. Not all services send Retry-After (throttling.md; throttling-limits.md lists services without it).
    THROTTLED = auto()
    THROTTLED_WITHOUT_DELAY = auto()
    # 503 "a delay, the length of which may be specified in a Retry-After header" (errors.md).
    UNAVAILABLE = auto()
    UNAVAILABLE_WITHOUT_DELAY = auto()
    # The write is done, and a gateway answers 504 (errors.md). Reads get it too.
    GATEWAY_TIMEOUT = auto()
    # The write is done, and the connection ends without an answer.
    LOST_ANSWER = auto()
    # The connection ends before the request is read.
    DROPPED = auto()
    # 401 for a token that was valid: revoked sessions, continuous access evaluation (errors.md, 401).
    TOKEN_REVOKED = auto()
    # 410 with Location (delta-query-overview.md, "Synchronization reset").
    DELTA_GONE = auto()
    # The same change again in a later response (delta-query-overview.md, "Replays").
    DELTA_REPLAY = auto()
    # The same object twice in a response (delta-query-overview.md, note on multiple occurrences).
    DELTA_DUPLICATE = auto()
    # 207: one of the members was not added (conversationmembers-add.md, example 2).
    MEMBER_NOT_ADDED = auto()


# Faults that only some requests can have.
DELTA_FAULTS = frozenset({Fault.DELTA_GONE, Fault.DELTA_REPLAY, Fault.DELTA_DUPLICATE})
MEMBER_FAULTS = frozenset({Fault.MEMBER_NOT_ADDED})
# Faults of a connection, which a part of a batch cannot have.
CONNECTION_FAULTS = frozenset({Fault.LOST_ANSWER, Fault.DROPPED})


@dataclass
class _Plan:
    fault: Fault
    method: str
    path: str
    times: int


@dataclass
class Faults:
    """Draws the fault of each request.

    `rates` are probabilities. Planned faults come first. `happened` counts what was drawn.
    """

    random: Random = field(default_factory=lambda: Random(0))  # noqa: S311  Faults need no secure numbers.
    rates: Mapping[Fault, float] = field(default_factory=dict)
    happened: dict[Fault, int] = field(default_factory=dict)
    _plans: list[_Plan] = field(default_factory=list)

    @classmethod
    def drawn(cls, random: Random) -> "Faults":
        """Draw a rate of at most 4 % for each fault. A third of the faults does not occur at all."""
        rates = {fault: max(0.0, random.uniform(-0.02, 0.04)) for fault in Fault}
        return cls(random, rates)

    def plan(self, fault: Fault, *, method: str = "", path: str = "", times: int = 1) -> None:
        """Plan a fault for the next requests of a method whose path contains a text. Both are optional."""
        self._plans.append(_Plan(fault, method, path, times))

    def draw(self, method: str, path: str, *, among: frozenset[Fault] | None = None) -> Fault | None:
        """Draw the fault of a request. `among` are the possible faults, by default those of every request."""
        possible = frozenset(Fault) - DELTA_FAULTS - MEMBER_FAULTS if among is None else among
        for plan in self._plans:
            if plan.fault in possible and plan.times and plan.method in {"", method} and plan.path in path:
                plan.times -= 1
                return self._count(plan.fault)
        for fault in Fault:
            if fault in possible and self.rates.get(fault, 0.0) and self.random.random() < self.rates[fault]:
                return self._count(fault)
        return None

    def _count(self, fault: Fault) -> Fault:
        self.happened[fault] = self.happened.get(fault, 0) + 1
        return fault
