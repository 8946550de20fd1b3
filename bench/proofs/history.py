# SPDX-License-Identifier: Apache-2.0
"""Does any history of calls during faults break a promise of the service?

Each round has a random fault by its seed: SIGKILL, SIGSTOP or SIGTERM of an API process, a worker or PostgreSQL, or
connections cut. Clients record all calls, and bench/histories/checker.py judges them by the state at the end. As a
control PostgreSQL is killed while its commits do not wait for the disk: the checker has to find what that loses.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from bench.histories.faults import FAULTS, rigged
from bench.histories.rounds import Result, Rounds
from bench.histories.subjects import prepare
from tests.services import BEN, CLEO

# In the order of bench.histories.clients.LEVELS.
LEVELS = (("da7a0000-0000-4000-8000-000000000004", BEN), ("e1100000-0000-4000-8000-000000000005", CLEO))
CONTROL = "kill -9 of PostgreSQL"
# Kills that may lose nothing before the control counts as one that loses nothing.
MOST_CONTROLS = 5
# Violations that are printed for each round.
MOST_PRINTED = 10


def main() -> None:
    """Run all rounds and the control. Ends with 1 for a violation, and for a control without one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first round; the others follow it")
    asked = parser.parse_args()
    with _rounds(loses=False) as rounds:
        results = [_run(rounds, seed, _fault(seed)) for seed in range(asked.seed, asked.seed + asked.rounds)]
    with _rounds(loses=True) as rounds:
        controls = [_run(rounds, asked.seed, CONTROL)]
        while not controls[-1].violations and len(controls) < MOST_CONTROLS:
            controls.append(_run(rounds, asked.seed + len(controls), CONTROL))
    broken = sum(len(each.violations) for each in results)
    found = sum(len(each.violations) for each in controls)
    faults = Counter(each.fault for each in results)
    print("\nFaults: " + ", ".join(f"{count} x {fault}" for fault, count in sorted(faults.items())) + ".")
    print(f"{broken} violations in {len(results)} rounds; {found} violations found in {len(controls)} of the control.")
    sys.exit(broken > 0 or found == 0)


@contextmanager
def _rounds(*, loses: bool) -> Iterator[Rounds]:
    with rigged(loses=loses) as rig:
        yield Rounds(rig, prepare(rig.services[0], LEVELS))


def _fault(seed: int) -> str:
    return Random(seed).choice(sorted(FAULTS))  # noqa: S311 - a round is to be repeated, not to be secret.


def _run(rounds: Rounds, seed: int, fault: str) -> Result:
    result = rounds.run(seed, fault)
    print(result, flush=True)
    for each in result.violations[:MOST_PRINTED]:
        print(f"    {each}", flush=True)
    return result


if __name__ == "__main__":
    main()
