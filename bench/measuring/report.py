# SPDX-License-Identifier: Apache-2.0
"""Report a measurement: a table for people, JSON for programs, and the facts of the machine."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench.measuring.services import place_of_data

RESULTS = Path(__file__).resolve().parent.parent / "results"

Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what was measured, and its figures in each round."""

    name: str
    rounds: Sequence[Figures]

    def medians(self) -> dict[str, float]:
        """The middle of the rounds, figure by figure."""
        return {name: median(figures[name] for figures in self.rounds) for name in self.rounds[0]}

    def spread(self, name: str) -> float:
        """How far the rounds lie apart, as a part of their middle."""
        values = [figures[name] for figures in self.rounds]
        return (max(values) - min(values)) / (median(values) or 1)


def report(question: str, rows: Sequence[Row], *, columns: Mapping[str, str]) -> None:
    """Print the medians, `columns` says which and how, and write everything to bench/results/."""
    print(f"\n{question}: medians of {max(len(row.rounds) for row in rows)} rounds")
    width = max(len(row.name) for row in rows)
    print(" " * width + "".join(f"{name:>13}" for name in columns) + "       spread")
    for row in rows:
        medians = row.medians()
        cells = "".join(f"{format(medians[name], how) if name in medians else '':>13}" for name, how in columns.items())
        first = next(name for name in columns if name in medians)
        print(f"{row.name:{width}}{cells}{row.spread(first):>13.0%}")
    print(f"\nWritten to {_write(question, rows)}")


def _write(question: str, rows: Sequence[Row]) -> Path:
    at = datetime.now(UTC)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{question}-{at:%Y%m%d-%H%M%S}.json"
    content = {
        "question": question,
        "at": at.isoformat(),
        "command": sys.argv[1:],
        "commit": _said("git", "rev-parse", "--short", "HEAD"),
        "machine": _machine(),
        "rows": [{"name": row.name, "medians": row.medians(), "rounds": list(row.rounds)} for row in rows],
    }
    path.write_text(json.dumps(content, indent=1))
    return path.relative_to(RESULTS.parent.parent)


def _machine() -> dict[str, object]:
    models = [line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "memoryBytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.system(),
        "release": platform.release(),
        "python": platform.python_version(),
        "data": place_of_data(),
        # Above the number of cores, other programs used this machine.
        "loadAverage": os.getloadavg(),
    }


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.exists() else []


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
