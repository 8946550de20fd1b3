# SPDX-License-Identifier: Apache-2.0
"""Is anything lost, double or incomplete when parts of an open suite are killed while objects are created?

Kills Dovecot, slapd, Synapse and the worker at random moments of a known seed, in a suite of its own. Each mailbox and
team is inspected in the databases and files of the servers afterwards. Needs root and the packages of the suite.
"""

import argparse
import sys
import time

from deploy.suite.servers import Starter
from tests.suite.suite_folders import SYNAPSE, started_suite
from tests.suite.suite_kills import WORKER, kill_while_creating

# Locks that Dovecot leaves end while teams are created.
KILLS = {"dovecot": 20, "slapd": 50, "synapse": 50, WORKER: 100}


def main() -> None:
    """Run all kills. Ends with the outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the kills, for a quick run; default 1")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    begin = time.monotonic()
    with started_suite() as suite:
        kills = {part: max(1, round(count * asked.share)) for part, count in KILLS.items()}
        outcome = kill_while_creating(suite, Starter(suite, SYNAPSE), kills, seed=asked.seed)
    print(f"""
mailboxes    {outcome.mailboxes}
teams        {outcome.teams}
not done     {len(outcome.not_done)} {outcome.not_done[:10]}
lost         {outcome.findings.lost}
double       {outcome.findings.double}
incomplete   {outcome.findings.incomplete}
seconds      {time.monotonic() - begin:.0f}""")
    sys.exit(not outcome.is_good)


if __name__ == "__main__":
    main()
