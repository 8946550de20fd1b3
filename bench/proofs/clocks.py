# SPDX-License-Identifier: Apache-2.0
"""Clock faults in the API, the worker, the command line and PostgreSQL: 1 minute to 500 days, ahead and behind.

`--tree FOLDER` first runs the two rounds of the finding with the code of another checkout, which has a .venv of its
own. `--round TARGET OFFSET` runs one round.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.clock_faults.rounds import OFFSETS, TABLES, Result, Target, run_round

# The rounds of the finding: everything is older than 400 days, or all keys are older than seven.
BEFORE = ((Target.WORKER, "500 days ahead"), (Target.WORKER, "8 days ahead"))
COLUMNS = f"{'process':13} {'clock':16} {'reported':9} {'rows removed':34} {'repeated':>9} {'second':>7} {'lost':>5}"


def main() -> int:
    """Run the rounds, print a line for each, and end with 0 when no round of this tree has a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, help="a checkout of an older commit with its own .venv")
    parser.add_argument(
        "--round", nargs=2, metavar=("TARGET", "OFFSET"), help="one round, such as worker '8 days ahead'"
    )
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="rounds at a time")
    options = parser.parse_args()
    if options.round:
        return int(not show(run_round(Target(options.round[0]), OFFSETS[options.round[1]])))
    if options.tree:
        print(f"Before, with the tree of commit {commit_of(options.tree)}:\n{COLUMNS}", flush=True)
        for target, offset in BEFORE:
            # A fault here is the point of it.
            print(run_elsewhere(target, offset, options.tree).stdout, end="", flush=True)
        print()
    print(f"With this tree:\n{COLUMNS}", flush=True)
    begin = time.monotonic()
    clean = list(run_all(options.at_once))
    print(f"\n{sum(clean)} of {len(clean)} rounds without a fault, in {time.monotonic() - begin:.0f} s.")
    return int(not all(clean))


def run_all(at_once: int) -> Iterator[bool]:
    """Run the whole matrix, each round in a process of its own. Yield whether each was clean."""
    with ThreadPoolExecutor(at_once) as places:
        rounds = [(target, offset) for target in Target for offset in OFFSETS]
        for done in places.map(lambda each: run_elsewhere(*each), rounds):
            print(done.stdout, end="", flush=True)
            yield done.returncode == 0


def run_elsewhere(target: Target, offset: str, tree: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a round in a process, with the service of another tree if one is named."""
    environment = dict(os.environ)
    if tree:
        environment["CHAMBERLAIN_TEST_PYTHON"] = str(tree.absolute() / ".venv" / "bin" / "python")
    command = [sys.executable, "-m", "bench.proofs.clocks", "--round", target, offset]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if not done.stdout:
        # The round ended by an error, which is the last line of its traceback.
        done.stdout = f"{target:13} {offset:16} {(done.stderr.splitlines() or [''])[-1][:160]}\n"
    return done


def commit_of(tree: Path) -> str:
    """Name the commit of a checkout."""
    command = ["git", "-C", str(tree), "describe", "--always"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def show(result: Result) -> bool:
    """Print the line of a round; a clock may differ by up to 30 seconds, so each of these must be reported."""
    offset = next(name for name, seconds in OFFSETS.items() if seconds == result.seconds)
    removed = ", ".join(f"{result.removed[table]} {table}" for table in TABLES if result.removed[table]) or "none"
    reported = "yes" if result.is_reported else "no"
    print(
        f"{result.target:13} {offset:16} {reported:9} {removed:34} {result.repeated:>9} "
        f"{result.duplicated:>7} {result.lost:>5}",
        flush=True,
    )
    return result.is_clean


if __name__ == "__main__":
    sys.exit(main())
