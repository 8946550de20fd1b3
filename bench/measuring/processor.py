# SPDX-License-Identifier: Apache-2.0
"""Processor time: what a request costs, which a busy machine changes far less than a rate."""

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class _Read:
    """The parent and the ticks of a process, as the system reports them."""

    parent: int
    ticks: int


def seconds_used(processes: Iterable[int]) -> float:
    """Return the processor time of these processes and all their descendants, including ended ones."""
    running = _all()
    return sum(running[each].ticks for each in _family(processes, running)) / _TICKS


def family_of(processes: Iterable[int]) -> set[int]:
    """These processes and all that they started, and these in turn."""
    return _family(processes, _all())


def _family(processes: Iterable[int], running: Mapping[int, _Read]) -> set[int]:
    children: dict[int, list[int]] = defaultdict(list)
    for process, read in running.items():
        children[read.parent].append(process)
    waiting, found = [each for each in processes if each in running], set[int]()
    while waiting:
        process = waiting.pop()
        found.add(process)
        waiting += children[process]
    return found


def _all() -> dict[int, _Read]:
    read = {int(entry.name): _read(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    return {process: each for process, each in read.items() if each is not None}


def _read(entry: Path) -> _Read | None:
    try:
        # Behind the name, which may hold anything (proc 5): the parent, and further on the times, in ticks.
        fields = (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return _Read(parent=int(fields[1]), ticks=sum(map(int, fields[11:15])))
