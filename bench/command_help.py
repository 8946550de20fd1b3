# SPDX-License-Identifier: Apache-2.0
"""How long does a command take until its help is printed?

From the start of the process to its end, one at a time. bench/README.md says what the columns mean.
"""

import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping

from bench.measuring.arguments import read_arguments
from bench.measuring.report import Row, report

COLUMNS = {"seconds": ".3f", "cpu": ".3f"}
# The help of the program, of a group, of the command with the most options, and of one that opens the database.
HELPS = (("--help",), ("mailbox", "--help"), ("mailbox", "create", "--help"), ("tenant", "list", "--help"))
# A command that calls no service, to compare with.
COMPLETION = ("completion", "bash")

Rounds = dict[str, list[Mapping[str, float]]]


def main() -> None:
    """Read the arguments of the command line, measure and report."""
    asked = read_arguments(__doc__, quick={"rounds": 3}, rounds=15)
    rounds: Rounds = defaultdict(list)
    for _ in range(asked.rounds):
        for words in (*HELPS, COMPLETION):
            rounds[" ".join(words)].append(_measure(words))
    report("command_help", [Row(*each) for each in rounds.items()], columns=COLUMNS)


def _measure(words: tuple[str, ...]) -> dict[str, float]:
    """The time of one process, and its processor time."""
    before, began = _processor_time(), time.perf_counter()
    subprocess.run([sys.executable, "-m", "chamberlain", *words], check=True, stdout=subprocess.DEVNULL)
    return {"seconds": time.perf_counter() - began, "cpu": _processor_time() - before}


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
