"""Processor time: what a request costs, which a busy machine changes far less than a rate."""

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def seconds_used(processes: Iterable[int]) -> float:
    """What these processes and all that they started have used so far, those included that have ended."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            parent, used = _read(entry)
            ticks[int(entry.name)] = used
            children[parent].append(int(entry.name))
    waiting, total = list(processes), 0
    while waiting:
        process = waiting.pop()
        total += ticks.get(process, 0)
        waiting += children[process]
    return total / _TICKS


def _read(entry: Path) -> tuple[int, int]:
    try:
        # Behind the name, which may hold anything (proc 5): the parent, and further on the times, in ticks.
        fields = (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0, 0
    return int(fields[1]), sum(map(int, fields[11:15]))
