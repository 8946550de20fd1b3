# SPDX-License-Identifier: Apache-2.0
"""Flatness: whether a figure grows over time, by the straight line that comes nearest to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression


@dataclass(frozen=True, slots=True)
class Bound:
    """How much a figure may grow from the first sample to the last, as a part of its middle; what is below `noise`
    altogether, in units of the figure, counts as nothing."""

    most: float
    noise: float = 0.0


def growth(values: Sequence[float]) -> float:
    """By how much a figure grows along its line from the first to the last of samples taken at even times."""
    if len(values) < 2:
        return 0.0
    slope, _ = linear_regression(range(len(values)), values)
    return slope * (len(values) - 1)


def is_flat(values: Sequence[float], bound: Bound) -> bool:
    """Whether a figure grows by no more than it may. Of fewer than two samples nothing can be said."""
    return len(values) < 2 or growth(values) <= max(bound.most * fmean(values), bound.noise)


def settled(values: Sequence[float]) -> Sequence[float]:
    """Drop the first fifth, in which caches fill and tables find their size."""
    return values[(len(values) + 4) // 5 :]
