# SPDX-License-Identifier: Apache-2.0
"""Does the lifecycle of requests follow its model in many random sequences of actions?

Each example acts upon requests as callers, approvers, administrators, workers, the directory and the operator, on a
real PostgreSQL, and compares states, levels, events, jobs, codes and the directory with a model. Each batch has a seed.
"""

import argparse
import sys
import time

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.postgres import running_postgres
from tests.requests.lifecycle import lifecycle

# Examples of one batch: it has one seed, and is what is repeated when one of them fails.
BATCH = 100
STEPS = 50


def main() -> None:
    """Run all batches. Ends with the failing example, its seed and its steps when there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1, help="of the first batch; the others follow it")
    asked = parser.parse_args()
    budget = settings(
        max_examples=BATCH,
        stateful_step_count=STEPS,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    first, last = asked.seed, asked.seed + max(1, asked.examples // BATCH)
    with running_postgres() as server, lifecycle(server) as machine:
        for number in range(first, last):
            begin = time.monotonic()
            run_state_machine_as_test(seed(number)(machine), settings=budget)
            print(f"seed {number}: {BATCH} examples in {time.monotonic() - begin:.0f} s", flush=True)
        ends = machine.ended
    print(f"\n{sum(ends.values())} requests ended: " + ", ".join(f"{n} {state}" for state, n in sorted(ends.items())))
    sys.exit(not ends)


if __name__ == "__main__":
    main()
