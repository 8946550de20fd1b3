# SPDX-License-Identifier: Apache-2.0
"""Bounds of growth.

Samples of the first fifth of the time do not count: in that, caches fill and tables find their size.
"""

from collections.abc import Iterator, Sequence

from bench.soak.flatness import Bound, growth, is_flat, settled
from bench.soak.samples import Sample
from bench.soak.tables import Table

# Memory in MB, latency in milliseconds. Other programs on the machine move latency more than anything that grows in
# half an hour, so these bounds detect growth that doubles a figure in an hour or two.
BOUNDS = {
    "p50": Bound(0.25, noise=1),
    "p99": Bound(0.5, noise=15),
    "service": Bound(0.05, noise=3),
    "PostgreSQL": Bound(0.10, noise=10),
    "connections": Bound(0, noise=2),
    "queue": Bound(0.25, noise=200),
    # The entries of the log for each call, and not their bytes: behind a checkpoint each page is logged whole when it
    # is first written to. Ids come in no order, so the larger an index is, the more of its pages that concerns, until
    # each write meets another one. These images come in waves, and grow with the tables for long.
    "records": Bound(0.10),
}
# Of tables with so many rows the bytes for each row; what comes and goes keeps its size.
MANY = 10_000
ROW_BOUND = Bound(0.05)
QUEUE_BOUND = Bound(0.25, noise=2e6)
QUEUES = ("chamberlain.job", "chamberlain.notice", "chamberlain.audit_head")
# Calls take time, which pauses do not know of: so much of the rate that was wanted is enough.
REACHED = 0.75


def grown(samples: Sequence[Sample]) -> Iterator[str]:
    """A sentence for each figure that is not flat."""
    for name, bound in BOUNDS.items():
        yield from _judged(name, [each.figures[name] for each in samples], bound)
    for name in samples[-1].tables:
        found = [each.tables[name] for each in samples if name in each.tables]
        if name in QUEUES:
            yield from _judged(f"the size of {name}", [each.size for each in found], QUEUE_BOUND)
        else:
            yield from _judged(f"the bytes for each row of {name}", _for_each_row(found), ROW_BOUND)


def slow(samples: Sequence[Sample], rate: float) -> Iterator[str]:
    """A sentence when the service did not do what it can."""
    slowest = min(each.figures["rate"] for each in samples)
    if slowest < REACHED * rate:
        yield f"Of {rate:,.0f} calls that were wanted each second it came to {slowest:,.0f} in the slowest minute."


def _for_each_row(tables: Sequence[Table]) -> Sequence[float]:
    return [each.size / each.rows for each in tables if each.rows >= MANY]


def _judged(name: str, values: Sequence[float], bound: Bound) -> Iterator[str]:
    yield from _told(name, settled(values), bound)


def _told(name: str, values: Sequence[float], bound: Bound) -> Iterator[str]:
    if not is_flat(values, bound):
        yield f"{name} grows by {growth(values):,.1f}, from {values[0]:,.1f} to {values[-1]:,.1f}."
