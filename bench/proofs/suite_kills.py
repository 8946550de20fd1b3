# SPDX-License-Identifier: Apache-2.0
"""Is anything lost, double or incomplete when parts of an open suite are killed while objects are created?

Kills the worker, slapd, Synapse and Dovecot at random moments of a known seed, in a suite of its own. Needs root and
the packages of the suite.
"""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from deploy.suite.folder import created
from deploy.suite.processes import end
from deploy.suite.servers import Starter
from tests.suite.suite_kills import WORKER, kill_while_creating

KILLS = {WORKER: 100, "slapd": 50, "synapse": 50, "dovecot": 20}
PARTS = ("slapd", "dovecot", "postfix", "postgresql", "memcached", "sogo", "synapse")


def main() -> None:
    """Run all kills. Ends with the outcome of each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the kills, for a quick run; default 1")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="suite-", dir="/var/tmp"))
    suite = created(folder)
    starter = Starter(suite, Path(".venv-synapse/bin/python").absolute())
    outcomes = []
    try:
        starter.start(PARTS)
        for part, kills in KILLS.items():
            begin = time.monotonic()
            outcome = kill_while_creating(suite, starter, part, max(1, round(kills * asked.share)), seed=asked.seed)
            outcomes.append(outcome)
            print(f"{part}: {outcome} in {time.monotonic() - begin:.0f} s", flush=True)
    finally:
        end(suite, PARTS)
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(not all(outcome.is_good for outcome in outcomes))


if __name__ == "__main__":
    main()
