# SPDX-License-Identifier: Apache-2.0
"""Is anything lost when processes are killed under load, and how soon does it go on?

kill -9 of an API process, of one of two workers and of PostgreSQL, in turn, each at a random moment under load. As a
control PostgreSQL is killed while its commits do not wait for the disk: that has to lose something, or the zeros prove
nothing. bench/README.md says what the columns mean.
"""

import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from secrets import randbelow

from bench.histories.records import Submission
from bench.killing.acknowledged import STILL_LEASED, count, leased, losses, wait_until_made
from bench.killing.installation import Installation, installed
from bench.measuring.arguments import read_arguments
from bench.measuring.report import Row, report
from deploy.failover.callers import Callers
from tests.services import wait_until

COLUMNS = {
    "seconds": ".2f",
    "acknowledged": ",.0f",
    "lost": ".0f",
    "double": ".0f",
    "not made": ".0f",
    "violations": ".0f",
    "cut": ".0f",
}
# The promised seconds until recovery: leases last for ten, and workers look every two.
PROMISED = {"worker": 12.0, "PostgreSQL": 3.0}
# Groups that are accepted before the random moment begins, and after everybody is back.
BEFORE, AFTER = 50, 50
# The load is in its stride, and a kill may hit any part of a batch.
LONGEST_MOMENT_MS = 1000
BACK_WITHIN = 60.0
# Of the service's log, in characters, where it is not back.
LAST_WORDS = 2_000
# Kills of the control that lose nothing, before that counts as never.
MOST = 10

Figures = Mapping[str, float]


def main() -> None:
    """Read the arguments of the command line, kill and report. Ends with 1 when anything acknowledged was lost."""
    asked = read_arguments(__doc__, quick={"rounds": 1}, rounds=2, callers=16)
    rounds: dict[str, list[Figures]] = defaultdict(list)
    submissions: list[Submission] = []
    with installed(workers=2) as installation:
        for number in range(asked.rounds):
            for name, kill in KILLS.items():
                rounds[name].append(_killed(installation, asked.callers, kill, submissions))
            # A hundred rounds take an hour, and what was seen is not lost when they are cut short.
            if asked.rounds > number + 1:
                print(f"After round {number + 1}:", *[_told(*each) for each in rounds.items()], sep="\n", flush=True)
    # A single kill may come just when everything was written anyway.
    while not _lost(rounds["control"]) and len(rounds["control"]) < MOST:
        with installed(workers=0, loses=True) as installation:
            rounds["control"].append(_killed(installation, asked.callers, _kill_postgres, []))
    print("\n".join(_told(name, figures) for name, figures in rounds.items()))
    report("kills", [Row(*each) for each in rounds.items()], columns=COLUMNS)
    sys.exit(not _is_kept(rounds))


def _killed(
    installation: Installation,
    callers: int,
    kill: Callable[[Installation, Callers], Figures],
    submissions: list[Submission],
) -> Figures:
    """Kill once under load, and check all `submissions` that the installation has ever received."""
    called = Callers([installation.service], callers)
    with asking(called):
        wait_for_more(called, BEFORE)
        time.sleep(randbelow(LONGEST_MOMENT_MS) / 1000)
        figures = kill(installation, called)
        wait_for_more(called, AFTER)
    submissions += called.submissions
    address = installation.outside.addresses.worker
    if installation.workers:
        wait_until_made(address)
    found = losses(address, submissions)
    return {
        **figures,
        "acknowledged": len(called.accepted),
        "lost": found.lost,
        "double": found.double,
        # The control has no worker, so none of its requests ends.
        "not made": found.not_made if installation.workers else 0,
        "violations": found.violations,
    }


@contextmanager
def asking(callers: Callers) -> Iterator[None]:
    """Let callers call for as long as the block runs, and until each has its last answer."""
    with ThreadPoolExecutor(max_workers=1) as beside:
        running = beside.submit(callers.run)
        try:
            yield
            callers.stop()
            wait_until(running.done, BACK_WITHIN)
        finally:
            callers.give_up()
        running.result()


def wait_for_more(callers: Callers, number: int) -> None:
    """Wait until so many more requests are acknowledged."""
    enough = len(callers.accepted) + number
    wait_until(lambda: len(callers.accepted) >= enough, BACK_WITHIN, lambda: f"Refused so far: {callers.refused}")


def _kill_service(installation: Installation, callers: Callers) -> Figures:
    """Until another process in its place, started at once, has accepted something."""
    begin = time.monotonic()
    installation.service.kill()
    installation.start_service_again()
    return {"seconds": _answered_after(callers, begin, installation.service.said)}


def _kill_worker(installation: Installation, _: Callers) -> Figures:
    """Until none of its jobs is under its lease. Those of the other worker are among them, and gone at once."""
    address = installation.outside.addresses.worker
    worker = installation.workers.pop(0)
    begin = time.monotonic()
    worker.kill()
    held = leased(address)
    # The other worker is through with what it has long before the leases of the dead one end.
    time.sleep(3)
    cut = count(address, STILL_LEASED, held)
    wait_until(lambda: count(address, STILL_LEASED, held) == 0, BACK_WITHIN)
    seconds = time.monotonic() - begin
    installation.add_worker()
    return {"seconds": seconds, "cut": cut}


def _kill_postgres(installation: Installation, callers: Callers) -> Figures:
    """Until something is accepted that was asked for behind the kill."""
    begin = time.monotonic()
    os.kill(installation.server.pid, signal.SIGKILL)
    return {"seconds": _answered_after(callers, begin, installation.service.said)}


KILLS = {"API": _kill_service, "worker": _kill_worker, "PostgreSQL": _kill_postgres}


def _answered_after(callers: Callers, begin: float, said: Callable[[], str]) -> float:
    """Seconds until the first answer to something that was asked for since then. `said` is what the service logs."""
    looked_at = len(callers.accepted)

    def first() -> float:
        fresh = callers.accepted[max(0, looked_at - callers.at_once) :]
        return min((each.answered for each in fresh if each.asked > begin), default=0.0)

    def otherwise() -> str:
        return f"Refused so far: {callers.refused}\n{said()[-LAST_WORDS:]}"

    return wait_until(first, BACK_WITHIN, otherwise) - begin


def _told(name: str, rounds: list[Figures]) -> str:
    """All rounds in a sentence: how often, what was lost of how much, and the longest time."""
    sums = {column: sum(each[column] for each in rounds) for column in ("acknowledged", "lost", "double", "not made")}
    slowest = max(each["seconds"] for each in rounds)
    late = sum(each["seconds"] > PROMISED.get(name, float("inf")) for each in rounds)
    return (
        f"{name}: killed {len(rounds)} times; of {sums['acknowledged']:,.0f} that were acknowledged "
        f"{sums['lost']:.0f} lost, {sums['double']:.0f} double, "
        f"{sums['not made']:.0f} without a group; going on after at most {slowest:.2f} s"
        + (f", {late} times later than the {PROMISED[name]:.0f} s that are promised." if late else ".")
    )


def _is_kept(rounds: Mapping[str, list[Figures]]) -> bool:
    """Whether nothing was lost where nothing may be, and something where it has to be."""
    return sum(each["violations"] for name in KILLS for each in rounds[name]) == 0 and _lost(rounds["control"]) > 0


def _lost(rounds: list[Figures]) -> float:
    return sum(each["lost"] for each in rounds)


if __name__ == "__main__":
    main()
