# SPDX-License-Identifier: Apache-2.0
"""The command: how many rounds, of which kind; prints one JSON document and answers 0 when nothing was lost."""

import argparse
import json
import signal
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from deploy.failover.cluster import LOOP, RETRY, TTL, Cluster
from deploy.failover.installation import installed
from deploy.failover.programs import CannotTry, require_programs
from deploy.failover.trial import Fault, Outcome, run_round

# Of which the issue of high availability speaks.
MOST_SECONDS = 30.0
# Of each log, when the trial cannot go on.
LAST_WORDS = 3_000


def main() -> int:
    """Read the arguments, do the rounds, print what they have shown."""
    asked = _arguments()
    # An interrupted run leaves no process behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        require_programs()
        outcomes = _rounds(asked.rounds, Fault(asked.fault), asked.at_once, synchronous=not asked.control)
    except CannotTry as reason:
        print(reason, file=sys.stderr)
        return 2
    print(json.dumps(_summary(outcomes, synchronous=not asked.control), indent=2))
    return 0 if asked.control or all(_is_good(each) for each in outcomes) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="deploy/try-failover", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="How often the node that leads is taken away. Default 1.")
    parser.add_argument(
        "--fault", choices=list(Fault), default=Fault.KILL, help="Whether it is killed, or hangs. Default kill."
    )
    parser.add_argument("--at-once", type=int, default=16, help="How many callers there are. Default 16.")
    parser.add_argument(
        "--control", action="store_true", help="Without synchronous replication and commit: this may lose."
    )
    return parser.parse_args()


def _rounds(number: int, fault: Fault, at_once: int, *, synchronous: bool) -> list[Outcome]:
    outcomes: list[Outcome] = []
    # A short path, since sockets will be in it; and one that the servers' user may pass.
    with tempfile.TemporaryDirectory(prefix="ha-", ignore_cleanup_errors=True) as name, ExitStack() as started:
        folder = Path(name)
        folder.chmod(0o711)
        cluster = Cluster(folder, started, synchronous=synchronous)
        _say("Two PostgreSQL nodes are being started under Patroni.")
        try:
            cluster.start()
            processes = folder / "chamberlain"
            processes.mkdir(mode=0o700)
            installation = started.enter_context(installed(cluster, processes))
            for each in range(1, number + 1):
                outcomes.append(run_round(each, cluster, installation, fault, at_once))
                _say(json.dumps(asdict(outcomes[-1])))
        except CannotTry:
            for log in sorted(folder.glob("*.log")):
                _say(f"{log.name} ends with:\n{log.read_text(errors='replace')[-LAST_WORDS:]}")
            raise
    return outcomes


def _summary(outcomes: list[Outcome], *, synchronous: bool) -> dict[str, object]:
    return {
        "synchronous": synchronous,
        "patroni": {"ttl": TTL, "loop_wait": LOOP, "retry_timeout": RETRY},
        "rounds": len(outcomes),
        "writingAfterSeconds": {
            "least": min(each.writing_after for each in outcomes),
            "most": max(each.writing_after for each in outcomes),
        },
        "acknowledged": sum(each.acknowledged for each in outcomes),
        "lost": sum(each.lost for each in outcomes),
        "notRetrievable": sum(each.not_retrievable for each in outcomes),
        "double": max(each.double for each in outcomes),
        "each": [asdict(each) for each in outcomes],
    }


def _is_good(outcome: Outcome) -> bool:
    wrong = outcome.lost + outcome.not_retrievable + outcome.double + len(outcome.processes_ended)
    return wrong == 0 and outcome.writing_after < MOST_SECONDS


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
